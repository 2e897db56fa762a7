"""What takes part in a bench: anything that reads pages and says how long it took.

Here the model at one setting of its attention; other programs are in `peers.py`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fastocr_cli.fixation import METHODS
from fastocr_cli.fixation.settings import check_name, require
from fastocr_cli.reading import Reader
from fastocr_cli.results import PageImage, PageStats, PageStatus
from fastocr_cli.rtprune.settings import parse_variant

_RTPRUNE = "rtprune"
WARM_UP_TOKENS = 24
"""Enough for the method's first dense steps, in which it finds its focal layers."""


@dataclass(frozen=True)
class PageRun:
    """One page read once. whole_ms: from pixels to text, wall clock, its share in a batch."""

    text: str
    whole_ms: float
    status: PageStatus = PageStatus.OK
    stats: PageStats | None = None


class Contestant(Protocol):
    """method, keep: how its row of the table is called; keep is None for another program."""

    method: str
    keep: float | None

    def warm_up(self, page: PageImage) -> None: ...

    def read(self, pages: Sequence[PageImage]) -> list[PageRun]: ...


class Setting:
    """The loaded model under one method at one keep.

    method: how its row is called. aided: whether it reads as
    `parse` does, or its decoder alone is measured.
    """

    def __init__(self, method: str, reader: Reader, max_tokens: int | None, *, aided: bool) -> None:
        self.method = method
        self.keep: float | None = reader.keep
        self._reader, self._max_tokens, self._aided = reader, max_tokens, aided

    def warm_up(self, page: PageImage) -> None:
        self._reader.read(page, WARM_UP_TOKENS, aided=self._aided)

    def read(self, pages: Sequence[PageImage]) -> list[PageRun]:
        began = time.perf_counter()
        readings = self._reader.read(pages, self._max_tokens, aided=self._aided)
        texts = [self._reader.to_markdown(reading.text) for reading in readings]
        share_ms = (time.perf_counter() - began) * 1000 / len(pages)
        return [
            PageRun(text, share_ms, reading.status, reading.stats)
            for text, reading in zip(texts, readings, strict=True)
        ]


def make_settings(
    reader: Reader,
    methods: Sequence[str],
    keeps: Sequence[float],
    *,
    rtprune: Sequence[str] = (),
    fixation: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
    aided: bool,
) -> list[Setting]:
    """Dense first, then every method at every keep below 1 (where each method is dense too), then
    dense attention to prompts that RTPrune has shortened.

    rtprune: its settings, as `parse_variant` reads them. fixation: further settings of "fastocr".
    Raises UsageError for a method, keep or setting there is not.
    """
    pruned = {f"{_RTPRUNE} {text}": parse_variant(text) for text in rtprune}
    pairs = [("dense", 1.0)]
    for method in methods:
        check_name(method, METHODS, "method")
        for keep in keeps:
            require(0 <= keep <= 1, "keep", keep, "a share from 0 to 1")
            if method != "dense" and keep < 1:
                pairs.append((method, keep))
    named = [
        (
            method,
            Reader(
                reader.adapter,
                method=method,
                keep=keep,
                fixation=fixation if method == "fastocr" else None,
            ),
        )
        for method, keep in dict.fromkeys(pairs)
    ]
    named += [
        (name, Reader(reader.adapter, method="dense", rtprune=settings))
        for name, settings in pruned.items()
    ]
    return [Setting(name, one, max_tokens, aided=aided) for name, one in named]

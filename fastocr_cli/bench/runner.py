"""The order of measurements: warm-up, then rounds in which all contestants take turns.

Every contestant reads a page before anybody reads the next one, and who begins changes from turn
to turn, so that a machine that grows busy or hot slows all of them alike. Computes no figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fastocr_cli.bench.contestants import Contestant, PageRun
from fastocr_cli.bench.pages import BenchDocument
from fastocr_cli.results import PageImage

MOST_ROUNDS = 5
PATIENCE_S = 100.0
"""Without a number of rounds, none is begun that would probably end later than this."""

Notify = Callable[[str], None]
"""Told who reads next."""


@dataclass(frozen=True)
class Runs:
    """What a contestant did. rounds: by round, one entry per page in the order of the documents."""

    method: str
    keep: float | None
    rounds: tuple[tuple[PageRun, ...], ...]


def run(
    contestants: Sequence[Contestant],
    documents: Sequence[BenchDocument],
    *,
    rounds: int | None = None,
    batch_size: int = 1,
    notify: Notify = lambda text: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Runs]:
    """Measure all contestants on all pages.

    rounds: how often each page is read; None is as often as patience allows, at least once.
    batch_size: pages read together.
    """
    pages = [page for document in documents for page in document.pages]
    for contestant in contestants:
        notify(f"warm-up: {name_of(contestant)}")
        contestant.warm_up(pages[0])
    done: list[list[list[PageRun]]] = []
    began = clock()
    while not done or _goes_on(len(done), rounds, clock() - began):
        done.append(_round(contestants, pages, len(done), batch_size, notify))
    return [
        Runs(contestant.method, contestant.keep, tuple(tuple(turn[index]) for turn in done))
        for index, contestant in enumerate(contestants)
    ]


def name_of(contestant: Contestant) -> str:
    """Such as `fastocr at 0.05`."""
    is_plain = contestant.keep is None or contestant.method == "dense"
    return contestant.method if is_plain else f"{contestant.method} at {contestant.keep:g}"


def _goes_on(done: int, wanted: int | None, elapsed: float) -> bool:
    if wanted is not None:
        return done < wanted
    return done < MOST_ROUNDS and elapsed * (done + 1) / done < PATIENCE_S


def _round(
    contestants: Sequence[Contestant],
    pages: Sequence[PageImage],
    number: int,
    batch_size: int,
    notify: Notify,
) -> list[list[PageRun]]:
    """By contestant, one entry per page."""
    read: list[list[PageRun]] = [[] for _ in contestants]
    for turn, start in enumerate(range(0, len(pages), batch_size)):
        for offset in range(len(contestants)):
            index = (number + turn + offset) % len(contestants)
            where = f"page {start + 1} of {len(pages)}"
            notify(f"round {number + 1}, {where}: {name_of(contestants[index])}")
            read[index] += contestants[index].read(pages[start : start + batch_size])
    return read

"""Bench results with made-up figures: no model, any number of methods."""

from __future__ import annotations

import numpy as np

from fastocr_cli.bench.contestants import PageRun
from fastocr_cli.bench.figures import make_rows
from fastocr_cli.bench.outcome import Outcome
from fastocr_cli.bench.pages import BenchDocument
from fastocr_cli.bench.runner import Runs
from fastocr_cli.bench.truth import Truth
from fastocr_cli.results import PageImage, PageStats, PageStatus

TEXT = "The van leaves the market square every Tuesday at nine. " * 20
METHODS = {"fastocr": 0.3, "oracle": 0.05, "random": 30.0}
"""By method, how fast its text goes wrong as keep falls."""


def blank_page(number: int = 1) -> PageImage:
    return PageImage(np.full((32, 32, 3), 255, np.uint8), number, 72.0, "made-up.png")


def document(truth: str | None = TEXT, pages: int = 1) -> BenchDocument:
    drawn = tuple(blank_page(number) for number in range(1, pages + 1))
    return BenchDocument("made-up.png", drawn, Truth(truth, "file") if truth is not None else None)


def spoiled(text: str, share: float) -> str:
    """The text with this share of its characters replaced, evenly."""
    step = max(1, round(1 / share)) if share else len(text) + 1
    return "".join("#" if index % step == step - 1 else c for index, c in enumerate(text))


def page_run(
    text: str = TEXT, *, keep: float = 1.0, speed: float = 1.0, **changes: object
) -> PageRun:
    """speed: of attention, which is half of decoding, against 1000 ms of decoding in dense."""
    attention = 500 / speed
    values: dict[str, object] = {
        "visual_tokens": 4000, "generated_tokens": 500, "decode_steps": 501,
        "keep_sparse_layers": keep, "keep_all_layers": keep + (1 - keep) / 6,
        "kv_bytes_read": int(1e9 * (keep + (1 - keep) / 6)), "kv_bytes_dense": 10**9,
        "prepare_ms": 50.0, "prefill_ms": 300.0, "decode_ms": 500 + attention,
        "attention_ms": attention, **changes,
    }  # fmt: skip
    stats = PageStats(**values)  # type: ignore[arg-type]
    whole = stats.prepare_ms + stats.prefill_ms + stats.decode_ms + 10
    return PageRun(text, whole, PageStatus.OK, stats)


def runs(methods: dict[str, float] | None = None, rounds: int = 3) -> list[Runs]:
    """Dense and every method at four keeps, a little slower from round to round."""
    made = [Runs("dense", 1.0, tuple((page_run(spoiled(TEXT, 0.01)),) for _ in range(rounds)))]
    for method, harm in (METHODS if methods is None else methods).items():
        for keep in (0.25, 0.1, 0.05, 0.02):
            text = spoiled(TEXT, min(1.0, 0.01 + harm * (0.02 / keep) * 0.02))
            turns = [
                (page_run(text, keep=keep, speed=(1 / (keep + 0.2)) * (1 + 0.05 * turn)),)
                for turn in range(rounds)
            ]
            made.append(Runs(method, keep, tuple(turns)))
    return made


def outcome(methods: dict[str, float] | None = None, truth: str | None = TEXT) -> Outcome:
    documents = (document(truth),)
    return Outcome(
        model="made-up", revision=None, device="cpu (2 cores)", dtype="float32", threads=2,
        rounds=3, batch_size=1, aided=None, documents=documents,
        rows=tuple(make_rows(runs(methods), documents)), peak_memory_bytes=512_000_000,
    )  # fmt: skip

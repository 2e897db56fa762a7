"""A page result with something in every field, and the key it is recorded under."""

from __future__ import annotations

from fastocr_cli.record.journal import PageKey
from fastocr_cli.results import PageReading, PageResult, PageStats, PageStatus


def make_result(number: int = 1, status: PageStatus = PageStatus.OK) -> PageResult:
    reading = PageReading(
        text="é\n\U0001f600",
        token_ids=(1, 2**31, 3),
        logprobs=(-0.1, -1e-30, -0.3333333333333333),
        status=status,
        stats=PageStats(visual_tokens=3, decode_ms=0.1 + 0.2, extra={"trace": [1, 2]}),
        places=((0.1, 0.2, 1 / 3, 1.0), None, (0.0, 0.0, 0.0, 0.0)),
        pieces=("é", "\n", ""),
        warnings=("a part was not read",),
    )
    return PageResult("a.pdf", number, status, "# é", 10, 20, 144.0, reading, ("a warning",))


def key(page: int, **changes: str) -> PageKey:
    return PageKey(**{"file": "f" * 64, "page": page, "settings": "s", "model": "m@1", **changes})

"""The reader that ships reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from fastocr_cli import parse
from fastocr_cli.bench.scoring import character_error_rate
from fastocr_cli.results import PageStatus

SAMPLES = Path(__file__).parents[2] / "sample_docs"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("letter.png", 0.04), ("invoice.pdf", 0.08)])
def test_a_sample_document_is_read(name: str, most: float) -> None:
    """The bounds leave room for what another machine's arithmetic may change."""
    document = SAMPLES / name
    pages = list(parse(document))
    assert [page.status for page in pages] == [PageStatus.OK]
    truth = document.with_suffix(".md").read_text()
    assert character_error_rate("\n\n".join(page.markdown for page in pages), truth) < most

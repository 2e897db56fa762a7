"""The reader that ships reads."""

from __future__ import annotations

from pathlib import Path

import pymupdf
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


@pytest.mark.slow
def test_notes_in_small_type_are_read(tmp_path: Path) -> None:
    """Under text in 12 pt, on a sheet of their own: of the page at its own size a tenth
    of their letters would be wrong."""
    body = "The harbour was quiet when the first boats came in, before the market opened. " * 6
    note = (
        "1 Every parcel is weighed, labelled and entered in the book; none leaves without one.",
        "See the letters of 1874 and the minutes of the meeting, which the society has printed.",
    )
    document = pymupdf.open()
    page = document.new_page()
    page.insert_textbox((72, 72, 523, 400), body, fontsize=12, fontname="tiro")
    for i, line in enumerate(note):
        page.insert_text((72, 600 + 8.5 * i), line, fontsize=7, fontname="tiro")
    document.save(tmp_path / "notes.pdf")
    (result,) = parse(tmp_path / "notes.pdf")
    assert character_error_rate(result.markdown, body + " ".join(note)) < 0.01


@pytest.mark.slow
def test_code_among_prose_is_a_listing(tmp_path: Path) -> None:
    prose = (
        "Requests are sent again when nothing came back, up to three times, and then given up. " * 2
    )
    code = """\
def fetch(session, url, retries):
    for attempt in range(retries):
        try:
            return session.get(url)
        except Timeout:
            continue

    return None"""
    document = pymupdf.open()
    page = document.new_page()
    page.insert_textbox((72, 72, 523, 120), prose, fontsize=11, fontname="tiro")
    for i, line in enumerate(code.split("\n")):
        page.insert_text((72, 150 + 13 * i), line, fontsize=9.5, fontname="cour")
    page.insert_textbox((72, 270, 523, 320), prose, fontsize=11, fontname="tiro")
    document.save(tmp_path / "code.pdf")
    (result,) = parse(tmp_path / "code.pdf")
    before, listing, after = result.markdown.split("```")
    assert [len(line) - len(line.lstrip()) for line in listing.strip("\n").split("\n")] == [
        len(line) - len(line.lstrip()) for line in code.split("\n")
    ]
    assert character_error_rate(listing, code) < 0.04
    assert character_error_rate(before + after, prose * 2) < 0.02

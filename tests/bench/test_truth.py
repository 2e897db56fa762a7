"""Where the truth of a document comes from, and what is no truth."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from fastocr_cli.bench.pages import load_documents
from fastocr_cli.delivery.ownership import Ownership
from fastocr_cli.errors import InputError
from fastocr_cli.options import Options

WORDS = "Every Tuesday a blue van leaves the market square."


def write_pdf(path: Path, *, render_mode: int = 0, pages: int = 1) -> Path:
    pdf = pymupdf.open()
    for _ in range(pages):
        page = pdf.new_page(width=300, height=200)
        page.insert_text((20, 50), WORDS, fontsize=9, render_mode=render_mode)
        page.draw_rect(pymupdf.Rect(20, 100, 60, 120), fill=(0, 0, 0))
    pdf.save(path)
    return path


def test_the_text_layer_of_a_pdf(tmp_path: Path) -> None:
    (document,) = load_documents([str(write_pdf(tmp_path / "a.pdf"))], Options())
    assert document.truth is not None
    assert document.truth.origin == "text layer"
    assert document.truth.text.strip() == WORDS


def test_a_text_nobody_sees_is_another_programs_guess(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", render_mode=3)
    (document,) = load_documents([str(path)], Options())
    assert document.truth is None


@pytest.mark.parametrize("suffix", [".md", ".txt"])
def test_a_file_beside_the_document_goes_first(tmp_path: Path, suffix: str) -> None:
    path = write_pdf(tmp_path / "a.pdf")
    path.with_suffix(suffix).write_text("the truth")
    (document,) = load_documents([str(path)], Options())
    assert document.truth is not None
    assert (document.truth.text, document.truth.origin) == ("the truth", "file")


def test_it_speaks_of_all_pages_only(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", pages=2)
    path.with_suffix(".md").write_text("the truth")
    (document,) = load_documents([str(path)], Options(pages="2"))
    assert len(document.pages) == 1
    assert document.truth is not None
    assert document.truth.origin == "text layer"


@pytest.mark.parametrize("below", [".", "sub", "sub/sub"])
def test_what_we_wrote_ourselves_is_no_truth(tmp_path: Path, below: str) -> None:
    (tmp_path / below).mkdir(parents=True, exist_ok=True)
    path = write_pdf(tmp_path / below / "a.pdf")
    ours = path.with_suffix(".md")
    ours.write_text("as some model read it")
    Ownership(tmp_path).note(ours, [])
    (document,) = load_documents([str(path)], Options())
    assert document.truth is not None
    assert document.truth.origin == "text layer"


def test_no_document_is_its_own_truth(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf").rename(tmp_path / "a.txt")
    (document,) = load_documents([str(path)], Options())
    assert document.truth is not None
    assert document.truth.origin == "text layer"


def test_inputs_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        load_documents([str(tmp_path / "absent.pdf")], Options())
    with pytest.raises(InputError):
        load_documents([str(tmp_path)], Options())


def test_the_bundled_pages_are_those_of_the_samples() -> None:
    samples = Path(__file__).parents[2] / "sample_docs"
    bundled = Path(__file__).parents[2] / "fastocr_cli" / "bench" / "samples"
    names = sorted(path.name for path in bundled.iterdir() if path.is_file())
    assert names == ["invoice.md", "invoice.pdf", "report.md", "report.pdf"]
    for name in names:
        assert (bundled / name).read_bytes() == (samples / name).read_bytes(), name
    documents = load_documents([], Options(dpi=36))
    assert [(one.source, len(one.pages)) for one in documents] == [
        ("invoice.pdf", 1), ("report.pdf", 2)
    ]  # fmt: skip
    assert all(one.truth and one.truth.origin == "file" for one in documents)

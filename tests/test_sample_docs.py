"""The sample documents are what their script makes, and hold the text that is expected of them."""

import re
from pathlib import Path
from unicodedata import normalize

import pymupdf
import pytest
from PIL import Image

from fastocr_cli.inputs.sources import resolve
from fastocr_cli.raster import iter_pages
from fastocr_cli.raster.blank import is_blank
from sample_docs import make

FOLDER = Path(make.__file__).parent
NAMES = [sample.name for sample in make.SAMPLES]
PAGES = {"report.pdf": 2, "article.pdf": 1, "invoice.pdf": 1, "letter.png": 1, "frames.tiff": 2}


@pytest.fixture(scope="module")
def remade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample_docs")
    make.main(folder)
    return folder


def words(text: str) -> list[str]:
    """The text's words, Markdown marks left out."""
    without_rules = re.sub(r"^\|( --- \|)+$", "", text, flags=re.MULTILINE)
    return re.sub(r"^(#+|-|\d\.) |\|", " ", without_rules, flags=re.MULTILINE).split()


@pytest.mark.parametrize("name", NAMES)
def test_expected_markdown_is_made_by_the_script(name: str, remade: Path) -> None:
    markdown = Path(name).with_suffix(".md")
    assert (FOLDER / markdown).read_text("utf-8") == (remade / markdown).read_text("utf-8")
    assert make.MarkdownIt().enable("table").parse((FOLDER / markdown).read_text("utf-8"))


@pytest.mark.parametrize("sample", make.SAMPLES, ids=NAMES)
def test_same_script_same_file(sample: make.Sample, remade: Path, tmp_path: Path) -> None:
    again = make.make_sample(sample, tmp_path)
    assert again.read_bytes() == (remade / sample.name).read_bytes()


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".pdf")])
def test_pdfs_hold_the_expected_words_in_order(name: str) -> None:
    with pymupdf.open(FOLDER / name) as document:
        text = "\n".join(page.get_text() for page in document)
        fonts = {font[3] for page in document for font in page.get_fonts()}
    text = re.sub(r"^(\d\.|•) ?$", "", text, flags=re.MULTILINE).replace("•", " ")
    expected = (FOLDER / name).with_suffix(".md").read_text("utf-8")
    assert words(normalize("NFKC", text)) == words(expected)
    assert all(font.startswith("Nimbus") for font in fonts)


@pytest.mark.parametrize("name", NAMES)
def test_pages_can_be_drawn_and_are_not_blank(name: str) -> None:
    pages = list(iter_pages(resolve([FOLDER / name]).documents[0]))
    assert [page.number for page in pages] == list(range(1, PAGES[name] + 1))
    assert not any(page.warnings or is_blank(page) for page in pages)


def test_scan_and_fax_are_what_they_say() -> None:
    with Image.open(FOLDER / "letter.png") as letter, Image.open(FOLDER / "frames.tiff") as fax:
        assert (letter.mode, letter.size) == ("L", (1240, 1754))
        assert (fax.mode, fax.n_frames, fax.info["dpi"]) == ("1", 2, (200, 200))

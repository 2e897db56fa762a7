"""What a page really says: a text beside the document, or the text layer of a PDF that has one.

Knows files and PDFs; scores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pymupdf

from fastocr_cli.delivery.ownership import FOLDER, Ownership
from fastocr_cli.inputs.documents import Document
from fastocr_cli.inputs.sniff import Kind

FEWEST_LETTERS = 20
"""A page with less text than this has no layer worth comparing with."""
MOST_UNKNOWN = 0.01
"""Share of replacement characters from which on a layer's fonts do not say what they draw."""
_INVISIBLE = 3
"""How MuPDF calls text that is not drawn: another OCR's guess below the picture of a page."""


@dataclass(frozen=True)
class Truth:
    text: str
    origin: Literal["file", "text layer"]


def find_truth(
    document: Document, numbers: Sequence[int], *, is_whole: bool, password: str | None = None
) -> Truth | None:
    """The truth of these pages, from 1, or None where nothing can be trusted.

    is_whole: whether they are all pages; a file beside the document speaks of all of it.
    """
    if is_whole and document.path is not None:
        for suffix in (".md", ".txt"):
            beside = document.path.with_suffix(suffix)
            if beside.is_file() and not (beside.samefile(document.path) or _is_our_output(beside)):
                return Truth(beside.read_text(encoding="utf-8-sig", errors="replace"), "file")
    if document.kind is Kind.PDF:
        return _text_layer(document, numbers, password)
    return None


def _is_our_output(path: Path) -> bool:
    """Whether an earlier run wrote it: no truth, only what some model read.

    The record is in the folder that was given to `-o`, which may be any above the file.
    """
    homes = [folder for folder in path.absolute().parents if (folder / FOLDER).is_dir()]
    return any(Ownership(home).is_ours(path) for home in homes)


def _text_layer(document: Document, numbers: Sequence[int], password: str | None) -> Truth | None:
    with document.open() as stream, pymupdf.open(stream=stream.read(), filetype="pdf") as pdf:
        if pdf.needs_pass and not pdf.authenticate(password or ""):
            return None
        pages = [pdf.load_page(number - 1) for number in numbers]
        if not all(map(_is_real_text, pages)):
            return None
        return Truth("\n\n".join(page.get_text() for page in pages), "text layer")


def _is_real_text(page: pymupdf.Page) -> bool:
    text = page.get_text()
    if sum(character.isalnum() for character in text) < FEWEST_LETTERS:
        return False
    if text.count("\ufffd") > MOST_UNKNOWN * len(text):
        return False
    spans = page.get_texttrace()
    hidden = sum(len(span["chars"]) for span in spans if span["type"] == _INVISIBLE)
    return hidden * 2 < sum(len(span["chars"]) for span in spans)

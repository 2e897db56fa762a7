"""Pages of real typeset PDFs with a text layer: the layouts and fonts nobody here designed."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pymupdf

from fastocr_cli.reader.training.pages import (
    Line,
    Page,
    body_em,
    extract_lines,
    join_lines,
    render_grey,
    scaled,
)
from fastocr_cli.reader.vocabulary import LineKind

_HELD_OUT_PERCENT = 4
MAX_PIXELS = 4e6


def is_held_out(path: Path) -> bool:
    """Whether a document belongs to the evaluation, decided by its name."""
    return hashlib.sha256(path.name.encode()).digest()[1] % 100 < _HELD_OUT_PERCENT


def documents(folder: Path, *, held_out: bool) -> tuple[Path, ...]:
    found = sorted(path for path in folder.rglob("*.pdf") if is_held_out(path) == held_out)
    if not found:
        raise FileNotFoundError(f"no {'held-out ' * held_out}PDF files under {folder}")
    return tuple(found)


def found_page(rng: random.Random, paths: Sequence[Path], em_px: float) -> Page:
    """A random page of a random document, body text at `em_px` pixels an em."""
    while True:
        path = rng.choice(paths)
        try:
            with pymupdf.open(path) as document:
                page = read_page(document[rng.randrange(len(document))], em_px)
        except Exception:
            continue
        if len(page.lines) >= 3:
            return page


def read_page(page: pymupdf.Page, em_px: float) -> Page:
    lines = reading_lines([line for line, _ in extract_lines(page)])
    scale = em_px / body_em(lines)
    pixels = page.rect.width * page.rect.height * scale**2
    scale *= min(1.0, (MAX_PIXELS / pixels) ** 0.5)
    grey = render_grey(page, scale)
    return Page(grey, tuple(scaled(line, scale) for line in lines))


def reading_lines(lines: list[Line]) -> list[Line]:
    """Pieces that stand on one baseline with a small gap become one line; kinds are guessed:
    a new block starts a paragraph."""
    joined: list[Line] = []
    for line in lines:
        if joined and _continues(joined[-1], line):
            joined[-1] = join_lines(joined[-1], line, " ")
        else:
            joined.append(line)
    previous = None
    for i, line in enumerate(joined):
        kind = LineKind.LINE if line.block == previous else LineKind.PARAGRAPH
        joined[i] = replace(line, kind=kind)
        previous = line.block
    return joined


def _continues(first: Line, second: Line) -> bool:
    on_one_baseline = abs(float(first.middle[-1] - second.middle[0])) < 0.25 * second.em
    gap = float(second.left[0] - first.right[-1])
    return on_one_baseline and -0.2 * second.em < gap < 3 * second.em

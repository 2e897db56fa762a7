"""Synthetic pages: HTML composed from random blocks, laid out by PyMuPDF's Story.

The layout engine forgets which tag a character came from. The colour remembers: every block (in a
table every cell) is set in a near-black of its own, whose three low half-bytes count the blocks,
and the extracted text tells the colour of each span. So each line's kind, its block and its cell
are known exactly, whatever the layout did.
"""

from __future__ import annotations

import html
import io
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pymupdf

from fastocr_cli.reader.training import texts
from fastocr_cli.reader.training.compose import Composer, OtherScript, Piece, PieceKind
from fastocr_cli.reader.training.fonts import Face
from fastocr_cli.reader.training.pages import (
    CELL_BREAK,
    Line,
    Page,
    body_em,
    extract_lines,
    join_lines,
    render_grey,
    scaled,
)
from fastocr_cli.reader.vocabulary import LineKind

_LINE_KINDS = {
    PieceKind.PARAGRAPH: LineKind.PARAGRAPH,
    PieceKind.HEADING_1: LineKind.HEADING_1,
    PieceKind.HEADING_2: LineKind.HEADING_2,
    PieceKind.HEADING_3: LineKind.HEADING_3,
    PieceKind.ITEM: LineKind.ITEM,
    PieceKind.CELL: LineKind.ROW,
    PieceKind.CODE: LineKind.CODE,
}


_LIKE_OURS = {"Cyrillic": 4, "Greek": 3}
"""Scripts that look like Latin are the hardest to tell from it: how much oftener they come."""


class UnusableLayoutError(Exception):
    """The random layout cannot be labelled, a wrapped table cell for example; try another."""


@dataclass(frozen=True)
class Sheet:
    """Page size and the rectangles text flows through, in points."""

    width: float
    height: float
    top: pymupdf.Rect | None
    columns: tuple[pymupdf.Rect, ...]
    bottom: pymupdf.Rect | None


@dataclass
class Style:
    """Fonts, scripts and sizes of one page; `css` is complete but for the pieces."""

    faces: list[Face]
    css: str
    other: OtherScript | None
    archive: pymupdf.Archive = field(default_factory=pymupdf.Archive)


def typeset_page(
    rng: random.Random,
    faces: Sequence[Face],
    em_px: float,
    *,
    held_out: bool = False,
    prose_share: float | None = None,
) -> Page:
    """A random page, body text at `em_px` pixels an em.

    held_out: use the evaluation's texts. prose_share: how much of the text a language model could
    foresee; None leaves it to chance.
    """
    while True:
        try:
            return _typeset(rng, faces, em_px, held_out, prose_share)
        except UnusableLayoutError:
            continue


def _typeset(
    rng: random.Random,
    faces: Sequence[Face],
    em_px: float,
    held_out: bool,
    prose_share: float | None,
) -> Page:
    style = _style(rng, faces, held_out)
    sheet = _sheet(rng)
    composer = Composer(rng, style.faces, held_out, prose_share, style.other)
    flows = [
        (sheet.top, composer.header() if sheet.top else []),
        (sheet.columns, composer.body(len(sheet.columns), narrow=_is_narrow(sheet))),
        (sheet.bottom, composer.footer() if sheet.bottom else []),
    ]
    pieces = [piece for _, part in flows for piece in part]
    with _draw(sheet, style, flows) as document:
        page = document[0]
        lines = label_lines(pieces, extract_lines(page))
        if not lines:
            raise UnusableLayoutError
        scale = em_px / body_em(lines)
        scale = min(scale, (4e6 / (sheet.width * sheet.height)) ** 0.5)
        grey = render_grey(page, scale)
    return Page(grey, tuple(scaled(line, scale) for line in lines))


def _draw(sheet: Sheet, style: Style, flows: list) -> pymupdf.Document:
    buffer = io.BytesIO()
    writer = pymupdf.DocumentWriter(buffer)
    device = writer.begin_page(pymupdf.Rect(0, 0, sheet.width, sheet.height))
    for rectangles, pieces in flows:
        if not pieces:
            continue
        story = pymupdf.Story(
            html="<body>" + "".join(_markup(pieces)) + "</body>",
            user_css=style.css,
            archive=style.archive,
        )
        for rectangle in (rectangles,) if isinstance(rectangles, pymupdf.Rect) else rectangles:
            more, _ = story.place(rectangle)
            story.draw(device)
            if not more:
                break
    writer.end_page()
    writer.close()
    return pymupdf.open("pdf", buffer.getvalue())


def colour(number: int) -> str:
    """The near-black that stands for a piece: CSS hex of 0x0R0G0B."""
    red, green, blue = number >> 8 & 15, number >> 4 & 15, number & 15
    return f"#{red:02x}{green:02x}{blue:02x}"


def piece_number(srgb: int) -> int:
    """The inverse of `colour`, from the integer PyMuPDF reports."""
    return (srgb >> 16 & 15) << 8 | (srgb >> 8 & 15) << 4 | srgb & 15


def _markup(pieces: Sequence[Piece]) -> list[str]:
    out: list[str] = []
    row: int | None = None
    for piece in pieces:
        if piece.row != row and row is not None:
            out.append("</tr>" if piece.table == _table(out) else "</tr></table>")
        if piece.row is not None and piece.row != row:
            if row is None or piece.table != _table(out):
                out.append(f'<table class="t{piece.table}">')
            out.append("<tr>")
        row = piece.row
        out.append(_element(piece))
    if row is not None:
        out.append("</tr></table>")
    return out


def _table(out: list[str]) -> int | None:
    """Number of the table last opened in the markup."""
    for element in reversed(out):
        if element.startswith("<table"):
            return int(element.split('"t')[1].split('"')[0])
    return None


def _element(piece: Piece) -> str:
    style = f"color:{colour(piece.number)};{piece.css}"
    text = piece.text if piece.is_markup else html.escape(piece.text, quote=False)
    tag = {
        PieceKind.HEADING_1: "h1",
        PieceKind.HEADING_2: "h2",
        PieceKind.HEADING_3: "h3",
        PieceKind.CELL: "td",
        PieceKind.CODE: "pre",
    }.get(piece.kind, "p")
    css_class = ' class="item"' if piece.kind is PieceKind.ITEM else ""
    return f'<{tag}{css_class} style="{style}">{text}</{tag}>'


def label_lines(pieces: Sequence[Piece], extracted: Sequence[tuple[Line, int]]) -> list[Line]:
    """Give each extracted line its kind and block by its colour, and join what is one line.

    Raises UnusableLayoutError where a table cell took more than one line.
    """
    by_number = {piece.number: piece for piece in pieces}
    lines: list[Line] = []
    last: Piece | None = None
    for line, srgb in extracted:
        piece = by_number.get(piece_number(srgb))
        if piece is None:
            raise UnusableLayoutError
        if last is not None and _on_one_baseline(lines[-1], line):
            if piece.row is not None and piece.row == last.row:
                separator = CELL_BREAK * (piece.column - last.column)
            elif piece is last:
                separator = " "
            else:
                raise UnusableLayoutError
            lines[-1] = join_lines(lines[-1], line, separator) if separator else lines[-1]
        else:
            if piece is last and piece.row is not None:
                raise UnusableLayoutError
            lines.append(_labelled(line, piece, last))
        last = piece
    return [_without_bullet(line) for line in lines]


def _on_one_baseline(first: Line, second: Line) -> bool:
    return (
        abs(float(first.middle[-1] - second.middle[0])) < 0.3 * second.em
        and second.left[0] > first.left[-1]
        and second.left[0] - first.right[-1] < 30 * second.em
    )


def _labelled(line: Line, piece: Piece, last: Piece | None) -> Line:
    kind = _LINE_KINDS[piece.kind]
    if kind is LineKind.ROW and (last is None or last.table != piece.table):
        kind = LineKind.TABLE
    elif piece is last and kind is not LineKind.CODE:
        kind = LineKind.LINE
    return replace(line, kind=kind, block=piece.block, is_kind_known=True)


def _without_bullet(line: Line) -> Line:
    """Bullets are told by the kind; numbers of numbered items stay text."""
    if line.kind is LineKind.ITEM and len(line.text) > 2 and line.text[0] in "•·–-◦*�":
        skip = 2 if line.text[1] == " " else 1
        return replace(
            line,
            text=line.text[skip:],
            left=line.left[skip:],
            right=line.right[skip:],
            middle=line.middle[skip:],
        )
    return line


def _sheet(rng: random.Random) -> Sheet:
    width, height = rng.choice([(595, 842), (612, 792), (595, 842), (420, 595), (500, 700)])
    left, right = rng.uniform(30, 90), rng.uniform(30, 90)
    head, foot = rng.uniform(36, 90), rng.uniform(36, 90)
    count = rng.choices([1, 2, 3], [0.62, 0.32, 0.06])[0] if width > 450 else 1
    gap = rng.uniform(12, 28)
    step = (width - left - right + gap) / count
    columns = tuple(
        pymupdf.Rect(left + i * step, head, left + (i + 1) * step - gap, height - foot)
        for i in range(count)
    )
    top = pymupdf.Rect(left, head - 30, width - right, head - 6) if rng.random() < 0.3 else None
    bottom = pymupdf.Rect(left, height - foot + 8, width - right, height - foot + 34)
    return Sheet(width, height, top, columns, bottom if rng.random() < 0.4 else None)


def _largest(rng: random.Random, held_out: bool) -> float:
    """Size of first headings over the body's; the evaluation's stay what they have always been."""
    return rng.uniform(1.3, 2.1) if held_out else min(1.2 + rng.expovariate(2.2), 3.4)


def _is_narrow(sheet: Sheet) -> bool:
    return sheet.columns[0].width < 260


def _style(rng: random.Random, faces: Sequence[Face], held_out: bool) -> Style:
    prose = [face for face in faces if not face.is_monospaced] or list(faces)
    mono = [face for face in faces if face.is_monospaced] or list(faces)
    regular = [f for f in prose if f.is_upright and not f.is_bold] or prose
    is_typed = rng.random() < (0.1 if held_out else 0.2)
    body = rng.choice(mono if is_typed else regular if rng.random() < 0.75 else prose)
    heading = rng.choice(prose) if rng.random() < 0.5 else body
    code = rng.choice(mono)
    italic = rng.choice([f for f in prose if not f.is_upright] or prose)
    extras = [rng.choice(faces) for _ in range(4 if rng.random() < 0.35 else 0)]
    other = None if held_out else _other_script(rng)
    chosen = [body, heading, code, italic, *extras]
    archive = pymupdf.Archive()
    rules = []
    families = {f"f{i}": face for i, face in enumerate(chosen)}
    if other:
        families[other.family] = rng.choice(_faces_of(other.script, tuple(faces)) or [body])
    for family, face in families.items():
        name = f"{family}{Path(face.path).suffix}"
        archive.add(Path(face.path).read_bytes(), name)
        rules.append(f"@font-face{{font-family:{family};src:url({name})}}")
    size = rng.uniform(8, 13)
    spacing = rng.uniform(0.1, 0.9)
    rules.append(
        f"body{{font-family:f0;font-size:{size:.1f}pt;line-height:{rng.uniform(1.02, 1.5):.2f};"
        f"text-align:{rng.choice(['left', 'left', 'justify'])}}}"
        f"h1{{font-family:f1;font-size:{_largest(rng, held_out):.2f}em;margin:.4em 0 .3em 0}}"
        f"h2{{font-family:f1;font-size:{rng.uniform(1.12, 1.4):.2f}em;margin:.5em 0 .2em 0}}"
        f"h3{{font-family:f1;font-size:{rng.uniform(1.0, 1.12):.2f}em;margin:.4em 0 .1em 0}}"
        f"p{{margin:0 0 {spacing:.2f}em 0}} .item{{margin:0 0 {spacing / 3:.2f}em 1.2em}}"
        f"pre{{font-family:f2;font-size:{rng.uniform(0.8, 1.0):.2f}em;margin:.3em 0 .5em 0}}"
        f"td{{padding:{rng.uniform(1, 4):.1f}px {rng.uniform(3, 12):.1f}px}} table{{margin:.4em 0}}"
        "i{font-family:f3}"
    )
    return Style(chosen, "".join(rules), other, archive)


def _other_script(rng: random.Random) -> OtherScript | None:
    if rng.random() > 0.12:
        return None
    scripts = list(texts.OTHER_SCRIPTS)
    weights = [_LIKE_OURS.get(script, 1) for script in scripts]
    return OtherScript(rng.choices(scripts, weights)[0], "other", rng.choice([0.1, 0.3, 1.0]))


@cache
def _faces_of(script: str, faces: tuple[Face, ...]) -> list[Face]:
    """Those that draw a script; where there are none, the layout engine has its own."""
    sample = texts.OTHER_SCRIPTS[script]
    return [face for face in faces if face.draws(sample[::7])]

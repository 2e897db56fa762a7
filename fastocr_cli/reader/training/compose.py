"""What stands on a synthetic page: random documents as a flat list of pieces.

Knows words and document kinds; knows nothing of layout.
"""

from __future__ import annotations

import html
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

from faker import Faker

from fastocr_cli.reader.training import texts
from fastocr_cli.reader.training.fonts import Face

MAX_PIECES = 4000
"""Colours can count to 4,095."""

_BULLETS = ("•", "•", "·", "–", "-", "◦", "*")


_CODE_PATTERNS = (
    *("{0} = {1}({2})", "def {0}({1}, {2}):", "    return {0}[{1}]", "$ {0} --{1}={2}"),
    *("    {0}.{1}({2!r}, n={3})", "if {0} != {3}:", "#include <{0}/{1}.h>", "{{{0}: {1}}}"),
    *("\\{0}{{{1}}}", "{0}_{1} += {3} * {2}", '<{0} {1}="{2}">', "// {0} {1} {2}"),
)

_PROGRAMS = 0.6
"""Code that is some of a program, in training."""


class PieceKind(Enum):
    PARAGRAPH = auto()
    HEADING_1 = auto()
    HEADING_2 = auto()
    HEADING_3 = auto()
    ITEM = auto()
    CELL = auto()
    CODE = auto()


@dataclass(frozen=True)
class Piece:
    """One run of text set in one colour: a block, or one cell of a table.

    number: from 1, counts pieces. block: pieces of one table share it. row, column: of a cell;
    rows are numbered through the page. is_markup: text is HTML already.
    """

    number: int
    kind: PieceKind
    text: str
    block: int
    css: str = ""
    table: int | None = None
    row: int | None = None
    column: int = 0
    is_markup: bool = False


@dataclass(frozen=True)
class OtherScript:
    """Writing on the page that the reader is not for.

    script: of `texts.OTHER_SCRIPTS`. family: CSS name of a font that draws it. share: of the blocks
    that are written in it; as many others have words of it among their own.
    """

    script: str
    family: str
    share: float


@cache
def _faker() -> Faker:
    return Faker(["en_US", "en_GB"])


class Composer:
    """Writes the pieces of one page, numbering them as it goes."""

    def __init__(
        self,
        rng: random.Random,
        faces: Sequence[Face],
        held_out: bool,
        prose_share: float | None = None,
        other: OtherScript | None = None,
    ) -> None:
        self.rng = rng
        self.faces = faces
        self.held_out = held_out
        self.other = other
        self.number = 0
        self.block = 0
        self.row = 0
        self.faker = _faker()
        self.faker.seed_instance(rng.randrange(1 << 30))
        self.bullet = rng.choice([mark for mark in _BULLETS if faces[0].draws(mark)] or ["-"])
        by_chance = rng.choices([0.97, 0.6, 0.0], [0.72, 0.16, 0.12])[0]
        self.prose_share = by_chance if prose_share is None else prose_share

    def header(self) -> list[Piece]:
        return [self._block(PieceKind.PARAGRAPH, self._short(), self._align())]

    def footer(self) -> list[Piece]:
        number = self.rng.randint(1, 400)
        text = self.rng.choice([f"{number}", f"Page {number}", f"– {number} –", self._short()])
        return [self._block(PieceKind.PARAGRAPH, text, self._align())]

    def body(self, columns: int, *, narrow: bool) -> list[Piece]:
        """Enough pieces to fill the columns, most of the time."""
        kind: Callable[[], list[Piece]] = self.rng.choices(
            [self._manual, self._letter, self._invoice, self._form],
            [0.76, 0.08, 0.08, 0.08],
        )[0]
        target = self.rng.choice([800, 2500, 4500, 7000]) if columns == 1 else 8000
        pieces: list[Piece] = []
        while sum(len(piece.text) for piece in pieces) < target and self.number < MAX_PIECES:
            pieces += self._manual(narrow=narrow) if kind == self._manual else kind()
            kind = self._manual if self.rng.random() < 0.7 else kind
        return pieces

    def _manual(self, *, narrow: bool = False) -> list[Piece]:
        choice = self.rng.random()
        if choice < 0.52:
            length = int(self.rng.lognormvariate(5.6, 0.8))
            return [self._paragraph(self._text(min(length, 1400)))]
        if choice < 0.70:
            level = self.rng.choice([PieceKind.HEADING_1, PieceKind.HEADING_2, PieceKind.HEADING_3])
            css = "text-align:center" if self.rng.random() < 0.15 else ""
            return [self._block(level, self._numbered(self._short()), css)]
        if choice < 0.84:
            return self._list()
        if choice < 0.92:
            return self._table(narrow=narrow)
        return [self._code()] if not narrow else [self._paragraph(self._text(200))]

    def _list(self) -> list[Piece]:
        is_numbered = self.rng.random() < 0.35
        pattern = self.rng.choice(["{}.", "{})", "({})"])
        items = []
        for i in range(self.rng.randint(2, 7)):
            mark = pattern.format(i + 1) if is_numbered else self.bullet
            text = self._text(self.rng.choice([20, 50, 120, 200]))
            items.append(self._block(PieceKind.ITEM, f"{mark} {text}"))
        return items

    def _table(self, *, narrow: bool) -> list[Piece]:
        columns = self.rng.randint(2, 3 if narrow else 5)
        kinds = [self.rng.choice(["word", "number", "code"]) for _ in range(columns)]
        kinds[0] = "word"
        header = [self.rng.choice(texts.words()).capitalize() for _ in range(columns)]
        rows = [[self._cell(kind) for kind in kinds] for _ in range(self.rng.randint(2, 9))]
        return self._rows([header, *rows])

    def _rows(self, rows: list[list[str]]) -> list[Piece]:
        self.block += 1
        border = self.rng.choice(["", "", "border:1px solid black;", "border:0.5px solid gray;"])
        table, pieces = self.block, []
        for i, row in enumerate(rows):
            self.row += 1
            weight = "font-weight:bold;" if i == 0 and self.rng.random() < 0.5 else ""
            for column, text in enumerate(row):
                self.number += 1
                pieces.append(
                    Piece(
                        *(self.number, PieceKind.CELL, self._drawable(text), table),
                        *(border + weight, table, self.row, column),
                    )
                )
        return pieces

    def _cell(self, kind: str) -> str:
        if kind == "number":
            return f"{self.rng.random() * 10 ** self.rng.randint(0, 5):,.2f}"
        if kind == "code":
            return texts.code_word(self.rng)
        return " ".join(self.rng.choices(texts.words(), k=self.rng.choice([1, 1, 2])))

    def _code(self) -> Piece:
        if not self.held_out and self.rng.random() < _PROGRAMS:
            program = texts.program(self.rng, self.rng.randint(3, 16))
            return self._block(PieceKind.CODE, self._drawable(program, self.faces[2]))
        lines = []
        for _ in range(self.rng.randint(1, 6)):
            words = self.rng.choices(texts.words(), k=3)
            pattern = self.rng.choice(_CODE_PATTERNS)
            lines.append(pattern.format(*words, self.rng.randint(0, 999)))
        return self._block(PieceKind.CODE, self._drawable("\n".join(lines), self.faces[2]))

    def _letter(self) -> list[Piece]:
        fake = self.faker
        sender = [fake.name(), *fake.address().split("\n"), fake.phone_number()]
        return [
            self._lines(sender),
            self._lines([fake.company(), *fake.address().split("\n")]),
            self._paragraph(fake.date(self.rng.choice(["%d %B %Y", "%B %d, %Y", "%Y-%m-%d"]))),
            self._paragraph(f"Dear {fake.name()},"),
            *(self._paragraph(self._text(self.rng.randint(80, 500))) for _ in range(3)),
            self._paragraph(self.rng.choice(["Yours sincerely,", "Kind regards,", "Best wishes,"])),
            self._lines([fake.name(), fake.job()]),
        ]

    def _invoice(self) -> list[Piece]:
        fake = self.faker
        rows = [["Item", "Qty", "Price", "Total"]]
        for _ in range(self.rng.randint(2, 9)):
            count, price = self.rng.randint(1, 40), self.rng.random() * 300
            name = " ".join(self.rng.choices(texts.words(), k=2)).capitalize()
            rows.append([name, str(count), f"{price:.2f}", f"{count * price:,.2f}"])
        return [
            self._block(PieceKind.HEADING_1, self.rng.choice(["Invoice", "INVOICE", "Receipt"])),
            self._lines([fake.company(), *fake.address().split("\n")]),
            self._paragraph(f"Invoice number: {fake.bothify('??-#####').upper()}"),
            self._paragraph(f"Date: {fake.date()}"),
            *self._rows(rows),
            self._paragraph(f"Total due: ${self.rng.random() * 9999:,.2f}"),
            self._paragraph(f"IBAN {fake.iban()}"),
        ]

    def _form(self) -> list[Piece]:
        fake = self.faker
        fields = {
            "Name": fake.name(),
            "Address": fake.address().replace("\n", ", "),
            "E-mail": fake.email(),
            "Telephone": fake.phone_number(),
            "Date of birth": fake.date(),
            "Employer": fake.company(),
            "Account": fake.iban(),
            "Reference": fake.bothify("??##-####"),
        }
        chosen = self.rng.sample(list(fields.items()), k=self.rng.randint(3, len(fields)))
        return [self._paragraph(f"{label}: {value}") for label, value in chosen]

    def _lines(self, lines: Sequence[str]) -> Piece:
        """A block with line breaks of its own, an address for example."""
        markup = "<br>".join(html.escape(self._drawable(line)) for line in lines)
        return self._block(PieceKind.PARAGRAPH, markup, self._align(), is_markup=True)

    def _paragraph(self, text: str) -> Piece:
        roll = self.rng.random()
        text = self._in_capitals(text, 0.03)
        css = "text-indent:1.5em;" if roll < 0.12 else "font-weight:bold;" if roll < 0.16 else ""
        if len(self.faces) > 4 and self.rng.random() < 0.5:
            extra = self.rng.randrange(4, len(self.faces))
            css += f"font-family:f{extra};font-size:{self.rng.uniform(0.85, 1.3):.2f}em;"
            return self._block(PieceKind.PARAGRAPH, self._drawable(text, self.faces[extra]), css)
        words = self._drawable(text).split(" ")
        if self.other and self.rng.random() < self.other.share:
            return self._in_two_scripts(self.other, words, css)
        if len(words) > 6 and self.rng.random() < 0.2:
            return self._emphasised(words, css)
        return self._block(PieceKind.PARAGRAPH, " ".join(words), css)

    def _emphasised(self, words: list[str], css: str) -> Piece:
        start = self.rng.randrange(len(words) - 3)
        stop = start + self.rng.randint(1, 3)
        tag = self.rng.choice(["b", "i"])
        inner = html.escape(self._drawable(" ".join(words[start:stop]), self.faces[3]))
        markup = " ".join(
            [
                html.escape(" ".join(words[:start])),
                f"<{tag}>{inner}</{tag}>",
                html.escape(" ".join(words[stop:])),
            ]
        )
        return self._block(PieceKind.PARAGRAPH, markup, css, is_markup=True)

    def _in_two_scripts(self, other: OtherScript, words: list[str], css: str) -> Piece:
        share = self.rng.uniform(0.05, 0.5)
        markup = " ".join(
            f'<span style="font-family:{other.family}">'
            f"{texts.in_other_script(self.rng, other.script, len(word))}</span>"
            if self.rng.random() < share
            else html.escape(word)
            for word in words
        )
        return self._block(PieceKind.PARAGRAPH, markup, css, is_markup=True)

    def _block(
        self, kind: PieceKind, text: str, css: str = "", *, is_markup: bool = False
    ) -> Piece:
        self.number += 1
        self.block += 1
        is_marked = is_markup or kind in (PieceKind.ITEM, PieceKind.CODE)
        if self.other and not is_marked and self.rng.random() < self.other.share:
            text = texts.in_other_script(self.rng, self.other.script, len(text))
            css += f";font-family:{self.other.family}"
            return Piece(self.number, kind, text, self.block, css)
        text = text if is_markup or kind is PieceKind.CODE else self._drawable(text)
        return Piece(self.number, kind, text, self.block, css, is_markup=is_markup)

    def _drawable(self, text: str, face: Face | None = None) -> str:
        """`text` without the characters the face lacks."""
        face = face or self.faces[0]
        if face.draws(text):
            return text
        return "".join(c for c in text if face.draws(c)) or "x"

    def _text(self, length: int) -> str:
        if self.rng.random() < self.prose_share:
            return texts.passage(self.rng, length, held_out=self.held_out)
        return texts.unpredictable(self.rng, length)

    def _short(self) -> str:
        words = self._text(self.rng.randint(15, 60)).split(" ")[: self.rng.randint(1, 9)]
        short = " ".join(words)[:70]
        return self._in_capitals(short, 0.15)

    def _in_capitals(self, text: str, share: float) -> str:
        """In training; the evaluation's pages stay what they have always been."""
        return text.upper() if not self.held_out and self.rng.random() < share else text

    def _numbered(self, text: str) -> str:
        if self.rng.random() < 0.3:
            return f"{self.rng.randint(1, 12)}.{self.rng.randint(1, 9)} {text}"
        return text

    def _align(self) -> str:
        return self.rng.choice(["", "", "text-align:center;", "text-align:right;"])

"""Fonts to typeset with: found through fontconfig, checked for the characters they draw.

A font that lacks a character draws an empty box without a word, and the label would be wrong; so
every text is checked against the font's own character map before it is set.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pymupdf

HELD_OUT_FAMILIES = ("vollkorn", "tribun", "clear sans", "essays1743", "compagnon")
"""Never trained on: the evaluation's unseen fonts."""

_USUAL = (
    *("liberation", "nimbus", "tex gyre", "latin modern", "cmu", "c059", "p052", "urw bookman"),
    *("stix", "freeserif", "freesans", "dejavu", "carlito", "caladea", "roboto", "open sans"),
    *("lato", "inter", "eb garamond", "libertine", "old standard", "century", "gentium", "charis"),
    *("pt serif", "pt sans", "courier prime", "arimo", "tinos", "cousine", "noto sans"),
    *("noto serif", "source sans", "source serif", "crimson", "libre baskerville", "merriweather"),
)
"""Families, and their clones, that most documents and old prints are set in."""

_UNSUITABLE = (
    *("math", "symbol", "emoji", "dingbat", "initial", "d050", "keyboard", "z003", "chancery"),
    *("outline", "dunhill", "upright italic", "unslanted", "tamil", "jazz", "variable", "black"),
    *("hairline", "thin", "extralight", "funny", "sc italic", "smallcaps", "caps", "swash"),
)
_MONOSPACED = ("mono", "typewriter", "cursor", "courier", "hack", "inconsolata", "anonymous")


@dataclass(frozen=True)
class Face:
    """One font file."""

    path: str
    family: str
    style: str

    @property
    def is_monospaced(self) -> bool:
        return any(word in self.family.lower() for word in _MONOSPACED)

    @property
    def is_upright(self) -> bool:
        return not any(w in self.style.lower() for w in ("italic", "oblique", "slanted"))

    @property
    def is_bold(self) -> bool:
        return any(word in self.style.lower() for word in ("bold", "heavy", "black"))

    def draws(self, text: str) -> bool:
        """Whether the font has a glyph of its own for every character of `text`."""
        return set(text) - {" ", "\n", "\t"} <= character_map(self.path)


@cache
def character_map(path: str) -> frozenset[str]:
    return frozenset(map(chr, pymupdf.Font(fontfile=path).valid_codepoints()))


@cache
def installed_faces() -> tuple[Face, ...]:
    """Every installed text face that draws printable ASCII, in a fixed order."""
    listing = subprocess.run(
        ["fc-list", "--format", "%{file}\t%{family[0]}\t%{style[0]}\n"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    faces = {Face(*line.split("\t")) for line in listing.splitlines() if line.count("\t") == 2}
    return tuple(sorted(filter(_is_text_face, faces), key=lambda face: face.path))


def _is_text_face(face: Face) -> bool:
    name = f"{face.family} {face.style} {Path(face.path).stem}".lower()
    if not face.path.lower().endswith((".ttf", ".otf")) or any(w in name for w in _UNSUITABLE):
        return False
    return face.draws("".join(map(chr, range(33, 127))))


def is_held_out(face: Face) -> bool:
    return any(name in face.family.lower() for name in HELD_OUT_FAMILIES)


def is_usual(face: Face) -> bool:
    return face.family.lower().startswith(_USUAL)


def training_faces() -> tuple[Face, ...]:
    return tuple(face for face in installed_faces() if not is_held_out(face))


def held_out_faces() -> tuple[Face, ...]:
    return tuple(face for face in installed_faces() if is_held_out(face))

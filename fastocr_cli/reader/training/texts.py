"""Text to set on synthetic pages, and text without a language prior.

Sources are documentation and quotation files installed from Debian packages; the split of the
English ones into training and held-out is by file, so that "unseen text" means unseen files.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import random
import re
import string
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCES = (
    "/usr/share/games/fortunes/*",
    "/usr/share/doc/python3.11/html/_sources/**/*.txt",
    "/usr/share/doc/git/**/*.txt",
    "/usr/share/doc/git/**/*.adoc",
    "/usr/share/doc/postgresql-doc-15/html/*.html",
    "/usr/share/doc/jargon-text/*",
    "/usr/share/doc/miscfiles/**/*",
)
SOURCES_ABROAD = (
    "/usr/share/games/fortunes/de/*",
    "/usr/share/games/fortunes/es/*",
    "/usr/share/debian-reference/*.[defip][erst].html",
    "/usr/share/doc/debian/FAQ/*.??.txt.gz",
)
"""German, French, Spanish, Italian, Portuguese and Dutch, for their accents stand on all sorts of
letters; to train on only, and none needs to be there."""
_OFFENSIVE = ("men-women", "ethnic", "drugs", "politics", "art", "ascii-art", "sex", "racism")
_HELD_OUT_PERCENT = 4


def is_held_out(path: str) -> bool:
    """Whether a file belongs to the evaluation: decided by its name, so it never changes."""
    digest = hashlib.sha256(Path(path).name.encode()).digest()
    return digest[0] % 100 < _HELD_OUT_PERCENT


@cache
def paragraphs(held_out: bool) -> tuple[str, ...]:
    """Distinct paragraphs of 30 to 1,500 characters."""
    found: dict[str, None] = {}
    for pattern in SOURCES:
        for path in sorted(Path("/").glob(pattern.lstrip("/"))):
            if (
                path.is_file()
                and path.name not in _OFFENSIVE
                and is_held_out(path.name) == held_out
            ):
                found.update(dict.fromkeys(_paragraphs_of(path)))
    if not found:
        raise FileNotFoundError(f"no text under any of {', '.join(SOURCES)}")
    return tuple(found)


@cache
def paragraphs_abroad() -> tuple[str, ...]:
    """The same in other languages than English."""
    paths = (path for one in SOURCES_ABROAD for path in sorted(Path("/").glob(one.lstrip("/"))))
    found = (text for path in paths if path.is_file() for text in _paragraphs_of(path))
    return tuple(dict.fromkeys(found))


def _paragraphs_of(path: Path) -> Iterator[str]:
    if path.suffix in (".dat", ".u8"):
        return
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = raw.decode("utf-8", errors="ignore")
    if path.suffix == ".html":
        text = html.unescape(re.sub(r"<(p|h\d|li|td|dt|dd|pre)\b[^>]*>", "\n\n", text))
        text = re.sub(r"<[^>]+>", "", text)
    for block in re.split(r"\n\s*\n|\n%\n", text):
        paragraph = re.sub(r"\s+", " ", block).strip()
        if 30 < len(paragraph) < 1500 and _is_prose(paragraph):
            yield paragraph


def _is_prose(paragraph: str) -> bool:
    letters = sum(c.isalpha() or c == " " for c in paragraph)
    return letters > 0.75 * len(paragraph) and not re.search(r"(.)\1{4,}", paragraph)


@cache
def words() -> tuple[str, ...]:
    return tuple(Path("/usr/share/dict/words").read_text(encoding="utf-8").split())


_ACCENTED = "áàâäãåæçéèêëíìîïñóòôöõøœúùûüýÿßÁÀÂÄÅÆÇÉÈÊËÍÎÏÑÓÒÔÖØŒÚÙÛÜŠšŽž"
_SIGNS = "£€¥$¢§¶©®™°±×÷½¼¾²³µ•…†‡«»¿¡–—“”‘’ªº·¬¦"


def code_word(rng: random.Random) -> str:
    """A word no language model can foresee: a code, a number, a name with accents, signs."""
    kind = rng.random()
    if kind < 0.30:
        length = rng.randint(1, 10)
        return "".join(rng.choices(string.ascii_letters + string.digits, k=length))
    if kind < 0.60:
        return _number(rng)
    if kind < 0.70:
        return "".join(rng.choices(string.punctuation, k=rng.randint(1, 3)))
    if kind < 0.80:
        word = list(rng.choice(words()))
        word[rng.randrange(len(word))] = rng.choice(_ACCENTED)
        return "".join(word)
    if kind < 0.87:
        return rng.choice(_SIGNS) + (_number(rng) if rng.random() < 0.5 else "")
    return rng.choice(words()).upper()


_NUMBER_PATTERNS = (
    *("{0}", "{0}", "{1:.2f}", "${1:.2f}", "€{1:.2f}", "£{2:,.2f}", "{3}%", "({0})", "#{0}"),
    *("{3}.{4}", "{3}/{4}/20{5:02d}", "20{5:02d}-{4:02d}-{3:02d}", "+{0}", "-{1:.1f}", "{2:,}"),
)


def _number(rng: random.Random) -> str:
    pattern = rng.choice(_NUMBER_PATTERNS)
    return pattern.format(
        rng.randint(0, 10 ** rng.randint(1, 7)),
        rng.random() * 10 ** rng.randint(0, 4),
        rng.randint(1000, 9_999_999),
        rng.randint(0, 99),
        rng.randint(1, 12),
        rng.randint(0, 40),
    )


def _letters(*ranges: tuple[int, int]) -> str:
    return "".join(chr(i) for first, last in ranges for i in range(first, last + 1))


OTHER_SCRIPTS = {
    "Cyrillic": _letters((0x410, 0x44F), (0x430, 0x44F)),
    "Greek": _letters((0x391, 0x3A1), (0x3B1, 0x3C9), (0x3B1, 0x3C9)),
    "Hebrew": _letters((0x5D0, 0x5EA)),
    "Armenian": _letters((0x531, 0x556), (0x561, 0x586)),
    "Georgian": _letters((0x10D0, 0x10F0)),
    "Thai": _letters((0xE01, 0xE2E)),
    "Devanagari": _letters((0x915, 0x928), (0x92A, 0x930)),
    "Hangul": _letters((0xAC00, 0xD7A3)),
    "Kana": _letters((0x3041, 0x3093), (0x30A1, 0x30F3)),
    "Han": _letters((0x4E00, 0x9FA5)),
}
"""Letters of scripts the reader is not for, and must tell from its own."""
_UNSPACED = ("Kana", "Han", "Thai")


def in_other_script(rng: random.Random, script: str, length: int) -> str:
    """About `length` characters of words in one of `OTHER_SCRIPTS`, with our own punctuation."""
    longest = 30 if script in _UNSPACED else 10
    pieces: list[str] = []
    while sum(map(len, pieces)) < length:
        word = "".join(rng.choices(OTHER_SCRIPTS[script], k=rng.randint(1, longest)))
        pieces.append(word + (rng.choice(",.;:!?") if rng.random() < 0.1 else ""))
    return " ".join(pieces)


def unpredictable(rng: random.Random, length: int) -> str:
    """About `length` characters of codes, numbers and shuffled words."""
    share_of_codes = rng.choice([0.2, 0.5, 0.9])
    pieces: list[str] = []
    total = 0
    while total < length:
        word = code_word(rng) if rng.random() < share_of_codes else rng.choice(words())
        if rng.random() < 0.12:
            word += rng.choice(",.;:!?")
        pieces.append(word)
        total += len(word) + 1
    return " ".join(pieces)


_ABROAD_SHARE = 0.2
"""Passages in other languages than English."""
PROGRAMS = Path(random.__file__).parent
"""The standard library: code as people write it, with its quotes and brackets."""
_CODE_WIDTH = 50
_STUTTERED_SHARE, _STUTTERED = 0.25, 0.07
"""Passages in which characters are repeated at random, so that ll is told from l by its ink alone;
and the share of their characters that are."""


def passage(rng: random.Random, length: int, *, held_out: bool) -> str:
    """About `length` characters of prose, with typographic quotes and dashes half of the time."""
    source = paragraphs(held_out)
    if not held_out and rng.random() < _ABROAD_SHARE:
        source = paragraphs_abroad() or source
    text = rng.choice(source)
    while len(text) < length:
        text += " " + rng.choice(source)
    if len(text) > length:
        cut = text.find(" ", length)
        text = text[:cut] if cut > 0 else text
    if not held_out and rng.random() < _STUTTERED_SHARE:
        text = _stuttered(rng, text)
    return typographic(text) if rng.random() < 0.5 else text


@cache
def _programs() -> tuple[Path, ...]:
    return tuple(sorted(PROGRAMS.glob("*.py")))


def program(rng: random.Random, lines: int) -> str:
    """So many lines of a program that follow each other, cut where a column of text may end."""
    source = rng.choice(_programs()).read_text(encoding="utf-8").expandtabs(8).split("\n")
    first = rng.randrange(max(1, len(source) - lines))
    some = textwrap.dedent("\n".join(source[first : first + lines])).strip("\n")
    return "\n".join(line[:_CODE_WIDTH].rstrip() for line in some.split("\n"))


def _stuttered(rng: random.Random, text: str) -> str:
    """Some letters and digits written twice or more where no word has them twice."""
    pieces = []
    for c in text:
        is_repeated = c.isalnum() and rng.random() < _STUTTERED
        pieces.append(c * rng.choice((2, 2, 3, 4)) if is_repeated else c)
    return "".join(pieces)


def typographic(text: str) -> str:
    text = re.sub(r'(^|[\s(\[])"', r"\1“", text).replace('"', "”")
    text = re.sub(r"(^|[\s(\[])'", r"\1‘", text).replace("'", "’")
    return text.replace(" -- ", " — ").replace("--", "–").replace("...", "…")

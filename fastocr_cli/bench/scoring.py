"""How a text is scored against the truth: one normalisation, two figures.

Before comparison: NFKC, straight quotes, one kind of dash, line-end hyphens joined, HTML tables as
pipes, Markdown marks removed, entities spelt out, white space folded to one space.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from html import unescape

from rapidfuzz.distance import Levenshtein

from fastocr_cli.text.tables import find_tables, parse_html_table

_QUOTES = str.maketrans({"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "`": "'"})
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_HYPHEN_AT_LINE_END = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad][ \t]*\n[ \t]*(?=[^\W\d_])")
_MARKS = re.compile(
    r"^[ \t]{0,3}#{1,6}[ \t]+"  # headings
    r"|^[ \t]*[-*+•·][ \t]+"  # list items
    r"|^[ \t]*>[ \t]?"  # quotations
    r"|^[ \t]*```.*$"  # fences
    r"|^[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$"  # rules, table rules
    r"|\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)"  # emphasis
    r"|\\?\|"  # table bars
    r"|<br\s*/?>",
    re.MULTILINE | re.IGNORECASE,
)
_ESCAPES = re.compile(r"\\([\\`*_{}\[\]()#+\-.!<>~$&])")
_PRIVATE = 0xE000
_PROTECTED = re.compile("[\ue000-\ue07f]")


def normalise(text: str) -> str:
    """The text as it is compared."""
    text = text.replace("\r\n", "\n")
    text = _tables_as_pipes(_HYPHEN_AT_LINE_END.sub("", text))
    text = _ESCAPES.sub(lambda match: chr(_PRIVATE + ord(match[1])), text)  # safe from _MARKS
    text = unescape(_MARKS.sub(" ", text))
    text = _PROTECTED.sub(lambda match: chr(ord(match[0]) - _PRIVATE), text)
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES).translate(_DASHES)
    return " ".join(text.split())


def _tables_as_pipes(text: str) -> str:
    """Models write the same table in either spelling."""
    parts, done = [], 0
    for start, end in find_tables(text):
        if table := parse_html_table(text[start:end]):
            parts += [text[done:start], table.caption, table.to_pipes()]
            done = end
    return "\n".join([*parts, text[done:]])


def character_error_rate(read: str, truth: str) -> float:
    """Edit distance over the length of the truth, both normalised; 0.0 if both are empty."""
    a, b = normalise(read), normalise(truth)
    if not b:
        return float(bool(a))
    return Levenshtein.distance(a, b) / len(b)


def word_recall(read: str, truth: str) -> float:
    """Share of the truth's words found in what was read, as a multiset; 1.0 without words."""
    wanted = Counter(normalise(truth).split())
    found = Counter(normalise(read).split())
    total = wanted.total()
    return (wanted & found).total() / total if total else 1.0

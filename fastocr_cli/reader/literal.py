"""What was printed, written so that Markdown shows it: no character of a page is syntax.

Escapes only what a CommonMark renderer would take for a mark where it stands: `snake_case`, "a * b"
and a blank of underscores in a form stay as they are.
"""

from __future__ import annotations

import re

_INLINE = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])"  # would escape what follows
    r"|`"
    r"|(?<!\S)[*~]+(?=\S)|(?<=\S)[*~]+"  # emphasis; with space on both sides they are plain
    r"|(?<![^\W_])_+(?=[^\s_])|(?<=[^\s_])_+(?![^\W_])"  # within a word underscores are plain, too
    r"|\](?=\()"  # a link
    r"|&(?=#?\w+;)"  # an entity
    r"|(?<=\s)#(?=#*$)"  # the end of a heading
)
_START = re.compile(
    r"(?:#{1,6}|[*+-])(?=\s|$)|>|~~~|\|"  # heading, item, quotation, fence, row
    r"|([-=_*])(?=(?:\1|\s)*$)"  # a rule, or what underlines a heading
    r"|(?P<number>\d{4,9}(?=[.)]\s)|\d{1,9}(?=[.)]$))"  # no item of a list; items keep theirs
)


def literal(text: str) -> str:
    """Text of a line, for anywhere but its beginning."""
    return _INLINE.sub(lambda run: "".join(f"\\{mark}" for mark in run[0]), text)


def literal_line(text: str) -> str:
    """A whole line."""
    text = literal(text)
    if not (start := _START.match(text)):
        return text
    at = len(start["number"] or "")
    return f"{text[:at]}\\{text[at:]}"

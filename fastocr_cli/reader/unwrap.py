"""From the reader's lines to Markdown: unwrap paragraphs, join hyphens, rule tables, fence code.

The reader writes one line for each line of the page, so that every line can be traced to its
place. Readers of Markdown want paragraphs. Everything here is rule, nothing is guessed from
meaning: no dictionary decides whether a hyphen stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fastocr_cli.reader.vocabulary import NUMBERED

_HYPHENATED = re.compile(r"[^\W\d_]-$")
_ENTRY = re.compile(r"\.( ?\.){3,} ?[\divxlc]+$")
"""How an entry of a table of contents ends: dots lead to the number of its page."""


def unwrap(text: str) -> str:
    """Markdown of the reader's raw text (see `vocabulary.detokenize`)."""
    blocks = (block for block in text.split("\n\n") if block.strip("\n"))
    return "\n\n".join(map(_unwrap_block, blocks))


def _unwrap_block(block: str) -> str:
    lines = block.strip("\n").split("\n")
    if lines[0].startswith("| "):
        return "\n".join(_table(lines))
    if all(line.startswith("    ") for line in lines):
        return "\n".join(["```", *(line[4:] for line in lines), "```"])
    return "\n\n".join("\n".join(_joined(entry)) for entry in _entries(lines))


def _entries(lines: list[str]) -> Iterator[list[str]]:
    """Lines parted behind each that ends an entry of a table of contents."""
    first = 0
    for stop, line in enumerate(lines, start=1):
        if stop == len(lines) or _ENTRY.search(line):
            yield lines[first:stop]
            first = stop


def _joined(lines: list[str]) -> Iterator[str]:
    """Lines that go on with the one above joined to it; list items begin lines of their own."""
    current = lines[0]
    is_list = _begins_item(current)
    for line in lines[1:]:
        if is_list and _begins_item(line):
            yield current
            current = line
        else:
            current = join(current, line)
    yield current


def _begins_item(line: str) -> bool:
    text = line.lstrip(" ")
    return text.startswith("- ") or NUMBERED.match(text) is not None


def join(first: str, second: str) -> str:
    """Two lines of one paragraph; a word parted by a hyphen before a small letter is mended."""
    if _HYPHENATED.search(first) and second[:1].islower():
        return first[:-1] + second
    return f"{first} {second}"


def _table(lines: list[str]) -> Iterator[str]:
    """Rows of one table with the rule below the first, all as wide as the widest."""
    rows = [line for line in lines if line.startswith("| ")]
    width = max(row.count(" | ") for row in rows) + 1
    for i, row in enumerate(rows):
        missing = width - 1 - row.count(" | ")
        yield row + "  |" * missing
        if i == 0:
            yield "| " + " | ".join(["---"] * width) + " |"
    yield from (line for line in lines if not line.startswith("| "))

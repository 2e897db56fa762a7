"""Where on the page, and how surely, each block was read: blocks traced back to the tokens.

Needs to know which characters a token wrote, which is plain where a token is a character (the
embedded reader); for other models blocks stay without a place rather than get a guessed one.
Knows text and boxes; nothing of models or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fastocr_cli.results import Block, Box, PageReading


def place_blocks(blocks: Sequence[Block], reading: PageReading | None) -> tuple[Block, ...]:
    """The blocks with the box around the places of their tokens, where both are known."""
    if reading is None or len(reading.places) != len(reading.text):
        return tuple(blocks)
    spans = find_spans([block.text for block in blocks], reading.text)
    return tuple(
        replace(block, box=surrounding(reading.places[span])) if span else block
        for block, span in zip(blocks, spans, strict=True)
    )


def find_spans(pieces: Sequence[str], text: str) -> list[slice | None]:
    """Where each piece stands in `text`, searched in order by letters and digits alone.

    Markdown rules move spaces, hyphens and marks; letters and digits stay as they were read.
    """
    offsets = [offset for offset, character in enumerate(text) if character.isalnum()]
    letters = "".join(text[offset] for offset in offsets)
    spans: list[slice | None] = []
    cursor = 0
    for piece in pieces:
        wanted = "".join(filter(str.isalnum, piece))
        start = letters.find(wanted, cursor) if wanted else -1
        if start < 0:
            spans.append(None)
            continue
        cursor = start + len(wanted)
        spans.append(slice(offsets[start], offsets[cursor - 1] + 1))
    return spans


def surrounding(boxes: Sequence[Box | None]) -> Box | None:
    """The smallest box around all known ones."""
    known = [box for box in boxes if box is not None]
    if not known:
        return None
    left, top, right, bottom = zip(*known, strict=True)
    return min(left), min(top), max(right), max(bottom)

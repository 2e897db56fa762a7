"""From a block of text back to the tokens that wrote it: where it stands, and how sure the model
was.

Needs to know what each token wrote (`PageReading.pieces`); without that, blocks stay without box
and confidence rather than get guessed ones. Knows text, boxes and probabilities; nothing of models
or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fastocr_cli.results import Block, Box, PageReading
from fastocr_cli.text.confidence import confidence_of


def trace_blocks(blocks: Sequence[Block], reading: PageReading | None) -> tuple[Block, ...]:
    """The blocks with the box around their tokens and those tokens' mean probability."""
    if reading is None or len(reading.pieces) != len(reading.token_ids):
        return tuple(blocks)
    spans = find_spans([block.text for block in blocks], reading.pieces)
    return tuple(
        _traced(block, reading, span) if span else block
        for block, span in zip(blocks, spans, strict=True)
    )


def find_spans(texts: Sequence[str], pieces: Sequence[str]) -> list[slice | None]:
    """The tokens that wrote each text, searched in order by letters and digits alone.

    Markdown rules move spaces, hyphens and marks; letters and digits stay as they were read. After
    a text that is not found nobody knows how far it went, so until the place is sure again only
    what is written once from there on is taken for found.
    """
    writers = [token for token, piece in enumerate(pieces) for c in piece if c.isalnum()]
    letters = _letters("".join(pieces))
    spans: list[slice | None] = []
    cursor, is_sure = 0, True
    for text in texts:
        wanted = _letters(text)
        if not wanted:
            spans.append(None)
            continue
        start = letters.find(wanted, cursor)
        is_sure = start >= 0 and (is_sure or letters.find(wanted, start + 1) < 0)
        if not is_sure:
            spans.append(None)
            continue
        cursor = start + len(wanted)
        spans.append(slice(writers[start], writers[cursor - 1] + 1))
    return spans


def surrounding(boxes: Sequence[Box | None]) -> Box | None:
    """The smallest box around all known ones."""
    known = [box for box in boxes if box is not None]
    if not known:
        return None
    left, top, right, bottom = zip(*known, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _traced(block: Block, reading: PageReading, span: slice) -> Block:
    confidence = confidence_of(reading.logprobs[span])
    return replace(
        block,
        box=surrounding(reading.places[span]),
        confidence=confidence.mean if confidence else None,
    )

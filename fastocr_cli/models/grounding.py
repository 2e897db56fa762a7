"""The places that the DeepSeek-OCR line writes into its text: reading them, taking them out.

Knows text and token ids; knows no model. Version 1 and 2 write a reference and boxes before each
block (`<|ref|>title<|/ref|><|det|>[[x0, y0, x1, y1]]<|/det|>`), Unlimited-OCR the block's type and
box (`<|det|>title [x0, y0, x1, y1]<|/det|>`). Coordinates count from 0 to 999 on the page. They
are model output, so they are parsed as integers and never evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from fastocr_cli.results import Box

OPEN, CLOSE = "<|det|>", "<|/det|>"
LARGEST = 999

_REFERENCE = re.compile(r"<\|ref\|>.*?<\|/ref\|>(?:<\|det\|>.*?<\|/det\|>)?\s*", re.DOTALL)
_TYPED = re.compile(r"<\|det\|>\s*([^\s\[<]*)[^<]*<\|/det\|>", re.DOTALL)
_LOOSE = re.compile(r"<\|/?(?:ref|det|grounding)\|>|<PAGE>")
_NUMBER = re.compile(r"\d+")


def without_references(text: str) -> str:
    """Version 1 and 2: the text between references, which is Markdown already."""
    return _tidy(_LOOSE.sub("", _REFERENCE.sub("", text)))


def without_types(text: str) -> str:
    """Unlimited-OCR: blocks with a blank line between them, titles marked as headings."""
    pieces = _TYPED.split(text)
    blocks = [pieces[0]]
    for kind, body in zip(pieces[1::2], pieces[2::2], strict=True):
        body = body.strip()
        is_bare_title = kind == "title" and body and not body.startswith("#")
        blocks.append("# " + " ".join(body.split()) if is_bare_title else body)
    return _tidy(_LOOSE.sub("", "\n\n".join(block for block in blocks if block.strip())))


def _tidy(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def places(
    token_ids: Sequence[int], open_id: int, close_id: int, decode: Callable[[Sequence[int]], str]
) -> list[Box | None]:
    """Per token the last box written before it; None for the box's own tokens and before any."""
    found: list[Box | None] = []
    box: Box | None = None
    pending: list[int] | None = None
    for token in token_ids:
        if token == open_id:
            pending = []
        elif token == close_id and pending is not None:
            box, pending = union(decode(pending)), None
            found.append(None)
            continue
        elif pending is not None:
            pending.append(token)
        found.append(None if pending is not None else box)
    return found


def union(text: str) -> Box | None:
    """The box around all boxes named in `text`, as shares of the page; None without a full one."""
    numbers = [min(int(number), LARGEST) / LARGEST for number in _NUMBER.findall(text)]
    corners = numbers[: len(numbers) // 4 * 4]
    if not corners:
        return None
    xs, ys = list(corners[0::2]), list(corners[1::2])
    return min(xs), min(ys), max(xs), max(ys)


def mark_ids(vocabulary: Mapping[str, int]) -> tuple[int, int] | None:
    """The ids that open and close a place, or None where the tokenizer has none."""
    if OPEN not in vocabulary or CLOSE not in vocabulary:
        return None
    return vocabulary[OPEN], vocabulary[CLOSE]

"""The values that flow from inputs to writers: small, frozen, with their units in their names.

Knows numpy only. Nothing here reads files, runs a model or formats text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 as shares of the page's width and height; the origin is the top left corner."""


class PageStatus(StrEnum):
    """How a page ended. Only OK, RETRIED and BLANK carry a complete text."""

    OK = "ok"
    RETRIED = "retried"
    BLANK = "blank"
    TRUNCATED = "truncated"
    LOOPED = "looped"
    FAILED = "failed"

    @property
    def is_complete(self) -> bool:
        return self in (PageStatus.OK, PageStatus.RETRIED, PageStatus.BLANK)


@dataclass(frozen=True, slots=True)
class PageImage:
    """One rasterised page.

    pixels: uint8 [height, width, 3], RGB on white.
    number: the page's number in its document, from 1.
    dpi: pixels per inch of this raster.
    source: the path as the user gave it, or "-".
    """

    pixels: npt.NDArray[np.uint8]
    number: int
    dpi: float
    source: str
    warnings: tuple[str, ...] = ()

    @property
    def width_px(self) -> int:
        return int(self.pixels.shape[1])

    @property
    def height_px(self) -> int:
        return int(self.pixels.shape[0])

    @property
    def size_pt(self) -> tuple[float, float]:
        """Width and height in points (1/72 inch)."""
        return self.width_px * 72 / self.dpi, self.height_px * 72 / self.dpi


@dataclass(frozen=True, slots=True)
class PageStats:
    """What reading one page took.

    Times are wall-clock milliseconds; a page that shared its steps with others in a batch is
    charged its share of each step, and one that was read again the time of every attempt; all else
    is of the attempt that was kept. The three retention figures are shares of the page's visual
    tokens (or of the K and V bytes dense attention to the whole prompt would have read) over all
    decode steps.
    """

    visual_tokens: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0
    decode_steps: int = 0
    keep_sparse_layers: float = 1.0
    keep_all_layers: float = 1.0
    kv_bytes_read: int = 0
    kv_bytes_dense: int = 0
    prepare_ms: float = 0.0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0
    attention_ms: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kv_share(self) -> float:
        """KV bytes read relative to dense attention."""
        return self.kv_bytes_read / self.kv_bytes_dense if self.kv_bytes_dense else 1.0

    @property
    def tokens_per_second(self) -> float:
        return 1000 * self.generated_tokens / self.decode_ms if self.decode_ms else 0.0


@dataclass(frozen=True, slots=True)
class PageReading:
    """What the model read on one page.

    text: the model's own text, special tokens removed, before any Markdown rule.
    token_ids, logprobs: one entry per generated token, stop token left out.
    places: per token, where on the page it was read, or None where that is not known.
    pieces: per token, the characters it wrote, "" for none; empty where the adapter cannot say.
    warnings: what of the page is missing from the text, in words for people.
    """

    text: str
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    status: PageStatus
    stats: PageStats
    places: tuple[Box | None, ...] = ()
    pieces: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class BlockType(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"
    FORMULA = "formula"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page in reading order; `text` is plain text without Markdown marks.

    level: heading level 1 to 6, or nesting depth of a list item, from 1; 0 elsewhere.
    rows: the cells of a table, first row first; empty elsewhere.
    box: where the block stands on the page, if known.
    confidence: mean probability of the tokens that wrote it, if known.
    """

    type: BlockType
    text: str
    markdown: str
    level: int = 0
    rows: tuple[tuple[str, ...], ...] = ()
    box: Box | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class PageResult:
    """One page as it leaves the pipeline, ready for any writer.

    width_px, height_px, dpi: of its raster; 0 for a page that could not be drawn.
    """

    source: str
    number: int
    status: PageStatus
    markdown: str
    width_px: int
    height_px: int
    dpi: float
    reading: PageReading | None = None
    warnings: tuple[str, ...] = ()

    @property
    def stats(self) -> PageStats:
        return self.reading.stats if self.reading else PageStats()

    @property
    def size_pt(self) -> tuple[float, float]:
        """Width and height in points (1/72 inch); 0 for a page that could not be drawn."""
        if self.dpi <= 0:
            return 0.0, 0.0
        return self.width_px * 72 / self.dpi, self.height_px * 72 / self.dpi

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The page's blocks in reading order, derived from its Markdown."""
        from fastocr_cli.text.blocks import split_blocks
        from fastocr_cli.text.tracing import trace_blocks

        return trace_blocks(split_blocks(self.markdown), self.reading)

"""Pages as plain JSON values: the one place that knows the names and units of our JSON.

Described by `fastocr_cli/schemas/`, which promises additive changes only within a
`schema_version`. Knows nothing of files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from fastocr_cli.inputs.documents import storable
from fastocr_cli.results import Block, Box, PageReading, PageResult, PageStats
from fastocr_cli.text.confidence import confidence_of
from fastocr_cli.text.markup import clean_text
from fastocr_cli.text.neutral import neutralise
from fastocr_cli.version import __version__
from fastocr_cli.writers.base import Provenance, Totals

SCHEMA_VERSION = "1"


def document_record(provenance: Provenance) -> dict[str, Any]:
    """What stands before the pages of a document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fastocr", "version": __version__},
        "source": storable(provenance.source),
        "model": {"name": provenance.model, "revision": provenance.revision},
        "settings": plain(provenance.settings),
    }


def page_record(page: PageResult) -> dict[str, Any]:
    """One page, its blocks in reading order."""
    width_pt, height_pt = page.size_pt
    return {
        "number": page.number,
        "status": str(page.status),
        "size": {
            "width_px": page.width_px,
            "height_px": page.height_px,
            "width_pt": round(width_pt, 2),
            "height_pt": round(height_pt, 2),
        },
        "dpi": round(page.dpi, 2),
        "blocks": [_block_record(block, (width_pt, height_pt)) for block in page.blocks],
        "markdown": neutralise(page.markdown),
        "confidence": _confidence_record(page.reading),
        "stats": _stats_record(page.stats),
        "warnings": [clean_text(warning) for warning in page.warnings],
    }


def totals_record(totals: Totals) -> dict[str, Any]:
    return {
        "pages": totals.pages,
        "statuses": {str(status): count for status, count in totals.statuses.items()},
        "visual_tokens": totals.visual_tokens,
        "generated_tokens": totals.generated_tokens,
        "keep_sparse_layers": round(totals.keep_sparse_layers, 4),
        "keep_all_layers": round(totals.keep_all_layers, 4),
        "kv_share": round(totals.kv_share, 4),
        "prepare_ms": round(totals.prepare_ms, 1),
        "prefill_ms": round(totals.prefill_ms, 1),
        "decode_ms": round(totals.decode_ms, 1),
    }


def plain(value: Any) -> Any:
    """`value` as something JSON can say; what it cannot becomes its text."""
    match value:
        case None | bool():
            return value
        case int() | np.integer():
            return int(value) if abs(int(value)) < 2**53 else str(value)
        case float() | np.floating():
            return float(value) if math.isfinite(value) else None
        case Mapping():
            return {clean_text(str(key)): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset() | np.ndarray():
            return [plain(item) for item in value]
        case PurePath():
            return storable(str(value))
        case _:
            return clean_text(str(value))


def _block_record(block: Block, size_pt: tuple[float, float]) -> dict[str, Any]:
    return {
        "type": str(block.type),
        "text": block.text,
        "level": block.level,
        "rows": [list(row) for row in block.rows],
        "markdown": block.markdown,
        "box": _box_record(block.box, size_pt),
        "confidence": None if block.confidence is None else round(block.confidence, 4),
    }


def _box_record(box: Box | None, size_pt: tuple[float, float]) -> dict[str, Any] | None:
    """Left, top, right, bottom from the page's top left corner."""
    if box is None:
        return None
    width, height = size_pt
    scales = (width, height, width, height)
    return {
        "points": [round(share * scale, 2) for share, scale in zip(box, scales, strict=True)],
        "normalised": [round(share, 5) for share in box],
    }


def _confidence_record(reading: PageReading | None) -> dict[str, Any] | None:
    confidence = confidence_of(reading.logprobs) if reading else None
    if reading is None or confidence is None:
        return None
    return {
        "mean": round(confidence.mean, 4),
        "worst_window": {
            "probability": round(confidence.worst_window, 4),
            "first_token": confidence.worst_start,
            "tokens": confidence.worst_tokens,
            "text": worst_text(reading),
        },
    }


def worst_text(reading: PageReading) -> str | None:
    """The text of the least sure window, or None where it is not known what a token wrote."""
    confidence = confidence_of(reading.logprobs)
    if confidence is None or len(reading.pieces) != len(reading.logprobs):
        return None
    start = confidence.worst_start
    return clean_text("".join(reading.pieces[start : start + confidence.worst_tokens]))


def _stats_record(stats: PageStats) -> dict[str, Any]:
    return {
        "visual_tokens": stats.visual_tokens,
        "prompt_tokens": stats.prompt_tokens,
        "generated_tokens": stats.generated_tokens,
        "keep_sparse_layers": round(stats.keep_sparse_layers, 4),
        "keep_all_layers": round(stats.keep_all_layers, 4),
        "kv_bytes_read": int(stats.kv_bytes_read),
        "kv_bytes_dense": int(stats.kv_bytes_dense),
        "kv_share": round(stats.kv_share, 4),
        "prepare_ms": round(stats.prepare_ms, 1),
        "prefill_ms": round(stats.prefill_ms, 1),
        "decode_ms": round(stats.decode_ms, 1),
        "attention_ms": round(stats.attention_ms, 1),
        "tokens_per_second": round(stats.tokens_per_second, 1),
        "extra": plain(stats.extra),
    }

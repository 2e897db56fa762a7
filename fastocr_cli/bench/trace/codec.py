"""A trace as JSON of numbers packed into base64, and back: small enough for one HTML file.

Indices are 16 or 32 bits, shares of the page and of attention 16 bits, little-endian; a page of
3,000 steps takes some 500 KB. `viewer.js` reads the same layout.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from fastocr_cli.bench.trace.trace import Trace

FULL = 65_535
UNKNOWN_SHARE = FULL
"""What stands for NaN; known shares end one below."""


def encode(trace: Trace) -> dict[str, Any]:
    """JSON-friendly; indices count from 1, 0 is unknown."""
    wide = len(trace.boxes) >= FULL
    return {
        "title": trace.title,
        "model": trace.model,
        "keep": trace.keep,
        "steps": trace.steps,
        "tokens": len(trace.boxes),
        "looks": int(trace.looked.shape[1]),
        "indexBits": 32 if wide else 16,
        "pieces": list(trace.pieces),
        "boxes": _pack(_from_shares(trace.boxes)),
        "looked": _pack((trace.looked + 1).astype("<u4" if wide else "<u2")),
        "shares": _pack(_from_shares(trace.shares)),
        "kept": _pack(_from_shares(trace.kept)),
        "mass": _pack(_from_shares(trace.mass)),
        "places": _pack(_from_shares(trace.places)),
    }


def decode(record: dict[str, Any]) -> Trace:
    """What `encode` was given, to within a 65,000th."""
    looks = record["looks"]
    index_type = "<u4" if record["indexBits"] == 32 else "<u2"
    return Trace(
        title=record["title"],
        model=record["model"],
        keep=record["keep"],
        pieces=tuple(record["pieces"]),
        boxes=_shares(record["boxes"]).reshape(-1, 4),
        looked=_unpack(record["looked"], index_type).astype(np.int32).reshape(-1, looks) - 1,
        shares=_shares(record["shares"]).reshape(-1, looks),
        kept=_shares(record["kept"]),
        mass=_shares(record["mass"]),
        places=_shares(record["places"]).reshape(-1, 4),
    )


def _from_shares(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    scaled = np.rint(np.clip(np.nan_to_num(values), 0, 1) * (FULL - 1))
    return np.where(np.isnan(values), UNKNOWN_SHARE, scaled).astype("<u2")


def _shares(text: str) -> npt.NDArray[np.float32]:
    values = _unpack(text, "<u2")
    shares = values.astype(np.float32) / (FULL - 1)
    return np.where(values == UNKNOWN_SHARE, np.float32("nan"), shares).astype(np.float32)


def _pack(values: npt.NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def _unpack(text: str, type_: str) -> npt.NDArray[Any]:
    return np.frombuffer(base64.b64decode(text), type_)

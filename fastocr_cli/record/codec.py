"""PageResult to plain JSON values and back, without loss.

Long sequences of numbers (log-probabilities, places) are packed as compressed 64-bit floats:
exact, and a fraction of their size as text.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from fastocr_cli.results import Box, PageReading, PageResult, PageStats, PageStatus


def encode_result(result: PageResult) -> dict[str, Any]:
    return {
        "source": result.source,
        "number": result.number,
        "status": result.status,
        "markdown": result.markdown,
        "width_px": result.width_px,
        "height_px": result.height_px,
        "dpi": result.dpi,
        "reading": _encode_reading(result.reading) if result.reading else None,
        "warnings": list(result.warnings),
    }


def decode_result(values: dict[str, Any]) -> PageResult:
    reading = values["reading"]
    return PageResult(
        **{
            **values,
            "status": PageStatus(values["status"]),
            "reading": _decode_reading(reading) if reading else None,
            "warnings": tuple(values["warnings"]),
        }
    )


def _encode_reading(reading: PageReading) -> dict[str, Any]:
    return {
        "text": reading.text,
        "token_ids": list(reading.token_ids),
        "logprobs": _pack(np.array(reading.logprobs, dtype=np.float64)),
        "status": reading.status,
        "stats": asdict(reading.stats),
        "places": _pack(_places_array(reading.places)),
        "pieces": list(reading.pieces),
        "warnings": list(reading.warnings),
    }


def _decode_reading(values: dict[str, Any]) -> PageReading:
    return PageReading(
        text=values["text"],
        token_ids=tuple(values["token_ids"]),
        logprobs=tuple(_unpack(values["logprobs"]).tolist()),
        status=PageStatus(values["status"]),
        stats=PageStats(**values["stats"]),
        places=_places_tuple(_unpack(values["places"]).reshape(-1, 4)),
        pieces=tuple(values["pieces"]),
        warnings=tuple(values["warnings"]),
    )


def _places_array(places: tuple[Box | None, ...]) -> npt.NDArray[np.float64]:
    """[tokens, 4]; a token without a place is a row of NaN."""
    unknown = (float("nan"),) * 4
    return np.array([place or unknown for place in places], dtype=np.float64)


def _places_tuple(array: npt.NDArray[np.float64]) -> tuple[Box | None, ...]:
    return tuple(None if np.isnan(row[0]) else (*row.tolist(),) for row in array)


def _pack(array: npt.NDArray[np.float64]) -> str:
    return base64.b64encode(zlib.compress(array.astype("<f8").tobytes(), 1)).decode("ascii")


def _unpack(text: str) -> npt.NDArray[np.float64]:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<f8")

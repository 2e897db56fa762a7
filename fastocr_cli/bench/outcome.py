"""A finished bench as a record: what was measured, on what, and the rows; JSON and CSV of it."""

from __future__ import annotations

import csv
import io
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from fastocr_cli.bench.figures import Row
from fastocr_cli.bench.pages import BenchDocument
from fastocr_cli.bench.scoring import normalise
from fastocr_cli.models.base import ModelAdapter
from fastocr_cli.record.revision import revision_of
from fastocr_cli.version import __version__

SCHEMA_VERSION = "2"


@dataclass(frozen=True)
class Outcome:
    """rounds: how often every page was read. aided: whether the model's aids helped its decoder;
    None for a model without any. peak_memory_bytes: resident set of this process, or
    memory of the CUDA device; None where the system does not say."""

    model: str
    revision: str | None
    device: str
    dtype: str
    threads: int
    rounds: int
    batch_size: int
    aided: bool | None
    documents: tuple[BenchDocument, ...]
    rows: tuple[Row, ...]
    peak_memory_bytes: int | None

    @property
    def reads(self) -> str:
        """How the model read, to go behind its name."""
        if self.aided is None:
            return ""
        return " as parse reads" if self.aided else "'s decoder alone"

    @property
    def dense(self) -> Row:
        return next(row for row in self.rows if row.method == "dense")


def make_outcome(
    adapter: ModelAdapter,
    documents: Sequence[BenchDocument],
    rows: Sequence[Row],
    *,
    rounds: int,
    batch_size: int,
    aided: bool,
) -> Outcome:
    return Outcome(
        model=adapter.name,
        revision=revision_of(adapter),
        device=_device_name(adapter.device),
        dtype=str(adapter.dtype).removeprefix("torch."),
        threads=torch.get_num_threads(),
        rounds=rounds,
        batch_size=batch_size,
        aided=aided if adapter.has_aids else None,
        documents=tuple(documents),
        rows=tuple(rows),
        peak_memory_bytes=_peak_memory(adapter.device),
    )


def as_record(outcome: Outcome) -> dict[str, Any]:
    """What `--json` writes; `schemas/bench.schema.json` describes it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fastocr", "version": __version__},
        "model": {"name": outcome.model, "revision": outcome.revision},
        "machine": {
            "device": outcome.device,
            "dtype": outcome.dtype,
            "threads": outcome.threads,
            "platform": platform.platform(),
            "torch": torch.__version__,
        },
        "rounds": outcome.rounds,
        "batch_size": outcome.batch_size,
        "aided": outcome.aided,
        "peak_memory_bytes": outcome.peak_memory_bytes,
        "documents": [
            {
                "source": one.source,
                "pages": len(one.pages),
                "truth": one.truth.origin if one.truth else None,
                "characters": len(normalise(one.truth.text)) if one.truth else None,
            }
            for one in outcome.documents
        ],
        "rows": [asdict(row) for row in outcome.rows],
    }


def as_csv(outcome: Outcome) -> str:
    """The rows, nested values under joined names such as `times_whole_ms`."""
    lines = [_flat(asdict(row)) for row in outcome.rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(key for line in lines for key in line)))
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat |= {f"{key}_{name}": inner for name, inner in value.items()}
        elif not key.endswith("_speedup"):  # a quotient without a value has no columns of its own
            flat[key] = value
    return flat


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return f"{device} ({os.cpu_count()} cores)" if device.type == "cpu" else str(device)


def _peak_memory(device: torch.device) -> int | None:
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) * (1 if sys.platform == "darwin" else 1024)

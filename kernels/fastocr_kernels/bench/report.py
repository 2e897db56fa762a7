"""The samples of a case as rows of figures, as a plain table and as JSON."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import torch

from fastocr_kernels.bench.cases import Case
from fastocr_kernels.bench.timing import Samples, quantile
from fastocr_kernels.dispatch import explain


@dataclass(frozen=True)
class Row:
    """Figures of one contestant in one case.

    microseconds: per layer, median and the 20th and 80th percentile
    ratio:        time of `rival` over own time in the same round; median and the same percentiles
    floor:        share of the time that reading the needed keys and values at copy bandwidth
                  takes; None where nothing is read
    """

    case: str
    name: str
    microseconds: float
    microseconds_low: float
    microseconds_high: float
    rival: str
    ratio: float
    ratio_low: float
    ratio_high: float
    floor: float | None


def rows_of(case: Case, samples: Sequence[Samples], bandwidth: float) -> list[Row]:
    by_name = {one.contestant.name: one for one in samples}
    return [
        _row(case, one, by_name[one.contestant.rival].microseconds, bandwidth) for one in samples
    ]


def _row(case: Case, one: Samples, rival: list[float], bandwidth: float) -> Row:
    ratios = [other / own for other, own in zip(rival, one.microseconds, strict=True)]
    needed = one.contestant.bytes / one.contestant.layers / bandwidth * 1e6
    return Row(
        case=str(case),
        name=one.contestant.name,
        microseconds=one.middle,
        microseconds_low=quantile(one.microseconds, 0.2),
        microseconds_high=quantile(one.microseconds, 0.8),
        rival=one.contestant.rival,
        ratio=median(ratios),
        ratio_low=quantile(ratios, 0.2),
        ratio_high=quantile(ratios, 0.8),
        floor=needed / one.middle if one.contestant.bytes else None,
    )


def table(rows: Sequence[Row]) -> str:
    """The rows of one case for a terminal, 80 columns."""
    lines = [
        f"{'':18}{'us a layer':>11}{'spread':>16}{'times dense':>13}{'spread':>14}{'floor':>8}"
    ]
    for row in rows:
        spread = f"{row.microseconds_low:.0f}-{row.microseconds_high:.0f}"
        ratios = f"{row.ratio_low:.2f}-{row.ratio_high:.2f}"
        floor = "" if row.floor is None else f"{row.floor:.0%}"
        figures = f"{row.microseconds:11.1f}{spread:>16}{row.ratio:13.2f}{ratios:>14}{floor:>8}"
        lines.append(f"{row.name:18}{figures}")
    return "\n".join(lines)


def machine(device: torch.device, bandwidth: float) -> dict[str, Any]:
    """Where and with what the figures were taken."""
    is_gpu = device.type == "cuda"
    name = torch.cuda.get_device_name(device) if is_gpu else platform.processor()
    return {
        "device": device.type,
        "name": name or platform.machine(),
        "threads": None if is_gpu else torch.get_num_threads(),
        "torch": torch.__version__,
        "implementation": explain(device, torch.float16)[1],
        "copy_gigabytes_per_second": bandwidth / 1e9,
    }


def document(about: dict[str, Any], rows: Sequence[Row], skipped: Sequence[Case]) -> dict[str, Any]:
    return {
        "machine": about,
        "rows": [asdict(row) for row in rows],
        "skipped": [str(case) for case in skipped],
    }

"""The command: options, cases in order until the time is up, table on stdout, JSON in a file."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import torch

from fastocr_kernels.bench.cases import Case, cpu_cases, gpu_cases, make_data
from fastocr_kernels.bench.contestants import Arena
from fastocr_kernels.bench.report import Row, document, machine, rows_of, table
from fastocr_kernels.bench.timing import copy_bandwidth, measure


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m fastocr_kernels.bench",
        description="Time the attention of a decode step: dense, gathered, sparse, focal.",
    )
    default = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", choices=("cpu", "cuda"), default=default)
    parser.add_argument("--keep", type=float, default=0.05, help="share of visual tokens attended")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument("--rounds", type=int, default=11, help="samples of each contestant")
    parser.add_argument("--seconds", type=float, default=420, help="start no case after this")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    given = parse(arguments)
    torch.set_num_threads(given.threads)
    device = torch.device(given.device)
    cases = (gpu_cases if device.type == "cuda" else cpu_cases)(given.keep)
    about = machine(device, copy_bandwidth(device))
    print(*(f"{key}: {value}" for key, value in about.items()), sep="\n")
    rows, skipped = run(cases, device, given, about["copy_gigabytes_per_second"] * 1e9)
    if given.json:
        given.json.write_text(json.dumps(document(about, rows, skipped), indent=1))
    for case in skipped:
        print(f"skipped, time or memory was short: {case}", file=sys.stderr)
    return 0


def run(
    cases: list[Case], device: torch.device, given: argparse.Namespace, bandwidth: float
) -> tuple[list[Row], list[Case]]:
    """Figures of the cases that fit in time and memory, and the cases that did not."""
    start = time.monotonic()
    rows: list[Row] = []
    skipped = []
    for case in cases:
        if time.monotonic() - start > given.seconds or case.pool_bytes > _free_bytes(device):
            skipped.append(case)
            continue
        own = run_case(case, device, given.rounds, bandwidth)
        print(f"\n{case}, keep {case.keep:g}, {case.focal} of {case.layers} layers focal")
        print(table(own), flush=True)
        rows += own
    return rows, skipped


@torch.inference_mode()
def run_case(case: Case, device: torch.device, rounds: int, bandwidth: float) -> list[Row]:
    contestants = Arena(case, make_data(case, device)).contestants()
    return rows_of(case, measure(contestants, device, rounds, case.pool), bandwidth)


def _free_bytes(device: torch.device) -> int:
    """Memory the caches may take; on a CPU a figure that any machine has."""
    if device.type != "cuda":
        return 2 * 2**30
    torch.cuda.empty_cache()  # what the case before has left
    return int(0.8 * torch.cuda.mem_get_info(device)[0])


if __name__ == "__main__":
    sys.exit(main())

"""Time spent in a piece of code that runs many times a step, on the CPU or on a CUDA device.

On CUDA the launch returns before the work is done, so events are recorded and read later, when
the step has synchronised anyway.
"""

from __future__ import annotations

import time

import torch


class Stopwatch:
    """Use as a context manager around the code; `take_ms` reads and clears what has added up."""

    def __init__(self, device: torch.device):
        self._is_cuda = device.type == "cuda"
        self._elapsed = 0.0
        self._started = 0.0
        self._events: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
        self._open = 0

    def __enter__(self) -> None:
        if not self._is_cuda:
            self._started = time.perf_counter()
            return
        if self._open == len(self._events):
            pair = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            self._events.append(pair)
        self._events[self._open][0].record()

    def __exit__(self, *_: object) -> None:
        if not self._is_cuda:
            self._elapsed += time.perf_counter() - self._started
            return
        self._events[self._open][1].record()
        self._open += 1

    def take_ms(self) -> float:
        """Milliseconds since the last call; on CUDA call it after a synchronisation."""
        if self._is_cuda:
            pairs, self._open = self._events[: self._open], 0
            return sum(start.elapsed_time(end) for start, end in pairs)
        taken, self._elapsed = self._elapsed * 1000, 0.0
        return taken

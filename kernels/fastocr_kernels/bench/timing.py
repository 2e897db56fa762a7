"""Interleaved samples of every contestant, and the memory bandwidth they are held against."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import torch

from fastocr_kernels.bench.contestants import Contestant


@dataclass(frozen=True)
class Samples:
    """Microseconds a layer, one value a round; rounds are paired across contestants."""

    contestant: Contestant
    microseconds: list[float]

    @property
    def middle(self) -> float:
        return median(self.microseconds)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie, nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure(
    contestants: Sequence[Contestant], device: torch.device, rounds: int, turns: int
) -> list[Samples]:
    """Time every contestant in every round, in an order drawn anew, after one round of warm-up.

    turns: layers a contestant attends in per round, at least; its caches rotate meanwhile.
    """
    timers = [_timer(one, device, turns) for one in contestants]
    order = list(range(len(timers)))
    samples: list[list[float]] = [[] for _ in timers]
    shuffler = random.Random(0)
    for index in range(rounds + 1):
        shuffler.shuffle(order)
        for place in order:
            taken = timers[place]()
            if index > 0:
                samples[place].append(taken)
    return [Samples(one, own) for one, own in zip(contestants, samples, strict=True)]


def _timer(one: Contestant, device: torch.device, turns: int) -> Callable[[], float]:
    """A function that runs a contestant and returns microseconds a layer."""
    calls = max(1, turns // one.layers)

    def all_calls() -> None:
        for turn in range(calls):
            one.run(turn)

    if device.type == "cuda":
        return _graph_timer(all_calls, calls * one.layers)
    return _cpu_timer(all_calls, calls * one.layers)


def _cpu_timer(run: Callable[[], None], layers: int) -> Callable[[], float]:
    # With one thread the thread's own time leaves out what other processes take of the core.
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter

    def timed() -> float:
        start = clock()
        run()
        return (clock() - start) / layers * 1e6

    return timed


def _graph_timer(run: Callable[[], None], layers: int) -> Callable[[], float]:
    """Replays a captured graph, so that launches from Python do not count."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        run()  # tunes and compiles
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()

    def timed() -> float:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e3 / layers

    return timed


def copy_bandwidth(device: torch.device) -> float:
    """Bytes a second read and written by a copy of 256 MiB; the best of nine."""
    source = torch.ones(2**28, dtype=torch.uint8, device=device)
    target = torch.zeros_like(source)
    one = Contestant("copy", 1, 0, lambda _: target.copy_(source))
    timed = _timer(one, device, 1)
    return 2 * source.numel() / (min(timed() for _ in range(9)) * 1e-6)

"""Times decode steps on the CPU: attention and whole step, dense against pruned.

    python -m fastocr_cli.fixation.speed --visual 4600 8600 --batch 1 8 --text 500

The engine, cache and policies are the real ones; the decoder has the embedded reader's shape and
random weights, and the cache holds noise. Methods take turns, so that a busy machine disturbs
them alike. What counts is a turn's mean: as many steps as a taught gaze takes from one choice to
the next, so that choosing is inside, and most of them find their own page in the processor's
caches, as in reading. The first method is the one the others are compared with.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor

from fastocr_cli.decoding.engine import Batch
from fastocr_cli.decoding.pages import Page
from fastocr_cli.decoding.profile_step import (
    ENDLESS,
    BareDecoder,
    FilledBatch,
    reader_shaped_model,
)
from fastocr_cli.fixation import AttentionPolicy, make_policy
from fastocr_cli.fixation.calibration import TAUGHT_STRIDE
from fastocr_cli.fixation.focal import TaughtGaze
from fastocr_cli.fixation.policy import PolicyState
from fastocr_cli.models.base import ModelAdapter, PromptInputs, VisualLayout

FOCAL = 3
LAYERS = 6
METHODS: dict[str, dict[str, Any]] = {
    "dense": {"method": "dense"},
    "taught": {"calibration": TaughtGaze(FOCAL, (0,), TAUGHT_STRIDE)},
    "every step": {"calibration": TaughtGaze(FOCAL, (0,))},
    "all heads": {"focal_layers": (FOCAL,)},
    "focal dense": {"focal_layers": (FOCAL,), "focal_output": "dense"},
    "rest mean": {"focal_layers": (FOCAL,), "rest": "mean"},
}
_COLUMNS = 62


def page_of_noise(visual: int, text: int, steps: int) -> PromptInputs:
    """A page of about `visual` patches in rows of 62, as on an A4 page, then text tokens."""
    rows = visual // _COLUMNS
    count = rows * _COLUMNS
    layout = VisualLayout.raster(torch.arange(count), rows, _COLUMNS)
    return PromptInputs(torch.zeros(1, count + text, dtype=torch.long), {}, layout, steps)


class TimedState:
    """A policy state that adds up what its steps take."""

    def __init__(self, state: PolicyState, clock: Callable[[], float]) -> None:
        self._state = state
        self._clock = clock
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def begin_step(self, longest: int, widths: Sequence[int] = ()) -> None:
        began = self._clock()
        self._state.begin_step(longest, widths)
        self.seconds += self._clock() - began

    def attend(self, *arguments: Any) -> Tensor:
        began = self._clock()
        attended = self._state.attend(*arguments)
        self.seconds += self._clock() - began
        return attended


@dataclass
class Contestant:
    """One method at work on its own batch, and the milliseconds a step took, turn by turn."""

    batch: Batch
    state: TimedState
    steps: list[float]
    attention: list[float]

    @classmethod
    def start(
        cls,
        adapter: ModelAdapter,
        policy: AttentionPolicy,
        prompts: Sequence[PromptInputs],
        clock: Callable[[], float],
    ) -> Contestant:
        batch = FilledBatch(adapter, [Page(adapter, one, None, ENDLESS) for one in prompts], policy)
        state = TimedState(batch._session.policy, clock)
        batch._session.policy = state
        return cls(batch, state, [], [])

    def turn(self, steps: int, clock: Callable[[], float]) -> None:
        self.state.seconds = 0.0
        began = clock()
        for _ in range(steps):
            self.batch.step()
        self.steps.append((clock() - began) * 1000 / steps)
        self.attention.append(self.state.seconds * 1000 / steps)


@torch.inference_mode()
def compare(
    adapter: ModelAdapter, prompts: Sequence[PromptInputs], keep: float, given: argparse.Namespace
) -> dict[str, Contestant]:
    """All methods on the same prompts, `turn` steps each in turn, after one turn to warm up."""
    clock = time.thread_time if given.cpu_clock else time.perf_counter
    contestants = {
        name: Contestant.start(adapter, make_policy(keep=keep, **METHODS[name]), prompts, clock)
        for name in given.methods
    }
    for one in contestants.values():
        one.turn(given.turn, clock)
        one.steps, one.attention = [], []
    for _ in range(max(1, given.steps // given.turn)):
        for one in contestants.values():
            one.turn(given.turn, clock)
    return contestants


def report(title: str, contestants: dict[str, Contestant], batch: int) -> str:
    """A table of medians (and minima) in milliseconds, with ratios to the first method."""
    first = next(iter(contestants.values()))
    attention, step = median(first.attention), median(first.steps)
    lines = [
        title,
        f"{'':14}{'attention ms':>18}{'ratio':>7}{'step ms':>18}{'ratio':>7}{'tok/s':>7}",
    ]
    for name, one in contestants.items():
        own, whole = median(one.attention), median(one.steps)
        lines.append(
            f"{name:14}{own:9.2f} ({min(one.attention):6.2f}){attention / own:7.2f}"
            f"{whole:9.2f} ({min(one.steps):6.2f}){step / whole:7.2f}{1000 * batch / whole:7.0f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--visual", type=int, nargs="+", default=[4600, 8600])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--text", type=int, default=500, help="text tokens behind the page")
    parser.add_argument("--keep", type=float, default=0.05)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument(
        "--turn", type=int, default=TAUGHT_STRIDE, help="steps of a method in a row"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--cpu-clock", action="store_true", help="count this thread's CPU time: for a busy machine"
    )
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    adapter = BareDecoder(reader_shaped_model(LAYERS), has_plain_head=True)
    for visual in given.visual:
        for batch in given.batch:
            prompts = [
                page_of_noise(visual, given.text, given.steps + 2 * given.turn)
                for _ in range(batch)
            ]
            found = compare(adapter, prompts, given.keep, given)
            title = f"{visual} visual, {given.text} text tokens, batch {batch}, keep {given.keep}"
            print(report(title, found, batch), flush=True)


if __name__ == "__main__":
    main()

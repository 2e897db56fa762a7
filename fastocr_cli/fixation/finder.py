"""Finds a model's focal layers on the first dense decode steps it sees, and remembers them.

One finder serves one model for as long as its policy lives. Knows attention weights and settings,
not caches or rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from fastocr_cli.errors import UsageError
from fastocr_cli.fixation.focal import FocalChoice, Masses, choose
from fastocr_cli.fixation.policy import DecoderShape
from fastocr_cli.fixation.probe import Probe
from fastocr_cli.fixation.settings import FixationSettings


class FocalFinder:
    """Holds the choice, or the measurement that will lead to it.

    A page that ends early leaves its steps to the measurement, and the next page goes on with it.
    """

    def __init__(self, settings: FixationSettings, choice: FocalChoice | None = None) -> None:
        self._settings = settings
        self._probe = Probe(settings.heads)
        self.choice = FocalChoice(settings.focal_layers) if settings.focal_layers else choice

    def check(self, shape: DecoderShape) -> None:
        """Raises UsageError for focal layers that the model has not."""
        have = shape.policy_layers
        chosen = self.choice.layers if self.choice else ()
        wrong = [layer for layer in chosen if layer not in have]
        if wrong:
            raise UsageError(
                f"focal_layers: this model has no layer {wrong[0]} to choose with; "
                f"its layers are {_ranges(have)}"
            )

    def start_page(self, size: int) -> None:
        """Another page is looked at from here on; `size` patches make its fixation."""
        self._probe.start_page(size)

    def observe(self, weights: Tensor) -> None:
        """The next layer's post-softmax weights on the page's patches, fp32 [Hq, P]."""
        self._probe.observe(weights)

    def end_step(self, layers: Sequence[int]) -> None:
        """All `layers` (decoder layer numbers) have been observed; enough steps make the choice."""
        self._probe.end_step()
        if self._probe.steps >= self._settings.probe_steps:
            self.choice = choose(self._probe.masses(), layers, self._settings, "first page")

    @property
    def steps(self) -> int:
        """Dense steps measured so far."""
        return self._probe.steps

    def masses(self) -> Masses:
        """What was measured; at least one whole step must have been."""
        return self._probe.masses()


def _ranges(numbers: Sequence[int]) -> str:
    """As in 0-5, 7, 9-11."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in runs)

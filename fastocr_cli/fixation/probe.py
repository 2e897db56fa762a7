"""Measures attention masses over dense decode steps, for the choice of focal layers.

Knows the attention weights of one page at a time, given layer by layer, and nothing of the model.
Shapes: N layers, Hq query heads, P patches; k patches make a fixation.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fastocr_cli.fixation.focal import Masses
from fastocr_cli.fixation.settings import HeadMode


class Probe:
    """Sums over steps; `masses` may be asked for after any whole step."""

    def __init__(self, heads: HeadMode) -> None:
        """heads: how a layer's heads make one score."""
        self.steps = 0
        self._size = 0
        self._heads = heads
        self._weights: list[Tensor] = []
        self._last_tops: Tensor | None = None
        self._sums: dict[str, Tensor] = {}

    def start_page(self, size: int) -> None:
        """The steps from here on read another page; size: its k."""
        self._size = size
        self._weights = []
        self._last_tops = None

    def observe(self, weights: Tensor) -> None:
        """The next layer's post-softmax weights on the patches, fp32 [Hq, P]."""
        self._weights.append(weights)

    def end_step(self) -> None:
        """All layers have been observed once."""
        assert self._weights, "no layer was observed in this step"
        weights = torch.stack(self._weights)  # [N, Hq, P]
        self._weights = []
        means = weights.mean(dim=1)
        scores = weights.amax(dim=1) if self._heads == "max" else means
        tops = scores.topk(self._size, dim=-1).indices
        last = tops if self._last_tops is None else self._last_tops
        self._add("within", _masses_on(means, tops))
        self._add("across", _masses_on(means, last))
        self._add("total", means.sum(dim=-1))
        self._add("by_head", _masses_on(means, weights.topk(self._size, dim=-1).indices))
        self._last_tops = tops
        self.steps += 1

    def masses(self) -> Masses:
        means = {name: (total / self.steps).cpu() for name, total in self._sums.items()}
        return Masses(**means)

    def _add(self, name: str, masses: Tensor) -> None:
        self._sums[name] = self._sums[name] + masses if name in self._sums else masses


def _masses_on(means: Tensor, tops: Tensor) -> Tensor:
    """[..., N], each layer's mass on each top k. means: [N, P]; tops: LongTensor [..., k]."""
    return means[:, tops].sum(dim=-1).movedim(0, -1)

"""H2O-like: the patches with the least attention so far are evicted, step by step, for good.

After H2O (Zhang et al., NeurIPS 2023, arXiv 2306.14048): per layer the accumulated attention says
who stays ("heavy hitters"); the recent tokens it also keeps are here all text. The engine's
prefill does not show its attention, so accumulation begins at the first decode step, with all
patches held, and the held set halves with every step until it is the budget. One set serves all
heads. Lines already read gather attention and lines to come do not, so expect it to fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fastocr_cli.fixation.policy import DecoderShape
from fastocr_cli.fixation.selection import best_patches, sort_padded
from fastocr_cli.fixation.state import Call, PruningState
from fastocr_cli.models.base import VisualLayout


@dataclass(frozen=True)
class H2OPolicy:
    """keep: share of a page's patches that remain in the end; minimum: fewest."""

    keep: float
    minimum: int = 16
    name: ClassVar[str] = "h2o"

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> H2OState:
        return H2OState(layouts, shape, device, keep=self.keep, minimum=self.minimum)


class H2OState(PruningState):
    def __init__(
        self,
        layouts: Sequence[VisualLayout],
        shape: DecoderShape,
        device: torch.device,
        *,
        keep: float,
        minimum: int,
    ) -> None:
        super().__init__(layouts, shape, device, keep=keep, minimum=minimum)
        self._attention: dict[int, Tensor] = {}  # [B, P] accumulated, -inf for the evicted
        self._held = self.tokens.counts.clone()
        self._most = self.tokens.patches.shape[1]

    def begin_step(self, longest: int, widths: Sequence[int] = ()) -> None:
        """Every step but the first may hold half of what the one before held."""
        super().begin_step(longest, widths)
        if self._attention:
            self._held = torch.maximum(self._held // 2, self.budgets)
            self._most = max(self._most // 2, self.largest)

    def attend_layer(self, call: Call) -> Tensor:
        if call.layer not in self._attention:
            out, self._attention[call.layer] = self.scored(call)
            return out
        attention = self._attention[call.layer]
        best, _ = best_patches(attention, self._held, self._most)
        held = self.fixation(sort_padded(best))
        out, weights = self.sparse_scored(call, held)
        kept = torch.full_like(attention, -torch.inf)
        where = held.ordinals.clamp(min=0)
        summed = attention.gather(1, where) + weights
        self._attention[call.layer] = kept.scatter_reduce(1, where, summed, "amax")
        return out

    def keep_rows(self, rows: Tensor) -> None:
        self._attention = {layer: own[rows] for layer, own in self._attention.items()}
        self._held = self._held[rows]

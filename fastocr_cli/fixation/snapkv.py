"""SnapKV-like: the prompt's end votes once for the patches to keep; the rest is never seen again.

After SnapKV (Li et al., NeurIPS 2024, arXiv 2404.14469). The engine's prefill does not show its
attention, so the first decode steps vote in place of the prompt's last window; votes are pooled
along the prompt as in the original, per layer, one set for all heads. What is read later on the
page cannot be foreseen here, so expect it to fail on a full page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from fastocr_cli.fixation.policy import DecoderShape
from fastocr_cli.fixation.settings import require
from fastocr_cli.fixation.state import Call, Fixation, PruningState
from fastocr_cli.models.base import VisualLayout


@dataclass(frozen=True)
class SnapKVPolicy:
    """keep: share of a page's patches; window: voting steps; pool: patches per pooled vote, odd."""

    keep: float
    window: int = 1
    pool: int = 7
    minimum: int = 16
    name: ClassVar[str] = "snapkv"

    def __post_init__(self) -> None:
        require(self.window >= 1, "window", self.window, "1 or more")
        require(self.pool >= 1 and self.pool % 2 == 1, "pool", self.pool, "an odd number")

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> SnapKVState:
        return SnapKVState(self, layouts, shape, device)


class SnapKVState(PruningState):
    def __init__(
        self,
        policy: SnapKVPolicy,
        layouts: Sequence[VisualLayout],
        shape: DecoderShape,
        device: torch.device,
    ) -> None:
        super().__init__(layouts, shape, device, keep=policy.keep, minimum=policy.minimum)
        self._policy = policy
        self._step = -1
        self._votes: dict[int, Tensor] = {}
        self._kept: dict[int, Fixation] = {}

    def begin_step(self, longest: int, widths: Sequence[int] = ()) -> None:
        super().begin_step(longest, widths)
        self._step += 1

    def attend_layer(self, call: Call) -> Tensor:
        if self._step < self._policy.window:
            out, votes = self.scored(call)
            self._votes[call.layer] = self._votes.get(call.layer, 0) + votes
            return out
        if call.layer not in self._kept:
            self._kept[call.layer] = self.choose(self._pooled(self._votes.pop(call.layer)))
        return self.sparse(call, self._kept[call.layer])

    def _pooled(self, votes: Tensor) -> Tensor:
        """votes: [B, P], -inf where a row has no patch. Returns the same."""
        pool = self._policy.pool
        pooled = F.avg_pool1d(votes.clamp(min=0)[:, None], pool, stride=1, padding=pool // 2)
        return pooled[:, 0].masked_fill(self.tokens.patches < 0, -torch.inf)

    def keep_rows(self, rows: Tensor) -> None:
        self._votes = {layer: votes[rows] for layer, votes in self._votes.items()}
        self._kept = {layer: kept.rows(rows) for layer, kept in self._kept.items()}

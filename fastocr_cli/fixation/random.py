"""Random fixation: a new random set of patches in every step. Deliberately broken.

The bench runs it to show that its accuracy figures notice when the choice of tokens is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fastocr_cli.fixation.policy import DecoderShape
from fastocr_cli.fixation.state import Call, Fixation, PruningState
from fastocr_cli.models.base import VisualLayout


@dataclass(frozen=True)
class RandomPolicy:
    """keep: share of a page's patches; seed: of every batch."""

    keep: float
    minimum: int = 16
    seed: int = 0
    name: ClassVar[str] = "random"

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> RandomState:
        return RandomState(self, layouts, shape, device)


class RandomState(PruningState):
    def __init__(
        self,
        policy: RandomPolicy,
        layouts: Sequence[VisualLayout],
        shape: DecoderShape,
        device: torch.device,
    ) -> None:
        super().__init__(layouts, shape, device, keep=policy.keep, minimum=policy.minimum)
        self._generator = torch.Generator().manual_seed(policy.seed)
        self._drawn: Fixation | None = None

    def begin_step(self, longest: int, widths: Sequence[int] = ()) -> None:
        super().begin_step(longest, widths)
        self._drawn = None

    def attend_layer(self, call: Call) -> Tensor:
        if self._drawn is None:
            drawn = torch.rand(self.tokens.patches.shape, generator=self._generator)
            drawn = drawn.to(call.query.device)
            self._drawn = self.choose(drawn.masked_fill(self.tokens.patches < 0, -torch.inf))
        return self.sparse(call, self._drawn)

"""Oracle: every layer first scores all patches with its own query, then attends to its best few.

The upper bound of any choice of this size, at the price of reading every key in every layer: it
tells a model that cannot be pruned from a selector that is not good enough. It is the "two-pass"
ablation of FastOCR's development runs, taken per layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fastocr_cli.fixation.policy import DecoderShape
from fastocr_cli.fixation.state import Call, PruningState
from fastocr_cli.models.base import VisualLayout


@dataclass(frozen=True)
class OraclePolicy:
    """keep: share of a page's patches; minimum: fewest patches; trace: tokens reported a step."""

    keep: float
    minimum: int = 16
    trace: int = 0
    name: ClassVar[str] = "oracle"

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> OracleState:
        return OracleState(
            layouts, shape, device, keep=self.keep, minimum=self.minimum, trace=self.trace
        )


class OracleState(PruningState):
    def attend_layer(self, call: Call) -> Tensor:
        return self.sparse(call, self.choose(self.scores(call)))

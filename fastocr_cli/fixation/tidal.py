"""TidalDecode-like: two dense layers, a selecting one, and one more that selects again midway.

After TidalDecode (Yang et al., ICLR 2025, arXiv 2410.05076), whose reference code keeps layers 0
and 1 dense, selects at layer 2 and again at a middle layer, and selects per query head; here one
set serves all heads, scored by the head that wants a token most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from fastocr_cli.fixation.fastocr import FastOCRState, fixed_layers
from fastocr_cli.fixation.policy import DecoderShape
from fastocr_cli.fixation.settings import FixationSettings
from fastocr_cli.models.base import VisualLayout


@dataclass(frozen=True)
class TidalPolicy:
    """keep: share of a page's patches; reselect: the second selecting layer, None is a third down.

    (A third of the way is where the reference puts it: layer 9 of 28 to 32.)
    """

    keep: float
    reselect: int | None = None
    minimum: int = 16
    name: ClassVar[str] = "tidal"

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> FastOCRState:
        layers = shape.policy_layers
        first = layers[min(2, len(layers) - 1)]
        second = layers[len(layers) // 3] if self.reselect is None else self.reselect
        settings = FixationSettings(
            keep=self.keep, minimum=self.minimum, reuse=False, heads="max", focal_output="dense"
        )
        return fixed_layers(settings, [first, max(first, second)], layouts, shape, device)

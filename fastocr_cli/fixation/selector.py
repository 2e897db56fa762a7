"""Single selector: one layer chooses for all later ones, in every step; earlier layers are dense.

The first form of FastOCR's development runs (`topk_layerNN`), where it showed that how well a
layer localises is not monotone in its depth.
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
class SelectorPolicy:
    """keep: share of a page's patches; layer: the selector, None is the middle one."""

    keep: float
    layer: int | None = None
    minimum: int = 16
    name: ClassVar[str] = "selector"

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> FastOCRState:
        layers = shape.policy_layers
        layer = layers[len(layers) // 2] if self.layer is None else self.layer
        settings = FixationSettings(
            keep=self.keep, minimum=self.minimum, reuse=False, focal_output="dense"
        )
        return fixed_layers(settings, [layer], layouts, shape, device)

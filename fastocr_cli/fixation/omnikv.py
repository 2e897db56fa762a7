"""OmniKV-like: a few filter layers choose tokens for the layers below them.

After OmniKV (Hao et al., ICLR 2025), whose filter layers for a 32-layer model are 2, 8 and 18;
layers before the first are dense. Its offloading of the other layers' cache is left out: it saves
memory, which this project does not. Scores are means over heads of the newest query.
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

_FILTERS_OF_32 = (2, 8, 18)


@dataclass(frozen=True)
class OmniKVPolicy:
    """keep: share of a page's patches; filters: filter layers, None scales 2, 8, 18 of 32."""

    keep: float
    filters: tuple[int, ...] | None = None
    minimum: int = 16
    name: ClassVar[str] = "omnikv"

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> FastOCRState:
        layers = shape.policy_layers
        scaled = [layers[round(layer * (len(layers) - 1) / 31)] for layer in _FILTERS_OF_32]
        settings = FixationSettings(
            keep=self.keep, minimum=self.minimum, reuse=False, focal_output="dense"
        )
        return fixed_layers(settings, self.filters or scaled, layouts, shape, device)

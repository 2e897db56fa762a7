"""What a decoder's config says about its attention, in the terms the engine and policies use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastocr_cli.errors import UsageError
from fastocr_cli.fixation.policy import DecoderShape

_FULL = "full_attention"
_WINDOW = "sliding_attention"
_RING = "reference_sliding_attention"


@dataclass(frozen=True)
class DecoderFacts:
    """windows: sliding windows over all text, by layer; rings: windows over generated text only."""

    shape: DecoderShape
    windows: Mapping[int, int]
    rings: Mapping[int, int]

    @classmethod
    def of(cls, config: Any) -> DecoderFacts:
        """Read a text config. Raises UsageError for a kind of layer that cannot be decoded."""
        kinds = _layer_kinds(config)
        window = getattr(config, "sliding_window", None)
        windows = {i: int(window) for i, kind in enumerate(kinds) if kind == _WINDOW and window}
        rings = {i: int(window) for i, kind in enumerate(kinds) if kind == _RING and window}
        heads = config.num_attention_heads
        shape = DecoderShape(
            num_layers=len(kinds),
            num_heads=heads,
            num_kv_heads=getattr(config, "num_key_value_heads", None) or heads,
            head_dim=getattr(config, "head_dim", None) or config.hidden_size // heads,
            windowed_layers=frozenset(windows),
        )
        return cls(shape, windows, rings)

    @property
    def takes_drafts(self) -> bool:
        """Whether a step may take in several tokens and forget some of them."""
        return not self.windows and not self.rings

    def rows_seen(self, prompt: int, visible: Sequence[int]) -> int:
        """Cached positions dense attention reads, over all layers, in decode steps that see so
        many positions each."""
        return sum(self._layer_rows(i, prompt, visible) for i in range(self.shape.num_layers))

    def _layer_rows(self, layer: int, prompt: int, visible: Sequence[int]) -> int:
        window = self.windows.get(layer)
        ring = self.rings.get(layer)
        limit = window if window is not None else prompt + ring if ring is not None else None
        if limit is None or limit >= max(visible, default=0):
            return sum(visible)
        return sum(min(count, limit) for count in visible)


def _layer_kinds(config: Any) -> list[str]:
    kinds = getattr(config, "layer_types", None)
    if kinds is None:
        has_window = getattr(config, "sliding_window", None) and getattr(
            config, "use_sliding_window", True
        )
        kinds = [_WINDOW if has_window else _FULL] * config.num_hidden_layers
    unknown = set(kinds) - {_FULL, _WINDOW, _RING}
    if unknown:
        raise UsageError(
            f"{config.model_type} has layers of the kind {', '.join(sorted(unknown))}, "
            "which fastocr cannot decode; choose a model with ordinary attention"
        )
    return list(kinds[: config.num_hidden_layers])

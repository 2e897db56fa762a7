"""How a model is called: once per page at prefill, once per step for the whole batch at decode.

Knows the argument names of transformers' models; knows nothing of pages, stopping or policies.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from fastocr_cli.decoding.attention import DecodeSession
from fastocr_cli.decoding.cache import KVCache
from fastocr_cli.decoding.fused import FusedDecoder
from fastocr_cli.models.base import ModelAdapter, PromptInputs


class ModelCalls:
    """The two calls the engine makes, on one adapter's model."""

    def __init__(self, adapter: ModelAdapter, capacity: int):
        """capacity: prompt and generated tokens of a page stay below this."""
        self._adapter = adapter
        self.decoder = adapter.decoder
        self._model = adapter.model
        self._device, self._dtype = adapter.device, adapter.dtype
        self._fused = FusedDecoder.of(adapter, capacity)
        known = inspect.signature(self._model.forward).parameters
        # transformers renamed the argument; the old name warns on every call.
        self._cache_name = "cache" if "cache" in known else "past_key_values"
        # Without it a model computes logits for thousands of prompt positions.
        self._last_logits = {"logits_to_keep": 1} if "logits_to_keep" in known else {}

    def prefill(self, prompt: PromptInputs, cache: KVCache) -> Any:
        """The whole prompt of one page; what the model returns, logits [1, 1 or T, vocabulary]."""
        return self._model(
            input_ids=prompt.input_ids.to(self._device),
            use_cache=True,
            **{self._cache_name: cache},
            **self._last_logits,
            **self._on_device(prompt.features),
        )

    def decode(
        self, tokens: Tensor, positions: Tensor, places: Tensor | None, session: DecodeSession
    ) -> Tensor:
        """T tokens per page, within `session.step()`; returns logits [B, T, vocabulary].

        tokens: int64 [B, T]; positions: int64 [..., B, T]; places: int64 [B, T, axes] for models
        whose text has places.
        """
        if self._fused is not None:
            flat_places = None if places is None else places.flatten(0, 1)
            embedded = self._adapter.embed_text(tokens.flatten(), flat_places)
            return self._fused.decode(embedded, positions, session)
        told = {} if places is None else {"places": places}
        outputs = self._model(
            input_ids=tokens,
            position_ids=positions,
            use_cache=True,
            **{self._cache_name: session.cache},
            **told,
        )
        logits: Tensor = outputs.logits
        return logits

    def _on_device(self, features: Mapping[str, Any]) -> dict[str, Any]:
        moved: dict[str, Any] = {}
        for name, value in features.items():
            if isinstance(value, Tensor):
                dtype = self._dtype if torch.is_floating_point(value) else value.dtype
                moved[name] = value.to(self._device, dtype)
            else:
                moved[name] = value
        return moved

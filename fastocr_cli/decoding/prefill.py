"""Hooks on the text model while a prompt is prefilled: what positions it used, and pruning.

The text model's own arguments are the one place where every family's finished prompt embeddings
and position ids pass by. Knows nothing of caches or decoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from fastocr_cli.models.base import VisualLayout


@dataclass(frozen=True)
class PrunedPrompt:
    """What is left of a prompt.

    kept: int64 [T'], ascending positions of the original prompt that remain.
    inputs_embeds: [1, T', hidden]. position_ids: [..., 1, T'], the original ids of what is kept.
    layout: the remaining visual tokens, their positions counted in the pruned prompt.
    """

    kept: Tensor
    inputs_embeds: Tensor
    position_ids: Tensor
    layout: VisualLayout


class PrefillHook(Protocol):
    """Shortens a prompt after the projector and before decoder layer 0."""

    def __call__(
        self, inputs_embeds: Tensor, position_ids: Tensor, layout: VisualLayout
    ) -> PrunedPrompt:
        """inputs_embeds: [1, T, hidden]; position_ids: [..., 1, T]; layout on the same device."""


class PrefillWatch:
    """What one page's prefill did.

    layout: the page's visual tokens as the decoder saw them.
    length: prompt positions the decoder saw. next_position: the position id of the next token,
    on every axis. position_axes: leading dimensions of the text model's position ids.
    """

    def __init__(self, layout: VisualLayout, hook: PrefillHook | None):
        self.layout = layout
        self.length = 0
        self.next_position = 0
        self.position_axes: tuple[int, ...] = ()
        self._hook = hook

    @contextmanager
    def on(self, decoder: Any) -> Iterator[PrefillWatch]:
        """Watch `decoder`'s forward within this scope."""
        handle = decoder.register_forward_pre_hook(self._before_forward, with_kwargs=True)
        try:
            yield self
        finally:
            handle.remove()

    def _before_forward(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        embeds = kwargs.get("inputs_embeds")
        if embeds is None:
            embeds = module.get_input_embeddings()(kwargs["input_ids"])
        positions = kwargs.get("position_ids")
        if positions is None:
            positions = torch.arange(embeds.shape[1], device=embeds.device)[None]
        self.position_axes = tuple(positions.shape[:-2])
        self.next_position = int(positions.max()) + 1
        self.length = embeds.shape[1]
        if self._hook is None:
            return None
        pruned = self._hook(embeds, positions, self.layout.to(embeds.device))
        self.layout, self.length = pruned.layout, pruned.inputs_embeds.shape[1]
        return args, _pruned_arguments(kwargs, pruned)


def _pruned_arguments(kwargs: dict[str, Any], pruned: PrunedPrompt) -> dict[str, Any]:
    """The text model's arguments with every tensor that runs along the prompt cut the same way."""
    kept = pruned.kept
    changed = dict(kwargs, input_ids=None)
    changed.update(inputs_embeds=pruned.inputs_embeds, position_ids=pruned.position_ids)
    mask = kwargs.get("attention_mask")
    if isinstance(mask, dict):
        changed["attention_mask"] = {name: _pruned_mask(one, kept) for name, one in mask.items()}
    else:
        changed["attention_mask"] = _pruned_mask(mask, kept)
    visual = kwargs.get("visual_pos_masks")
    if visual is not None:  # Qwen3-VL adds features to the visual positions of its first layers
        changed["visual_pos_masks"] = visual[:, kept]
        rows = (visual[0].cumsum(0) - 1)[kept][visual[0, kept]]
        features = kwargs["deepstack_visual_embeds"]
        changed["deepstack_visual_embeds"] = [one[rows] for one in features]
    return changed


def _pruned_mask(mask: Tensor | None, kept: Tensor) -> Tensor | None:
    """mask: [1, T], [1, heads, T, T] or None."""
    if mask is None:
        return None
    return mask[:, kept] if mask.ndim == 2 else mask[:, :, kept][..., kept]

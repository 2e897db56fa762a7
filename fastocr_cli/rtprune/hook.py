"""RTPrune's place in prefill: behind the projector, in front of decoder layer 0, once a page.

Knows prompts, positions and layouts; the arithmetic is in `prune.py`. A kept token keeps its
position id, and the engine numbers generated tokens on from the unpruned prompt's length.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from fastocr_cli.decoding.pages import Generation
from fastocr_cli.decoding.prefill import PrunedPrompt
from fastocr_cli.errors import UsageError
from fastocr_cli.models.base import ModelAdapter, PromptInputs, VisualLayout
from fastocr_cli.rtprune.prune import prune_features, unit_features
from fastocr_cli.rtprune.rows import drop_empty_rows
from fastocr_cli.rtprune.selection import keep_count, prune_ratio, redundancy
from fastocr_cli.rtprune.settings import Merge, RTPruneSettings
from fastocr_cli.rtprune.view import has_places, page_density

PUBLISHED_FAMILIES = ("unlimited_ocr",)
"""Model types with DeepSeek-OCR's patches; version 1 is hosted on `unlimited_ocr`."""
QUERY_FAMILIES = ("deepseek_ocr2",)


@dataclass(frozen=True)
class Ratio:
    """The share of the patch tokens to drop, and what it came from; None where not looked at."""

    drop: float
    edge_density: float | None = None
    redundancy: float | None = None


class RTPruneHook:
    """Prunes the prompts of one batch as the engine prefills them, in their order.

    `stats` has one entry per page so far (see `_page_stats`).
    Raises UsageError for a model whose tokens cannot be pruned so, saying what to try.
    """

    def __init__(
        self, settings: RTPruneSettings, adapter: ModelAdapter, prompts: Sequence[PromptInputs]
    ):
        self.stats: list[dict[str, Any]] = []
        self._settings = settings
        self._adapter = adapter
        self._prompts = list(prompts)

    def __call__(
        self, inputs_embeds: Tensor, position_ids: Tensor, layout: VisualLayout
    ) -> PrunedPrompt:
        """inputs_embeds: [1, T, hidden]; position_ids: [..., 1, T]; layout on the same device."""
        began = _now(inputs_embeds.device)
        prompt = self._prompts[len(self.stats)]
        assert prompt.layout.num_tokens == layout.num_tokens, "pages out of order"
        pruned, ratio = self._prune(inputs_embeds, position_ids, layout, prompt)
        elapsed_ms = (_now(inputs_embeds.device) - began) * 1000
        stats = _page_stats(layout, pruned.layout, ratio, self._settings)
        self.stats.append({**stats, "prune_ms": elapsed_ms})
        return pruned

    def with_stats(self, generations: Sequence[Generation]) -> list[Generation]:
        """The generations of this batch, what was pruned added to their stats as "rtprune"."""
        return [
            replace(one, stats=replace(one.stats, extra={**one.stats.extra, "rtprune": own}))
            for one, own in zip(generations, self.stats, strict=True)
        ]

    def _prune(
        self, embeds: Tensor, positions: Tensor, layout: VisualLayout, prompt: PromptInputs
    ) -> tuple[PrunedPrompt, Ratio]:
        if layout.num_patches == 0:
            return _unpruned(embeds, positions, layout), Ratio(0.0)
        check_prunable(self._adapter, prompt.layout)
        features = embeds[:, layout.positions[~layout.structural]]
        units = unit_features(features)
        ratio = self._ratio(units[0], prompt)
        count = keep_count(features.shape[1], ratio.drop)
        if count == features.shape[1]:
            return _unpruned(embeds, positions, layout), ratio
        counts = torch.tensor([count], device=embeds.device)
        kept = prune_features(features, counts, self._settings, units=units)
        return _without(embeds, positions, layout, kept.index[0], kept.features[0]), ratio

    def _ratio(self, directions: Tensor, prompt: PromptInputs) -> Ratio:
        """directions: [1, N, hidden], of norm one."""
        if self._settings.drop is not None:
            return Ratio(self._settings.drop)
        density = page_density(self._adapter, prompt, directions.device)
        if density is None:
            raise UsageError(
                f"rtprune: the dynamic ratio looks at the page in one piece, and "
                f"{self._adapter.name} takes it in patches; give a share to drop, such as 0.25"
            )
        tokens = torch.tensor([directions.shape[1]], device=directions.device)
        redundant = redundancy(directions, tokens)
        drop = prune_ratio(redundant, density)
        return Ratio(*torch.stack([drop, density, redundant])[:, 0].tolist())


def check_prunable(adapter: ModelAdapter, layout: VisualLayout) -> None:
    """Raises UsageError where the visual tokens are not known to be patches of the page."""
    if not has_places(layout) and adapter.model.config.model_type not in QUERY_FAMILIES:
        raise UsageError(
            f"rtprune: it is not known which part of the page the visual tokens of "
            f"{adapter.name} show, so none can be dropped; leave out --rtprune"
        )


def caution(adapter: ModelAdapter) -> str | None:
    """What a user should know who prunes this model; None where it is the published case."""
    model_type = adapter.model.config.model_type
    if model_type in PUBLISHED_FAMILIES:
        return None
    if model_type in QUERY_FAMILIES:
        return (
            "rtprune: this model's visual tokens are answers of learned queries, not patches; the "
            "paper prunes them all the same and loses accuracy (90.9 to 83.9 on OmniDocBench)"
        )
    return "rtprune: published for DeepSeek-OCR; with this model it is experimental"


def _without(
    embeds: Tensor, positions: Tensor, layout: VisualLayout, index: Tensor, merged: Tensor
) -> PrunedPrompt:
    """The prompt with only these patches left. index: int64 [M], among the page's patches;
    merged: [M, hidden], what stands in their places."""
    patches = (~layout.structural).nonzero()[:, 0][index]
    is_kept = layout.structural.clone()
    is_kept[patches] = True
    is_kept = drop_empty_rows(layout.positions, layout.structural, is_kept)
    remains = torch.ones(embeds.shape[1], dtype=torch.bool, device=embeds.device)
    remains[layout.positions[~is_kept]] = False
    kept = remains.nonzero()[:, 0]
    moved = remains.cumsum(0) - 1  # where a kept position stands in the pruned prompt
    shorter = embeds[:, kept]
    shorter[0, moved[layout.positions[patches]]] = merged
    left = VisualLayout(
        moved[layout.positions[is_kept]],
        layout.structural[is_kept],
        layout.grid[is_kept],
        layout.boxes[is_kept],
    )
    return PrunedPrompt(kept, shorter, positions[..., kept], left)


def _unpruned(embeds: Tensor, positions: Tensor, layout: VisualLayout) -> PrunedPrompt:
    everything = torch.arange(embeds.shape[1], device=embeds.device)
    return PrunedPrompt(everything, embeds, positions, layout)


def _page_stats(
    before: VisualLayout, after: VisualLayout, ratio: Ratio, settings: RTPruneSettings
) -> dict[str, Any]:
    """Visual tokens that came in, and what became of them: in = kept + dropped + protected +
    row_ends_dropped, where kept and dropped are patches and protected structural tokens."""
    dropped = before.num_patches - after.num_patches
    protected = after.num_tokens - after.num_patches
    return {
        "tokens_in": before.num_tokens,
        "kept": after.num_patches,
        "dropped": dropped,
        "merged": 0 if settings.merge is Merge.NONE else dropped,
        "protected": protected,
        "row_ends_dropped": before.num_tokens - before.num_patches - protected,
        "merge": settings.merge.value,
        "ratio": ratio.drop,
        "edge_density": ratio.edge_density,
        "redundancy": ratio.redundancy,
    }


def _now(device: torch.device) -> float:
    """Seconds, once the device has done all it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()

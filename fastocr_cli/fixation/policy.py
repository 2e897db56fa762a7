"""The contract between the decode engine and an attention policy.

A policy says which cached positions each decoder layer reads at each decode step; it owns the
attention arithmetic of those steps. It knows no model code, no tokens and no text. Prefill is not
its business: every prompt is prefilled densely and nothing is evicted from the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from fastocr_cli.models.base import VisualLayout


@dataclass(frozen=True)
class DecoderShape:
    """The decoder's attention, in numbers a policy needs to plan.

    windowed_layers: layers whose own sliding window already bounds what they read; the engine
        serves them and never asks the policy.
    """

    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    windowed_layers: frozenset[int] = frozenset()

    @property
    def policy_layers(self) -> tuple[int, ...]:
        """Layers on which `attend` is called, in order, once a step."""
        return tuple(i for i in range(self.num_layers) if i not in self.windowed_layers)


@dataclass(frozen=True)
class PolicyStats:
    """What a policy did to one page, over all its decode steps.

    keep_sparse_layers: mean share of the page's visual tokens attended in layers that prune.
    keep_all_layers: the same over all layers.
    kv_rows_skipped: cached positions, counted per layer and step, that dense attention would have
        read and this policy did not.
    gaze: int64 [steps]; per decode step the index into the layout's `positions` of the most
        attended visual token, -1 where unknown; None if the policy does not look. The first
        generated token comes from prefill; without drafts step s predicts token s + 1.
    extra: anything else worth reporting, JSON-friendly.
    """

    keep_sparse_layers: float = 1.0
    keep_all_layers: float = 1.0
    kv_rows_skipped: int = 0
    gaze: Tensor | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


class PolicyState(Protocol):
    """A policy at work on one batch of pages; made by `AttentionPolicy.start`."""

    @property
    def takes_drafts(self) -> bool:
        """Whether the next step may take in several tokens a page."""

    def begin_step(self, longest: int, widths: Sequence[int] = ()) -> None:
        """A decode step begins.

        longest: the largest entry of this step's `lengths`. widths: how many new tokens of each
        page count, one by default; where others have more, the rest is padding.
        """

    def attend(
        self,
        layer: int,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        lengths: Tensor,
        scale: float,
    ) -> Tensor:
        """Attention of the new token of every page, or of its new tokens, in one layer.

        query: [B, Hq, D]; in a step with a draft [B, T, Hq, D]: the last T positions are the
        tokens' own, and each sees itself and what stands before it. keys, values:
        [B, L_max, Hkv, D], views of the cache; garbage, though finite, from `lengths` on.
        lengths: int64 [B] on the cache's device; the new tokens are already written and counted.
        Query head h reads key head h // (Hq / Hkv).
        Returns query's shape.
        """

    def select_rows(self, rows: Tensor) -> None:
        """Only these batch rows (int64, ascending, on the CPU) go on; the cache is compacted."""

    def finish(self) -> list[PolicyStats]:
        """One entry per page given to `start`, in that order, pages that left early included."""


class AttentionPolicy(Protocol):
    """Settings of a method, as a frozen dataclass; holds no state between batches."""

    @property
    def name(self) -> str: ...

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> PolicyState:
        """Begin a batch, one layout per page; a keep ratio becomes an integer budget here."""

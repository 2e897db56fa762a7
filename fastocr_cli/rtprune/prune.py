"""RTPrune as one function on a batch of pages: features in, the kept ones out, enriched.

Knows patch features and each page's count to keep; does not know positions, rows or models.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fastocr_cli.rtprune.selection import keep_highest
from fastocr_cli.rtprune.settings import Merge, RTPruneSettings
from fastocr_cli.rtprune.transport import flat_share, transport_plan


@dataclass(frozen=True)
class Pruned:
    """The kept tokens of a batch of pages, each page's in page order, padded at the end.

    index: LongTensor [B, M], where in the page's N tokens; 0 in padding.
    is_real: BoolTensor [B, M], False in padding.
    features: Tensor [B, M, D], in the dtype that came in; zero in padding.
    """

    index: torch.Tensor
    is_real: torch.Tensor
    features: torch.Tensor


def unit_features(features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Directions [B, N, D] and norms [B, N] in float32; the direction of a zero vector is zero."""
    wide = features.float()
    norms = torch.linalg.vector_norm(wide, dim=-1)
    return wide / norms.clamp(min=1e-12)[:, :, None], norms


def prune_features(
    features: torch.Tensor,
    counts: torch.Tensor,
    settings: RTPruneSettings,
    *,
    is_real: torch.Tensor | None = None,
    units: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> Pruned:
    """Keeps the counts[b] tokens of highest norm of each page and merges the others into them.

    features: [B, N, D]. counts: LongTensor [B], at least 1 and at most the page's real tokens.
    is_real: BoolTensor [B, N], False in padding; None: no padding. units: unit_features(features),
    where the caller has them already.
    """
    if is_real is None:
        is_real = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
    directions, norms = units or unit_features(features)
    is_kept = keep_highest(norms.masked_fill(~is_real, -1), counts)
    kept, kept_real = _indices(is_kept)
    features_kept = _take(features, kept, kept_real)
    dropped, dropped_real = _indices(is_real & ~is_kept)
    if settings.merge is Merge.NONE or dropped.shape[1] == 0:
        return Pruned(kept, kept_real, features_kept)
    sources = _take(features, dropped, dropped_real).float()
    if settings.merge is Merge.MEAN:
        sent = flat_share(sources, kept_real, dropped_real)
    else:
        rows, columns = _take(directions, kept, kept_real), _take(directions, dropped, dropped_real)
        plan = transport_plan(rows @ columns.mT, kept_real, dropped_real, settings.plan_temperature)
        sent = plan @ sources
    merged = features_kept.float() + settings.strength * sent
    return Pruned(kept, kept_real, merged.to(features.dtype))


def _indices(mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Where a mask [B, N] is set, in order, padded with 0 to the longest row: index and is_real."""
    longest = int(mask.sum(-1).max())
    order = (~mask).to(torch.uint8).argsort(dim=-1, stable=True)[:, :longest]
    is_real = mask.gather(-1, order)
    return order.masked_fill(~is_real, 0), is_real


def _take(rows: torch.Tensor, index: torch.Tensor, is_real: torch.Tensor) -> torch.Tensor:
    """Rows [B, N, D] at index [B, M], zero where not real."""
    taken = rows.gather(1, index[:, :, None].expand(-1, -1, rows.shape[-1]))
    return taken.masked_fill(~is_real[:, :, None], 0)

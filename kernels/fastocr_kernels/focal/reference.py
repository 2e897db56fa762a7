"""Focal decode attention in plain torch: the definition the fast versions are tested against."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fastocr_kernels.layouts import VisualSet
from fastocr_kernels.reduction import HeadReduction, chosen_heads, reduce_heads


def focal_decode(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    visual: VisualSet,
    lengths: Tensor,
    scale: float,
    *,
    heads: Sequence[int] | None = None,
    reduction: HeadReduction = "mean",
) -> tuple[Tensor, Tensor]:
    """Dense attention over ``[0, lengths[b])`` and the attention each visual token received.

    query [B, Hq, D], keys and values [B, L_max, Hkv, D], lengths [B]. Returns the output
    [B, Hq, D] and fp32 scores: softmax weights (normalised over all positions, text included) at
    ``visual.positions``, over `heads` (all when None) reduced to [B, V], or [B, heads, V] with
    reduction "none". Padding scores -inf, so that it is never selected.
    """
    out = torch.zeros_like(query)
    weights = []
    for row in range(query.shape[0]):
        row_weights = _softmax_row(query[row], keys[row, : int(lengths[row])], scale)
        out[row] = _weighted(row_weights, values[row, : int(lengths[row])])
        weights.append(row_weights)
    return out, _scores(weights, visual, heads, reduction)


def gaze_scores(
    query: Tensor,
    keys: Tensor,
    visual: VisualSet,
    lengths: Tensor,
    scale: float,
    *,
    heads: Sequence[int] | None = None,
    reduction: HeadReduction = "mean",
) -> Tensor:
    """The scores of `focal_decode` alone; values are not read, nor keys of heads not asked for."""
    weights = [
        _softmax_row(query[row], keys[row, : int(lengths[row])], scale)
        for row in range(query.shape[0])
    ]
    return _scores(weights, visual, heads, reduction)


def _softmax_row(query: Tensor, keys: Tensor, scale: float) -> Tensor:
    """query [Hq, D], keys [L, Hkv, D] -> weights [Hq, L] in fp32 (fp64 for fp64 input)."""
    full = keys.repeat_interleave(query.shape[0] // keys.shape[1], dim=1)
    logits = torch.einsum("hd,lhd->hl", query, full) * scale
    return logits.float().softmax(-1) if query.element_size() < 8 else logits.softmax(-1)


def _weighted(weights: Tensor, values: Tensor) -> Tensor:
    full = values.repeat_interleave(weights.shape[0] // values.shape[1], dim=1)
    return torch.einsum("hl,lhd->hd", weights.to(values.dtype), full)


def _scores(
    weights: Sequence[Tensor],
    visual: VisualSet,
    heads: Sequence[int] | None,
    reduction: HeadReduction,
) -> Tensor:
    """weights per row [Hq, L_b] -> fp32 scores [B, V] or [B, heads, V]."""
    wanted = chosen_heads(heads, weights[0].shape[0])
    rows = []
    for row_weights, places in zip(weights, visual.positions, strict=True):
        picked = row_weights[wanted][:, places.clamp(min=0).long()].float()
        picked = picked.masked_fill(places < 0, float("-inf"))
        rows.append(reduce_heads(picked, reduction, dim=0))
    return torch.stack(rows)

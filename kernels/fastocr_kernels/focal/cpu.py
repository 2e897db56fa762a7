"""Focal decode attention and gaze scores for CPUs: one read of the keys, one of the values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fastocr_kernels.cpu_products import mean_of_heads, span_sum, weights_of
from fastocr_kernels.layouts import VisualSet, require
from fastocr_kernels.reduction import HeadReduction, chosen_heads, reduce_heads

_FEW = 2
"""Query heads whose weights loops compute faster than products, which do them all together."""


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
    """As `reference.focal_decode`; each row of the caches must be contiguous."""
    _require_whole_rows(keys, values)
    batch, all_heads, width = query.shape
    out, scores = [], []
    for row, length in enumerate(lengths.tolist()):
        own = query[row].view(keys.shape[2], -1, width)
        weights = weights_of(own, keys[row, :length], scale)
        out.append(span_sum(weights.to(values.dtype), values[row, :length]))
        by_head = weights.view(all_heads, length)
        looking = by_head if heads is None else by_head[list(heads)]
        scores.append(_visual_scores(looking, visual, row, reduction))
    return torch.stack(out).view(batch, all_heads, width), _stacked(scores, visual)


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
    """As `reference.gaze_scores`; each row of the cache must be contiguous."""
    _require_whole_rows(keys)
    scores = []
    for row, length in enumerate(lengths.tolist()):
        own = query[row].view(keys.shape[2], -1, query.shape[2])
        weights = _weights_by_head(own, keys[row, :length], heads, scale)
        scores.append(_visual_scores(weights, visual, row, reduction))
    return _stacked(scores, visual)


def _require_whole_rows(*caches: Tensor) -> None:
    for cache in caches:
        whole = cache.is_contiguous() or cache[0].is_contiguous()
        require(whole, "rows of the caches must be contiguous")


def _weights_by_head(
    query: Tensor, keys: Tensor, heads: Sequence[int] | None, scale: float
) -> Tensor:
    """Weights [heads, T] of these heads; reads only the KV heads they belong to.

    query [Hkv, G, D], keys [T, Hkv, D].
    """
    kv_heads, group, _ = query.shape
    wanted = chosen_heads(heads, kv_heads * group)
    if len(wanted) <= _FEW and query.dtype == torch.float32:
        return _weights_by_loops(query, keys, wanted, scale)
    read = sorted({head // group for head in wanted})
    if len(read) == kv_heads:
        weights = weights_of(query, keys, scale).flatten(0, 1)
        return weights if heads is None else weights[wanted]
    own = [[head for head in wanted if head // group == kv_head] for kv_head in read]
    parts = [
        weights_of(
            query[kv_head, None, [head % group for head in some]],
            keys[:, kv_head : kv_head + 1],
            scale,
        )
        for kv_head, some in zip(read, own, strict=True)
    ]
    order = [head for some in own for head in some]
    return torch.cat(parts, dim=1)[0, [order.index(head) for head in wanted]]


def _weights_by_loops(query: Tensor, keys: Tensor, heads: Sequence[int], scale: float) -> Tensor:
    """As `_weights_by_head`."""
    from fastocr_kernels.loops import loops  # half a second, which drafted steps never need

    group, width = query.shape[1:]
    weights = query.new_empty(len(heads), len(keys))
    loops(width).weights(
        query.reshape(-1, width)[heads].numpy(),
        keys.numpy(),
        np.array(heads) // group,
        np.float32(scale),
        weights.numpy(),
    )
    return weights


def _visual_scores(
    weights: Tensor, visual: VisualSet, row: int, reduction: HeadReduction
) -> Tensor:
    """From weights [heads, T] of row `row` its visual tokens' scores, [V_b] or [heads, V_b]."""
    span, count = visual.spans[row], visual.counts[row]
    if span is not None:
        picked = weights[:, span[0] : span[0] + count]
    else:
        picked = weights.index_select(1, visual.positions[row, :count])
    return mean_of_heads(picked) if reduction == "mean" else reduce_heads(picked, reduction, dim=0)


def _stacked(rows: Sequence[Tensor], visual: VisualSet) -> Tensor:
    """fp32 [B, V] or [B, heads, V] of every row's scores, -inf at the padding."""
    tokens = visual.positions.shape[1]
    if len(rows) == 1 and visual.counts[0] == tokens:
        return rows[0].float().unsqueeze(0)
    scores = torch.full((len(rows), *rows[0].shape[:-1], tokens), -torch.inf)
    for target, own, count in zip(scores, rows, visual.counts, strict=True):
        target[..., :count] = own
    return scores

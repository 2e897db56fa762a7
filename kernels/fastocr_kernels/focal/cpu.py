"""Focal decode attention and gaze scores for CPUs: one read of the keys, one of the values."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fastocr_kernels.cpu_products import span_sum, weights_of
from fastocr_kernels.layouts import VisualSet, check_cache, require
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
    """As `reference.focal_decode`; each row of the caches must be contiguous."""
    check_cache(query, keys, values, lengths.shape[0])
    require(values[0].is_contiguous(), "rows of the value cache must be contiguous")
    batch, all_heads, width = query.shape
    wanted = None if heads is None else chosen_heads(heads, all_heads)
    queries = (query * scale).view(batch, keys.shape[2], -1, width)
    out = torch.empty_like(query)
    scores = _empty_scores(visual, all_heads if wanted is None else len(wanted), reduction)
    for row, length in enumerate(lengths.tolist()):
        weights = weights_of(queries[row], keys[row, :length])
        out[row].view(queries[row].shape).copy_(
            span_sum(weights.to(values.dtype), values[row, :length])
        )
        by_head = weights.view(all_heads, length)
        _score_row(by_head if wanted is None else by_head[wanted], visual, row, reduction, scores)
    return out, scores


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
    """As `reference.gaze_scores`."""
    check_cache(query, keys, keys, lengths.shape[0])
    wanted = chosen_heads(heads, query.shape[1])
    group = query.shape[1] // keys.shape[2]
    scaled = query * scale
    scores = _empty_scores(visual, len(wanted), reduction)
    for row, length in enumerate(lengths.tolist()):
        weights = _weights_by_head(scaled[row], keys[row, :length], wanted, group)
        _score_row(weights, visual, row, reduction, scores)
    return scores


def _weights_by_head(query: Tensor, keys: Tensor, wanted: list[int], group: int) -> Tensor:
    """Weights [heads, L] of the wanted heads; reads only the KV heads those belong to."""
    parts, order = [], []
    for kv_head in sorted({head // group for head in wanted}):
        own = [head for head in wanted if head // group == kv_head]
        # One product for a KV head's queries; a lone query is doubled, because MKL's product with
        # one column takes twice as long as with two (235 against 115 us at 4,600 positions).
        queries = query[own if len(own) > 1 else own * 2].unsqueeze(0)
        weights = weights_of(queries, keys[:, kv_head : kv_head + 1])[0]
        parts.append(weights[: len(own)])
        order.extend(own)
    joined = torch.cat(parts) if len(parts) > 1 else parts[0]
    return joined if order == wanted else joined[[order.index(head) for head in wanted]]


def _empty_scores(visual: VisualSet, heads: int, reduction: HeadReduction) -> Tensor:
    rows, tokens = visual.positions.shape
    shape = (rows, heads, tokens) if reduction == "none" else (rows, tokens)
    return torch.empty(shape)


def _score_row(
    weights: Tensor, visual: VisualSet, row: int, reduction: HeadReduction, scores: Tensor
) -> None:
    """Write row `row` of `scores` from its weights [heads, L]."""
    span, count = visual.spans[row], visual.counts[row]
    if span is not None:
        picked = weights[:, span[0] : span[0] + count]
    else:
        picked = weights.index_select(1, visual.positions[row, :count])
    scores[row, ..., :count] = reduce_heads(picked, reduction, dim=0)
    if count < scores.shape[-1]:
        scores[row, ..., count:] = float("-inf")

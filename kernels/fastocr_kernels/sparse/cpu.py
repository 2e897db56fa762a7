"""Sparse decode attention for CPUs: fetch whole cache rows, multiply, and sum in place.

The way of fetching decides. Keys of one position are one contiguous row of the flattened cache
[B * L_max, Hkv * D], so `index_select` copies them at full speed; values are summed from where
they lie. Rows of the batch go one by one: their sets differ in size, and what is copied for one
stays in the core's cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fastocr_kernels.cpu_products import (
    bag_rows,
    bag_sum,
    is_small,
    matrix_sum,
    prefers_bag,
    weights_of,
    whole_row_queries,
    whole_row_weights,
)
from fastocr_kernels.layouts import AttendedSet, check_cache, require


def sparse_decode(
    query: Tensor, keys: Tensor, values: Tensor, attended: AttendedSet, scale: float
) -> Tensor:
    """As `reference.sparse_decode`; the caches must be contiguous."""
    check_cache(query, keys, values, attended.lengths.shape[0])
    require(keys.is_contiguous() and values.is_contiguous(), "the caches must be contiguous")
    batch, heads, width = query.shape
    capacity, kv_heads = keys.shape[1:3]
    group = heads // kv_heads
    fetch = attended.derived(
        ("cpu", capacity, kv_heads, group), lambda: _fetch(attended, capacity, kv_heads, group)
    )
    flat_keys = keys.view(batch * capacity, kv_heads * width)
    weights = _weights(query, flat_keys, fetch.rows, kv_heads, scale)
    if prefers_bag(group):
        joined = torch.cat([own.reshape(-1) for own in weights]) if batch > 1 else weights[0]
        joined = joined.reshape(-1).to(values.dtype)
        sums = bag_sum(values.view(-1, width), fetch.bags, fetch.offsets, joined)
        return sums.view(batch, heads, width)
    flat_values = values.view(batch * capacity, kv_heads * width)
    out = torch.empty_like(query)
    for own, rows, target in zip(weights, fetch.rows, out, strict=True):
        chosen = flat_values.index_select(0, rows).view(-1, kv_heads, width)
        target.copy_(matrix_sum(own.to(values.dtype), chosen).view(heads, width))
    return out


def _weights(
    query: Tensor, flat_keys: Tensor, rows: list[Tensor], kv_heads: int, scale: float
) -> list[Tensor]:
    """Per row of the batch softmax weights, [Hkv, G, T_b] or [Hq, T_b]; flat_keys [N, Hkv * D]."""
    batch, heads, width = query.shape
    if is_small(heads):
        whole = whole_row_queries(query, kv_heads, scale)
        return [
            whole_row_weights(own, flat_keys.index_select(0, places))
            for own, places in zip(whole, rows, strict=True)
        ]
    queries = (query * scale).view(batch, kv_heads, -1, width)
    return [
        weights_of(own, flat_keys.index_select(0, places).view(-1, kv_heads, width))
        for own, places in zip(queries, rows, strict=True)
    ]


@dataclass(frozen=True)
class _Fetch:
    """Which rows to read, for one cache geometry.

    rows:    per row of the batch [T_b], rows of the cache flattened to [B * L_max, Hkv * D]
    bags:    [sum of Hq * T_b], rows of the cache flattened to [B * L_max * Hkv, D]
    offsets: [B * Hq], where each bag starts
    """

    rows: list[Tensor]
    bags: Tensor
    offsets: Tensor


def _fetch(attended: AttendedSet, capacity: int, kv_heads: int, group: int) -> _Fetch:
    rows = _cache_rows(attended, capacity)
    heads = kv_heads * group
    starts: list[int] = []
    end = 0
    for own in rows:
        starts.extend(end + head * len(own) for head in range(heads))
        end += heads * len(own)
    bags = [bag_rows(own, kv_heads, group).view(-1) for own in rows]
    return _Fetch(rows, torch.cat(bags) if len(bags) > 1 else bags[0], torch.tensor(starts))


def _cache_rows(attended: AttendedSet, capacity: int) -> list[Tensor]:
    """Per row of the batch [T_b]: `attended.positions` counted through the whole cache."""
    indices = attended.indices
    first = torch.arange(0, capacity * len(indices), capacity).unsqueeze(1)
    is_place = indices >= 0
    selected = (indices + first)[is_place].split(is_place.sum(1).tolist())
    spans = zip(attended.text_start.tolist(), attended.lengths.tolist(), strict=True)
    return [
        torch.cat((own, torch.arange(start + row * capacity, stop + row * capacity)))
        for row, (own, (start, stop)) in enumerate(zip(selected, spans, strict=True))
    ]

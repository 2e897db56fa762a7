"""Sparse decode attention for CPUs: fetch whole cache rows, multiply, and sum in place.

The way of fetching decides. Keys of one position are one contiguous row of the flattened cache
[B * L_max, Hkv * D], so `index_select` copies them at full speed; values are summed from where
they lie. Rows of the batch go one by one: their sets differ in size, and what is copied for one
stays in the core's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from fastocr_kernels.cpu_products import bag_rows, bag_sum, matrix_sum, prefers_bag, weights_of
from fastocr_kernels.layouts import AttendedSet, require


def sparse_decode(
    query: Tensor, keys: Tensor, values: Tensor, attended: AttendedSet, scale: float
) -> Tensor:
    """As `reference.sparse_decode`; the caches must be contiguous."""
    require(keys.is_contiguous() and values.is_contiguous(), "the caches must be contiguous")
    batch, heads, width = query.shape
    capacity, kv_heads = keys.shape[1:3]
    fetch = attended.derived(
        ("cpu", capacity, kv_heads, heads), lambda: _fetch(attended, capacity, kv_heads, heads)
    )
    flat_keys = keys.view(batch * capacity, kv_heads * width)
    weights = [
        weights_of(own, flat_keys.index_select(0, rows).view(-1, kv_heads, width), scale)
        for own, rows in zip(query.view(batch, kv_heads, -1, width), fetch.rows, strict=True)
    ]
    if fetch.bags is not None:
        joined = torch.cat([own.reshape(-1) for own in weights]).to(values.dtype)
        bags, offsets = fetch.bags
        sums = bag_sum(values.view(-1, width), bags, offsets, joined)
        return sums.view(batch, heads, width)
    flat_values = values.view(batch * capacity, kv_heads * width)
    seen = (flat_values.index_select(0, rows).view(-1, kv_heads, width) for rows in fetch.rows)
    summed = [
        matrix_sum(own.to(values.dtype), chosen) for own, chosen in zip(weights, seen, strict=True)
    ]
    return torch.stack(summed).view(batch, heads, width)


@dataclass(frozen=True)
class _Fetch:
    """Which rows to read, for one cache geometry.

    rows: per row of the batch [T_b], rows of the cache flattened to [B * L_max, Hkv * D]
    bags: None where values are not summed as bags; else, for one bag a row of the batch and query
        head, in this order (heads that read the same rows find them in the core's cache): int64
        [Hq * sum of T_b], rows of the cache flattened to [B * L_max * Hkv, D], and [B * Hq], where
        each bag starts
    """

    rows: Sequence[Tensor]
    bags: tuple[Tensor, Tensor] | None


def _fetch(attended: AttendedSet, capacity: int, kv_heads: int, heads: int) -> _Fetch:
    rows = _cache_rows(attended, capacity)
    group = heads // kv_heads
    if not prefers_bag(group):
        return _Fetch(rows, None)
    bags = torch.cat([bag_rows(own, kv_heads, group).view(-1) for own in rows])
    sizes = [len(own) for own in rows for _ in range(heads)]
    return _Fetch(rows, (bags, torch.tensor([0, *accumulate(sizes[:-1])])))


def _cache_rows(attended: AttendedSet, capacity: int) -> list[Tensor]:
    """Per row of the batch [T_b]: `attended.positions` counted through the whole cache."""
    chosen = attended.derived_of_choice(
        ("cpu", capacity), lambda: _chosen_rows(attended.indices, capacity)
    )
    spans = zip(attended.text_start.tolist(), attended.lengths.tolist(), strict=True)
    return [
        torch.cat((own, torch.arange(start + row * capacity, stop + row * capacity)))
        for row, (own, (start, stop)) in enumerate(zip(chosen, spans, strict=True))
    ]


def _chosen_rows(indices: Tensor, capacity: int) -> Sequence[Tensor]:
    """As `_cache_rows`, of the chosen positions alone."""
    rows = indices
    if len(indices) > 1:
        rows = indices + torch.arange(0, capacity * len(indices), capacity).unsqueeze(1)
    if not indices.numel() or int(indices.min()) >= 0:
        return rows.unbind()
    return [own[place >= 0] for own, place in zip(rows, indices, strict=True)]

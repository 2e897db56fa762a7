"""The two products of one-token attention on a CPU, each by the call that was fastest there.

Shapes: query [Hkv, G, D], keys and values [T, Hkv, D] with any strides before D, weights
[Hkv, G, T]. Measured on one AVX-512 core with MKL, fp32, 4,600 positions and 2 KV heads of 64:
keys times queries takes 190 us where queries times keys takes 430; the weighted sum takes 210 us
as an embedding bag, 370 as a matrix product, and the bag needs no copy of scattered rows. With
more than four query heads a KV head both turn round, since a bag reads a row once a query head.
Values that lie together and have at most four query heads in all are fastest as one product of
whole rows, half of it thrown away (316 us against 374 at 4,900 positions).
"""

from __future__ import annotations

from functools import cache, lru_cache

import torch
from torch import Tensor

_FEW = 4
_LONG = 2048  # rows from which keys times queries is faster than queries times keys


def weights_of(query: Tensor, keys: Tensor) -> Tensor:
    """Softmax over T of query . keys, [Hkv, G, T]; fp32 unless the query is fp64."""
    if query.shape[1] > _FEW and query.dtype == torch.float32:
        logits = torch.bmm(query, keys.permute(1, 2, 0))
    else:
        logits = torch.bmm(keys.transpose(0, 1), query.transpose(1, 2)).transpose(1, 2)
    return logits.softmax(-1, dtype=weight_dtype(query.dtype))


def is_small(query_heads: int) -> bool:
    """Whether products of whole rows pay, though all but one KV head's part is thrown away."""
    return query_heads <= _FEW


def whole_row_queries(query: Tensor, kv_heads: int, scale: float) -> Tensor:
    """query [B, Hq, D] times scale, zero outside its KV head's part of a row: [B, Hq, Hkv * D]."""
    batch, heads, width = query.shape
    parts = query.view(batch, kv_heads, -1, 1, width)
    return (parts * _own_part(kv_heads, scale, query.dtype)).view(batch, heads, -1)


@lru_cache(maxsize=64)
def _own_part(kv_heads: int, scale: float, dtype: torch.dtype) -> Tensor:
    """[Hkv, 1, Hkv, 1], `scale` where a head meets itself."""
    return (torch.eye(kv_heads, dtype=dtype) * scale).view(kv_heads, 1, kv_heads, 1)


def whole_row_weights(queries: Tensor, rows: Tensor) -> Tensor:
    """Softmax over T of queries [Hq, R] . rows [T, R]: [Hq, T]."""
    is_short = len(rows) < _LONG
    logits = torch.mm(queries, rows.t()) if is_short else torch.mm(rows, queries.t()).t()
    return logits.softmax(-1, dtype=weight_dtype(queries.dtype))


def weight_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def prefers_bag(group: int) -> bool:
    """Whether `bag_sum` beats `matrix_sum` for `group` query heads a KV head."""
    return group <= _FEW


def bag_rows(rows: Tensor, kv_heads: int, group: int) -> Tensor:
    """Rows [T] of a cache [N, Hkv, D] as rows of its view [N * Hkv, D], head by head: [Hq, T]."""
    return rows * kv_heads + _kv_head_of(kv_heads, group)


@cache
def _kv_head_of(kv_heads: int, group: int) -> Tensor:
    """[Hq, 1], the KV head each query head reads."""
    return torch.arange(kv_heads).repeat_interleave(group).unsqueeze(1)


def bag_sum(values: Tensor, rows: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
    """Sums of weighted rows, read where they lie: [bags, D].

    values [N, D]; rows and weights are the bags one after the other, offsets [bags] their starts.
    """
    return torch.embedding_bag(values, rows, offsets, False, 0, False, weights)[0]


def matrix_sum(weights: Tensor, values: Tensor) -> Tensor:
    """weights [Hkv, G, T] times values [T, Hkv, D]: [Hkv, G, D]."""
    return torch.bmm(weights, values.transpose(0, 1))


def span_sum(weights: Tensor, values: Tensor) -> Tensor:
    """weights [Hkv, G, T] times contiguous values [T, Hkv, D]: [Hkv, G, D]; nothing is fetched."""
    kv_heads, group, length = weights.shape
    width = values.shape[2]
    if is_small(kv_heads * group):
        rows = values.view(length, kv_heads * width)
        products = torch.mm(weights.reshape(-1, length), rows).view(
            kv_heads, group, kv_heads, width
        )
        return products.diagonal(dim1=0, dim2=2).permute(2, 0, 1)
    if prefers_bag(group):
        bags, offsets = _whole_bags(length, kv_heads, group)
        sums = bag_sum(values.view(-1, width), bags, offsets, weights.reshape(-1))
        return sums.view(kv_heads, group, width)
    return matrix_sum(weights, values)


@lru_cache(maxsize=32)  # the layers of a step share it, and a batch has a few dozen rows at most
def _whole_bags(length: int, kv_heads: int, group: int) -> tuple[Tensor, Tensor]:
    """Rows [Hq * length] and offsets [Hq] of one bag per query head over all positions."""
    bags = bag_rows(torch.arange(length), kv_heads, group)
    return bags.view(-1), torch.arange(kv_heads * group) * length

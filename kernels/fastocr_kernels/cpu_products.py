"""The products of one-token attention on a CPU, each by the call that was fastest there.

Shapes: query [Hkv, G, D], keys and values [T, Hkv, D], weights [Hkv, G, T]. Measured with MKL in
fp32, 2 KV heads of 64 with two query heads each, caches read from memory; microseconds:

                                       5,000 positions          730 positions
                                    AVX-512    Zen 3, AVX2      Zen 3, AVX2
    keys times queries, by head         190          2,700              110
    keys times queries, whole rows                     520               67
    queries times keys, by head         430          1,360               47
    queries times keys, whole rows                     980               53
    weights times values, whole rows    316            760
    weights times values, in a bag      374            640

Whole rows: a row of the cache is multiplied as it lies, and all but one KV head's part thrown away.
A bag (`embedding_bag`) reads a row once a query head. With more than four query heads a KV head
queries go times keys, and nothing into a bag.
"""

from __future__ import annotations

from functools import cache, lru_cache

import torch
from torch import Tensor

_FEW = 4
_LONG = 2048  # positions from which keys times queries is faster than queries times keys


def weights_of(query: Tensor, keys: Tensor, scale: float) -> Tensor:
    """Softmax over T of query . keys times scale, [Hkv, G, T]; fp32 unless the query is fp64."""
    kv_heads, group, _ = query.shape
    is_short = len(keys) < _LONG
    takes_whole_rows = is_short == _has_avx512() and _is_small(kv_heads * group)
    if takes_whole_rows and keys.is_contiguous():
        logits = _whole_row_logits(query, keys, scale)
    elif query.dtype == torch.float32 and (group > _FEW or (is_short and not _has_avx512())):
        nothing = _zero(query.dtype)
        logits = torch.baddbmm(nothing, query, keys.permute(1, 2, 0), beta=0, alpha=scale)
    else:
        turned = (query * scale).transpose(1, 2)
        logits = torch.bmm(keys.transpose(0, 1), turned).transpose(1, 2)
    return logits.softmax(-1, dtype=_weight_dtype(query.dtype))


def _whole_row_logits(query: Tensor, keys: Tensor, scale: float) -> Tensor:
    """As `weights_of` before the softmax."""
    whole, rows = _whole_row_queries(query, scale), keys.flatten(1)
    if len(rows) < _LONG:
        logits = torch.mm(whole, rows.t())
    else:
        # Turning the logits costs less than a softmax across turned ones.
        logits = torch.mm(rows, whole.t()).t().contiguous()
    return logits.view(*query.shape[:2], -1)


def mean_of_heads(weights: Tensor) -> Tensor:
    """[H, T] to [T]; a product, for what sums over the first dimension takes twice as long."""
    return weights[0] if len(weights) == 1 else _shares(len(weights), weights.dtype) @ weights


@cache
def _has_avx512() -> bool:
    return torch.backends.cpu.get_cpu_capability() == "AVX512"


def _is_small(query_heads: int) -> bool:
    """Whether products of whole rows pay, though all but one KV head's part is thrown away."""
    return query_heads <= _FEW


def _whole_row_queries(query: Tensor, scale: float) -> Tensor:
    """query [Hkv, G, D] times scale, zero outside its KV head's part of a row: [Hq, Hkv * D]."""
    kv_heads, group, _ = query.shape
    parts = query.unsqueeze(2) * _own_part(kv_heads, scale, query.dtype)
    return parts.view(kv_heads * group, -1)


@lru_cache(maxsize=64)
def _own_part(kv_heads: int, scale: float, dtype: torch.dtype) -> Tensor:
    """[Hkv, 1, Hkv, 1], `scale` where a head meets itself."""
    return (torch.eye(kv_heads, dtype=dtype) * scale).view(kv_heads, 1, kv_heads, 1)


@cache
def _zero(dtype: torch.dtype) -> Tensor:
    return torch.zeros(1, dtype=dtype)


@lru_cache(maxsize=64)
def _shares(count: int, dtype: torch.dtype) -> Tensor:
    return torch.full((count,), 1 / count, dtype=dtype)


def _weight_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def prefers_bag(group: int) -> bool:
    """Whether `bag_sum` beats `matrix_sum` for `group` query heads a KV head."""
    return group <= _FEW


def bag_rows(rows: Tensor, kv_heads: int, group: int) -> Tensor:
    """Rows [T] of a cache [N, Hkv, D] as rows of its view [N * Hkv, D], head by head: [Hq, T]."""
    return torch.add(_kv_head_of(kv_heads, group), rows, alpha=kv_heads)


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
    if _is_small(kv_heads * group):
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

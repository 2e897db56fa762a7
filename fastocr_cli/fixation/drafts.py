"""Attention of a drafted step: several tokens of a page at once, the later ones seeing the earlier.

Folded into the query heads of their KV head, the tokens are one wide query; so the scores that
choose a fixation come from the same kernels as a single token's. Knows tensors only.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from fastocr_kernels import AttendedSet


def dense_draft(
    query: Tensor, keys: Tensor, values: Tensor, lengths: Tensor, scale: float
) -> Tensor:
    """query: [B, T, Hq, D]; keys, values: [B, L_max, Hkv, D]; lengths: int64 [B], the T tokens
    counted. Token t of a row sees all but its last T - 1 - t positions. Returns query's shape."""
    rows = [
        _attend_causally(own, keys[row, :length], values[row, :length], scale)
        for row, (own, length) in enumerate(zip(query, lengths.tolist(), strict=True))
    ]
    return torch.stack(rows)


def sparse_draft(
    query: Tensor, keys: Tensor, values: Tensor, attended: AttendedSet, scale: float
) -> Tensor:
    """As `dense_draft`, over the attended set only."""
    first, last = attended.text_start.tolist(), attended.lengths.tolist()
    rows = []
    for row, own in enumerate(query):
        chosen = attended.indices[row]
        chosen, text = chosen[chosen >= 0], slice(first[row], last[row])
        near, seen = (
            torch.cat([cache[row].index_select(0, chosen), cache[row, text]])
            for cache in (keys, values)
        )
        rows.append(_attend_causally(own, near, seen, scale))
    return torch.stack(rows)


def fold(query: Tensor, kv_heads: int) -> Tensor:
    """[B, T, Hq, D] to [B, Hkv * T * G, D], the heads that read one KV head side by side."""
    return query.unflatten(2, (kv_heads, -1)).transpose(1, 2).flatten(1, 3)


def folded_heads(heads: Sequence[int], tokens: int, group: int) -> list[int]:
    """Where `fold` puts all tokens' query heads of these numbers. group: Hq / Hkv."""
    return [
        (head // group * tokens + token) * group + head % group
        for head in heads
        for token in range(tokens)
    ]


def _attend_causally(query: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """query: [T, Hq, D]; keys, values: [N, Hkv, D], of which the last T are the tokens' own."""
    tokens, positions = len(query), len(keys)
    mask = torch.ones(tokens, positions, dtype=torch.bool, device=query.device)
    by_head = [one.transpose(0, 1)[None] for one in (query, keys, values)]
    attended = F.scaled_dot_product_attention(
        by_head[0],
        by_head[1],
        by_head[2],
        attn_mask=mask.tril(positions - tokens),
        scale=scale,
        enable_gqa=True,
    )
    return attended[0].transpose(0, 1)

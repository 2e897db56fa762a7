"""Which patch tokens stay: the page's own prune ratio, and the tokens of highest norm.

Knows features and edge densities; does not know what becomes of the dropped tokens.
"""

from __future__ import annotations

import torch


def redundancy(directions: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Mean squared cosine over all ordered pairs i != j, [B] float32 in 0..1.

    directions: [B, N, D], rows of norm one; rows of zeros beyond a page's tokens [B].
    The sum of squared cosines is |U U'|^2 = |U' U|^2 (Frobenius), so the smaller product serves.
    """
    count, width = directions.shape[1:]
    gram = directions @ directions.mT if count <= width else directions.mT @ directions
    with_itself = directions.square().sum(-1).square().sum(-1)
    pairs = (tokens * (tokens - 1)).clamp(min=1)
    return (gram.square().sum((-2, -1)) - with_itself).clamp(min=0) / pairs


def prune_ratio(redundancies: torch.Tensor, densities: torch.Tensor) -> torch.Tensor:
    """Share of the patch tokens to drop, s(1 - a): much on alike tokens and empty pages. [B]."""
    return redundancies * (1 - densities)


def keep_count(tokens: int, ratio: float) -> int:
    """How many of the tokens stay when this share is to go: truncated as published, at least one.

    The addend is for shares such as 0.9: 10 * (1 - 0.9) is 0.9999999999999998, which means 1.
    """
    return max(int(tokens * (1 - ratio) + 1e-9), 1)


def keep_highest(norms: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Mask [B, N] of each row's counts[b] largest norms [B, N]; of equal ones the first stays."""
    order = norms.argsort(dim=-1, descending=True, stable=True)
    ranks = torch.empty_like(order)
    ranks.scatter_(-1, order, torch.arange(norms.shape[-1], device=norms.device).expand_as(order))
    return ranks < counts[:, None]

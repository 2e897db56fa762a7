"""Over which query heads visual scores are taken, and how they become one number a token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from torch import Tensor

from fastocr_kernels.layouts import require

HeadReduction = Literal["mean", "max", "none"]


def check_scoring(heads: Sequence[int] | None, count: int, reduction: HeadReduction) -> None:
    """Raise ValueError for a head that is not among `count` and for an unknown reduction."""
    require(reduction in get_args(HeadReduction), "unknown head reduction:", reduction)
    if heads is not None:
        valid = len(heads) > 0 and all(0 <= head < count for head in heads)
        require(valid, f"heads must be among 0..{count - 1}, got", list(heads))


def chosen_heads(heads: Sequence[int] | None, count: int) -> list[int]:
    """The heads asked for, or all `count`."""
    return list(range(count) if heads is None else heads)


def reduce_heads(weights: Tensor, reduction: HeadReduction, dim: int) -> Tensor:
    """Weights per head reduced over dimension `dim`; unchanged for "none"."""
    if reduction == "none":
        return weights
    return weights.mean(dim) if reduction == "mean" else weights.amax(dim)

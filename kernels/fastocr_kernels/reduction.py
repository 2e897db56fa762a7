"""Over which query heads visual scores are taken, and how they become one number a token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from torch import Tensor

from fastocr_kernels.layouts import require

HeadReduction = Literal["mean", "max", "none"]


def chosen_heads(heads: Sequence[int] | None, count: int) -> list[int]:
    """The head list asked for, or all `count` heads; ValueError for a head that is not there."""
    if heads is None:
        return list(range(count))
    wanted = list(heads)
    valid = bool(wanted) and all(0 <= head < count for head in wanted)
    require(valid, f"heads must be among 0..{count - 1}, got", wanted)
    return wanted


def reduce_heads(weights: Tensor, reduction: HeadReduction, dim: int) -> Tensor:
    """Weights per head reduced over dimension `dim`; unchanged for "none"."""
    require(reduction in get_args(HeadReduction), "unknown head reduction:", reduction)
    if reduction == "none":
        return weights
    return weights.mean(dim) if reduction == "mean" else weights.amax(dim)

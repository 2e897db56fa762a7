"""Attention of one new token over a page's cache: sparse, focal (dense with scores), gaze only.

Imports torch, and Triton only when a GPU needs it. Knows tensors and nothing of models, pages or
policies. What each function means is defined by the `reference.py` of its folder. Arguments are
checked here, once for all implementations, with a ValueError that names both sides.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from fastocr_kernels.dispatch import call as _call
from fastocr_kernels.dispatch import explain, implementation_for, use_implementation
from fastocr_kernels.layouts import AttendedSet, VisualSet, check_cache, require_vector
from fastocr_kernels.reduction import HeadReduction, check_scoring

__all__ = [
    "AttendedSet",
    "HeadReduction",
    "VisualSet",
    "explain",
    "focal_decode",
    "gaze_scores",
    "implementation_for",
    "sparse_decode",
    "use_implementation",
]


def sparse_decode(
    query: Tensor, keys: Tensor, values: Tensor, attended: AttendedSet, scale: float
) -> Tensor:
    """Attention over the attended set only; see `sparse/reference.py`."""
    check_cache(query, keys, values, attended.lengths.shape[0])
    result: Tensor = _call("sparse", "sparse_decode", query, keys, values, attended, scale)
    return result


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
    """Dense attention and the visual tokens' scores; see `focal/reference.py`."""
    check_cache(query, keys, values, visual.positions.shape[0])
    require_vector("lengths", lengths, query.shape[0])
    check_scoring(heads, query.shape[1], reduction)
    result: tuple[Tensor, Tensor] = _call(
        "focal",
        "focal_decode",
        query,
        keys,
        values,
        visual,
        lengths,
        scale,
        heads=heads,
        reduction=reduction,
    )
    return result


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
    """The visual tokens' scores without the attention; see `focal/reference.py`."""
    check_cache(query, keys, keys, visual.positions.shape[0])
    require_vector("lengths", lengths, query.shape[0])
    check_scoring(heads, query.shape[1], reduction)
    result: Tensor = _call(
        "focal",
        "gaze_scores",
        query,
        keys,
        visual,
        lengths,
        scale,
        heads=heads,
        reduction=reduction,
    )
    return result

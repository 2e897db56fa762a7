"""What a decode step attends to, as tensors, and the checks every entry point makes.

Knows positions in a key/value cache and nothing of models, pages or policies. Both classes are
built once (per fixation, per batch) and shared by all layers, so that what a fast path derives
from them is derived once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class AttendedSet:
    """The cache positions one decode step attends to, ragged over the rows of a batch.

    Row ``b`` attends to ``indices[b]`` (entries of -1 are padding) and to every position of the
    span ``[text_start[b], lengths[b])``. The two must not overlap: a position named twice would
    count twice.

    indices:    [B, K] int32 or int64, ascending, padded with -1; K may be 0
    text_start: [B] int64, first position attended in full
    lengths:    [B] int64, positions in use, the newest token included
    """

    indices: Tensor
    text_start: Tensor
    lengths: Tensor
    _derived: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        rows = self.indices.shape[0]
        require(self.indices.dim() == 2, "indices must be [B, K], got", tuple(self.indices.shape))
        require_index_dtype("indices", self.indices)
        for name in ("text_start", "lengths"):
            require_vector(name, getattr(self, name), rows)

    def derived(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value of `make()`, computed on first use and kept under `key`."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    def positions(self, row: int) -> Tensor:
        """[T] int64, the positions row `row` attends to: selected ones first, then the span."""
        selected = self.indices[row]
        selected = selected[selected >= 0].long()
        start, stop = int(self.text_start[row]), int(self.lengths[row])
        return torch.cat((selected, torch.arange(start, stop, device=selected.device)))


@dataclass(frozen=True, eq=False)
class VisualSet:
    """Where the visual tokens that may be selected sit in the cache, per row of a batch.

    positions: [B, V] int32 or int64, ascending, padded with -1; V may be 0
    """

    positions: Tensor

    def __post_init__(self) -> None:
        shape = tuple(self.positions.shape)
        require(self.positions.dim() == 2, "positions must be [B, V], got", shape)
        require_index_dtype("positions", self.positions)

    @cached_property
    def spans(self) -> list[tuple[int, int] | None]:
        """Per row (first, count) where the positions are one unbroken run, else None."""
        return [_span(row) for row in self.positions]

    @cached_property
    def counts(self) -> list[int]:
        """Visual tokens per row."""
        return (self.positions >= 0).sum(1).tolist()


def _span(row: Tensor) -> tuple[int, int] | None:
    count = int((row >= 0).sum())
    if count == 0:
        return 0, 0
    first, last = int(row[0]), int(row[count - 1])
    return (first, count) if last - first == count - 1 else None


def check_cache(query: Tensor, keys: Tensor, values: Tensor, rows: int) -> None:
    """Raise ValueError unless query [B, Hq, D] and caches [B, L_max, Hkv, D] fit together."""
    shape, cache = query.shape, keys.shape
    fits = len(shape) == 3 and len(cache) == 4 and cache == values.shape
    fits = fits and shape[0] == cache[0] == rows and shape[2] == cache[3]
    if not fits or shape[1] % cache[2]:
        raise ValueError(
            "query [B, Hq, D], keys and values [B, L_max, Hkv, D] with Hq a multiple of Hkv and "
            f"{rows} rows do not fit: {tuple(shape)}, {tuple(cache)}, {tuple(values.shape)}"
        )
    if not query.dtype == keys.dtype == values.dtype:
        raise ValueError(f"dtypes differ: {query.dtype}, {keys.dtype}, {values.dtype}")
    strides = query.stride(2), keys.stride(3), values.stride(3)
    if strides != (1, 1, 1):
        raise ValueError(f"the head dimension must be contiguous, its strides are {strides}")


def require(condition: bool, message: str, *facts: object) -> None:
    """Raise ValueError with `message` and the facts unless `condition` holds."""
    if not condition:
        raise ValueError(" ".join([message, *map(str, facts)]))


def require_index_dtype(name: str, tensor: Tensor) -> None:
    known = tensor.dtype in (torch.int32, torch.int64)
    require(known, f"{name} must be int32 or int64, got", tensor.dtype)


def require_vector(name: str, tensor: Tensor, rows: int) -> None:
    require(tuple(tensor.shape) == (rows,), f"{name} must be [{rows}], got", tuple(tensor.shape))
    require_index_dtype(name, tensor)

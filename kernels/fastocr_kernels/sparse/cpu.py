"""Sparse decode attention for CPUs: every attended row read once, where it lies."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fastocr_kernels.layouts import AttendedSet, require
from fastocr_kernels.loops import loops, share_rows
from fastocr_kernels.sparse import reference


def sparse_decode(
    query: Tensor, keys: Tensor, values: Tensor, attended: AttendedSet, scale: float
) -> Tensor:
    """As `reference.sparse_decode`, which also serves what is not fp32; contiguous caches only."""
    require(keys.is_contiguous() and values.is_contiguous(), "the caches must be contiguous")
    if query.dtype != torch.float32:
        return reference.sparse_decode(query, keys, values, attended, scale)
    query = query.contiguous()
    out = torch.empty_like(query)
    run = loops(query.shape[2]).sparse
    by_row = (
        *(query.numpy(), keys.numpy(), values.numpy()),
        *attended.derived("loops", lambda: _positions(attended)),
    )
    factor, written = np.float32(scale), out.numpy()

    def attend(rows: slice) -> None:
        run(*(part[rows] for part in by_row), factor, written[rows])

    share_rows(len(query), attend)
    return out


def _positions(attended: AttendedSet) -> tuple[np.ndarray, ...]:
    """Indices, starts and stops as `Loops.sparse` takes them."""
    parts = (attended.indices, attended.text_start, attended.lengths)
    return tuple(part.long().contiguous().numpy() for part in parts)

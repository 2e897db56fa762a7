"""Attend to everything: the policy that equals the stock model token for token.

Also home of `dense_attention`, which layers that do not prune share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from fastocr_cli.fixation.drafts import dense_draft
from fastocr_cli.fixation.policy import DecoderShape, PolicyStats
from fastocr_cli.models.base import VisualLayout
from fastocr_kernels.cpu_products import prefers_bag, span_sum, weights_of

_LONG = 1024
"""From this many positions on, two products of our own beat SDPA on a CPU (4,600 positions, 2 KV
heads of 64, one AVX-512 core, fp32: 270 us against 730); below, its single call wins."""


def dense_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    lengths: Tensor,
    scale: float,
    longest: int,
    *,
    window: int | None = None,
) -> Tensor:
    """One token's attention over each row's first `lengths` cached positions.

    query: [B, Hq, D]; keys, values: [B, L_max, Hkv, D]; lengths: int64 [B]; longest: their
    maximum; window: only that many of the last positions are read. Returns [B, Hq, D].
    """
    batch, heads, dim = query.shape
    kv_heads = keys.shape[2]
    # The query heads of one KV head become rows of one matrix: grouped attention without a mask
    # flag, a repeat or a copy.
    grouped = query.reshape(batch, kv_heads, heads // kv_heads, dim)
    if query.device.type == "cpu":
        spans = [(max(0, end - (window or end)), end) for end in lengths.tolist()]
        attended = _attend_by_row(grouped, keys, values, spans, scale)
    else:
        attended = _attend_padded(grouped, keys, values, lengths, scale, longest, window)
    return attended.reshape(batch, heads, values.shape[3])


def _attend_by_row(
    query: Tensor, keys: Tensor, values: Tensor, spans: list[tuple[int, int]], scale: float
) -> Tensor:
    """query: [B, Hkv, G, D]; returns the same shape. No mask; no row reads another's tail."""
    rows = [
        _attend_row(query[row], keys[row, start:end], values[row, start:end], scale)
        for row, (start, end) in enumerate(spans)
    ]
    return torch.stack(rows) if len(rows) > 1 else rows[0][None]


def _attend_row(query: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """query: [Hkv, G, D]; keys, values: [T, Hkv, D], each contiguous. Returns [Hkv, G, D]."""
    if keys.shape[0] < _LONG or not prefers_bag(query.shape[1]):
        # With a batch dimension: without one SDPA takes its slow path.
        attended = F.scaled_dot_product_attention(
            query[None], keys[None].transpose(1, 2), values[None].transpose(1, 2), scale=scale
        )
        return attended[0]
    return span_sum(weights_of(query, keys, scale).to(values.dtype), values)


def _attend_padded(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    lengths: Tensor,
    scale: float,
    longest: int,
    window: int | None,
) -> Tensor:
    """query: [B, Hkv, G, D]; returns the same shape. One launch for all rows, tails masked."""
    mask = None
    if query.shape[0] > 1 or window is not None:
        position = torch.arange(longest, device=query.device)
        is_read = position < lengths[:, None]
        if window is not None:
            is_read &= position >= lengths[:, None] - window
        mask = is_read[:, None, None, :]
    return F.scaled_dot_product_attention(
        query,
        keys[:, :longest].transpose(1, 2),
        values[:, :longest].transpose(1, 2),
        attn_mask=mask,
        scale=scale,
    )


@dataclass(frozen=True)
class DensePolicy:
    """Every layer reads every cached position."""

    name: ClassVar[str] = "dense"

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> DenseState:
        return DenseState(len(layouts))


class DenseState:
    takes_drafts = True

    def __init__(self, pages: int) -> None:
        self._pages = pages
        self._longest = 0

    def begin_step(self, longest: int, widths: Sequence[int] = ()) -> None:
        self._longest = longest

    def attend(
        self,
        layer: int,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        lengths: Tensor,
        scale: float,
    ) -> Tensor:
        if query.ndim == 4:
            return dense_draft(query, keys, values, lengths, scale)
        return dense_attention(query, keys, values, lengths, scale, self._longest)

    def select_rows(self, rows: Tensor) -> None:
        """Nothing is kept per row."""

    def finish(self) -> list[PolicyStats]:
        return [PolicyStats()] * self._pages

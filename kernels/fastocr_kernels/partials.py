# Compile-time sizes are capitals and kernels carry no types, see kernels/README.md.
# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def"
"""Partial attention results of a split sequence, and the kernel that makes one result of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor


@dataclass(frozen=True)
class Partials:
    """What each of S splits found.

    sums: fp32 [B, Hq, S, D], attention output normalised within the split
    lse:  fp32 [B, Hq, S], log2 of the split's sum of weights, -inf where it attended to nothing
    """

    sums: Tensor
    lse: Tensor

    @classmethod
    def empty(cls, query: Tensor, splits: int) -> Partials:
        """Room for the splits of query [B, Hq, D]."""
        batch, heads, width = query.shape
        sums = torch.empty(batch, heads, splits, width, device=query.device)
        return cls(sums, torch.empty(batch, heads, splits, device=query.device))

    def combine(self, query: Tensor) -> Tensor:
        """The attention output, like query [B, Hq, D]."""
        batch, heads, splits, width = self.sums.shape
        out = torch.empty(batch, heads, width, dtype=query.dtype, device=query.device)
        combine_kernel[(batch * heads,)](
            self.sums,
            self.lse,
            out,
            D=width,
            BD=triton.next_power_of_2(width),
            S=splits,
            BS=triton.next_power_of_2(splits),
            num_warps=4,
        )
        return out


@triton.jit
def combine_kernel(
    p_sums,  # [B * HQ, S, D] fp32
    p_lse,  # [B * HQ, S] fp32
    p_out,  # [B * HQ, D]
    D: tl.constexpr,
    BD: tl.constexpr,
    S: tl.constexpr,
    BS: tl.constexpr,
):
    """Weighs each split by its share of all weights; zeros where nothing was attended to."""
    i_head = tl.program_id(0).to(tl.int64)
    o_s = tl.arange(0, BS)
    o_d = tl.arange(0, BD)
    m_d = o_d < D
    b_lse = tl.load(p_lse + i_head * S + o_s, o_s < S, other=float("-inf"))  # [BS]
    b_max = tl.max(b_lse, 0)
    b_base = tl.where(b_max == float("-inf"), 0.0, b_max)
    b_share = tl.exp2(b_lse - b_base)
    b_norm = tl.sum(b_share, 0)
    b_share = b_share / tl.where(b_norm > 0, b_norm, 1.0)
    m_sums = (o_s < S)[:, None] & m_d[None, :]
    p_split = p_sums + (i_head * S + o_s[:, None]) * D + o_d[None, :]
    b_sums = tl.load(p_split, m_sums, other=0.0)  # [BS, BD]
    b_out = tl.sum(b_sums * b_share[:, None], 0)
    tl.store(p_out + i_head * D + o_d, b_out.to(p_out.dtype.element_ty), m_d)

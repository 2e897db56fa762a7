# Compile-time sizes are capitals and kernels carry no types, see kernels/README.md.
# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def"
"""From logits and log sums to the visual tokens' scores: a kernel over the visual positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from fastocr_kernels.layouts import require
from fastocr_kernels.reduction import HeadReduction, chosen_heads

_BLOCK = 256
_REDUCTIONS: dict[HeadReduction, int] = {"mean": 0, "max": 1, "none": 2}


@dataclass(frozen=True)
class HeadTables:
    """Which heads are scored, on the device; int32.

    heads:    [count] query heads in the order asked for
    slots:    [Hq] each query head's place in `heads`, -1 where it is not scored
    kv_heads: the KV heads these read, ascending
    """

    heads: Tensor
    slots: Tensor
    kv_heads: Tensor

    @property
    def count(self) -> int:
        return self.heads.shape[0]

    @staticmethod
    def of(
        heads: Sequence[int] | None, query_heads: int, kv_heads: int, device: torch.device
    ) -> HeadTables:
        """The tables; made once per choice of heads, since each costs a copy to the device."""
        wanted = tuple(chosen_heads(heads, query_heads))
        require(len(set(wanted)) == len(wanted), "a head is named twice:", wanted)
        return _tables(wanted, query_heads, kv_heads, device)


@cache
def _tables(
    wanted: tuple[int, ...], query_heads: int, kv_heads: int, device: torch.device
) -> HeadTables:
    slots = [wanted.index(head) if head in wanted else -1 for head in range(query_heads)]
    read = sorted({head // (query_heads // kv_heads) for head in wanted})
    return HeadTables(
        *(
            torch.tensor(list(one), dtype=torch.int32, device=device)
            for one in (wanted, slots, read)
        )
    )


def visual_scores(
    logits: Tensor, lse: Tensor, positions: Tensor, tables: HeadTables, reduction: HeadReduction
) -> Tensor:
    """Softmax weights at `positions`, fp32 [B, V], or [B, heads, V] for reduction "none".

    logits [B, heads, L_max] and lse [B, Hq, S] in base 2; positions [B, V] padded with -1.
    """
    batch, tokens = positions.shape
    shape = (batch, tables.count, tokens) if reduction == "none" else (batch, tokens)
    scores = torch.empty(shape, device=logits.device)
    if tokens == 0:
        return scores
    splits = lse.shape[2]
    visual_scores_kernel[(triton.cdiv(tokens, _BLOCK), batch)](
        logits,
        lse,
        positions,
        tables.heads,
        scores,
        tokens,
        logits.shape[2],
        *positions.stride(),
        HQ=lse.shape[1],
        HEADS=tables.count,
        S=splits,
        BS=triton.next_power_of_2(splits),
        REDUCTION=_REDUCTIONS[reduction],
        BLOCK=_BLOCK,
        num_warps=4,
    )
    return scores


@triton.jit
def visual_scores_kernel(
    p_logits,  # [B, HEADS, L_max] fp32
    p_lse,  # [B, HQ, S] fp32
    p_positions,  # [B, V]
    p_heads,  # [HEADS]
    p_scores,  # [B, V] or [B, HEADS, V] fp32
    tokens,  # V
    capacity,  # L_max
    s_pb,
    s_pv,
    HQ: tl.constexpr,
    HEADS: tl.constexpr,
    S: tl.constexpr,
    BS: tl.constexpr,
    REDUCTION: tl.constexpr,  # 0 mean, 1 max, 2 none
    BLOCK: tl.constexpr,
):
    """One program takes BLOCK visual tokens of one sequence through all scored heads."""
    i_b = tl.program_id(1).to(tl.int64)
    o_v = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o_s = tl.arange(0, BS)
    b_place = tl.load(p_positions + i_b * s_pb + o_v * s_pv, o_v < tokens, other=-1)  # [BLOCK]
    m_v = b_place >= 0
    b_score = tl.zeros([BLOCK], tl.float32)
    for i_n in range(HEADS):
        i_head = i_b * HQ + tl.load(p_heads + i_n)
        b_lse = tl.load(p_lse + i_head * S + o_s, o_s < S, other=float("-inf"))  # [BS]
        b_base = tl.max(b_lse, 0)
        b_total = b_base + tl.log2(tl.sum(tl.exp2(b_lse - b_base), 0))
        i_row = i_b * HEADS + i_n
        b_logit = tl.load(p_logits + i_row * capacity + b_place, m_v, other=0.0)  # [BLOCK]
        b_weight = tl.exp2(b_logit - b_total)
        if REDUCTION == 2:
            b_weight = tl.where(m_v, b_weight, float("-inf"))
            tl.store(p_scores + i_row * tokens + o_v, b_weight, o_v < tokens)
        elif REDUCTION == 1:
            b_score = tl.maximum(b_score, b_weight)
        else:
            b_score += b_weight / HEADS
    if REDUCTION != 2:
        b_score = tl.where(m_v, b_score, float("-inf"))
        tl.store(p_scores + i_b * tokens + o_v, b_score, o_v < tokens)

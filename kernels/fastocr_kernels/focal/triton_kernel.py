# Compile-time sizes are capitals and kernels carry no types, see kernels/README.md.
# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def"
"""Focal decode attention in Triton: dense, keeping the logits the visual scores are made of.

One program takes one KV head of one sequence and one of S splits of its positions. It leaves
partial results for `partials.py` and the chosen heads' logits, fp32, which `scores.py` turns into
softmax weights once all splits are known. Letter code in kernels/README.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from fastocr_kernels.focal.scores import HeadTables, visual_scores
from fastocr_kernels.launch import LOG2E, launch, plan
from fastocr_kernels.layouts import VisualSet
from fastocr_kernels.partials import Partials
from fastocr_kernels.reduction import HeadReduction


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
    """As `reference.focal_decode`."""
    tables = HeadTables.of(heads, query.shape[1], keys.shape[2], query.device)
    every = HeadTables.of(None, query.shape[1], keys.shape[2], query.device)
    partials, logits = _attend(query, keys, values, every.kv_heads, lengths, scale, tables)
    return partials.combine(query), visual_scores(
        logits, partials.lse, visual.positions, tables, reduction
    )


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
    """As `reference.gaze_scores`."""
    tables = HeadTables.of(heads, query.shape[1], keys.shape[2], query.device)
    partials, logits = _attend(query, keys, None, tables.kv_heads, lengths, scale, tables)
    return visual_scores(logits, partials.lse, visual.positions, tables, reduction)


def _attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor | None,
    kv_heads: Tensor,
    lengths: Tensor,
    scale: float,
    tables: HeadTables,
) -> tuple[Partials, Tensor]:
    """Partial results (log sums only without values), and logits [B, heads, L_max] times log2(e).

    kv_heads: int32, the KV heads to visit.
    """
    batch, capacity = keys.shape[:2]
    grid = plan(query, keys, longest=capacity, visited=kv_heads.shape[0])
    partials = Partials.empty(query, grid.splits)
    logits = torch.empty(batch, tables.count, capacity, device=query.device)
    read = keys if values is None else values
    launch(
        focal_decode_kernel,
        grid,
        query.contiguous(),
        keys,
        read,
        kv_heads,
        tables.slots,
        lengths,
        partials.sums,
        partials.lse,
        logits,
        scale * LOG2E,
        capacity,
        tables.count,
        *keys.stride()[:3],
        *read.stride()[:3],
        WITH_VALUES=values is not None,
    )
    return partials, logits


@triton.jit
def focal_decode_kernel(
    p_query,  # [B, HQ, D]
    p_keys,  # [B, L_max, HKV, D]
    p_values,
    p_kv_heads,  # the KV head of each program
    p_slots,  # [HQ], where a head's logits go, -1: nowhere
    p_lengths,  # [B]
    p_sums,  # [B, HQ, S, D] fp32, normalised within the split
    p_lse,  # [B, HQ, S] fp32, base 2, -inf where the split is empty
    p_logits,  # [B, slots, L_max] fp32
    scale,  # softmax scale times log2(e)
    capacity,  # L_max
    slots,
    s_kb,
    s_kl,
    s_kh,
    s_vb,
    s_vl,
    s_vh,
    HKV: tl.constexpr,
    G: tl.constexpr,
    D: tl.constexpr,
    BG: tl.constexpr,
    BD: tl.constexpr,
    S: tl.constexpr,
    WITH_VALUES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i_split = tl.program_id(0)
    i_h = tl.load(p_kv_heads + tl.program_id(1)).to(tl.int64)
    i_b = tl.program_id(2).to(tl.int64)
    o_g = tl.arange(0, BG)
    o_d = tl.arange(0, BD)
    m_d = o_d < D
    o_head = i_b * HKV * G + i_h * G + o_g  # [BG]
    m_query = (o_g < G)[:, None] & m_d[None, :]
    b_query = tl.load(p_query + o_head[:, None] * D + o_d[None, :], m_query, other=0.0)  # [BG, BD]
    b_slot = tl.load(p_slots + i_h * G + o_g, o_g < G, other=-1)  # [BG]
    p_row = p_logits + (i_b * slots + b_slot)[:, None] * capacity

    total = tl.load(p_lengths + i_b).to(tl.int32)
    share = tl.cdiv(tl.cdiv(total, S), BLOCK) * BLOCK
    first = i_split * share
    last = tl.minimum(first + share, total)

    b_max = tl.full([BG], float("-inf"), tl.float32)
    b_norm = tl.zeros([BG], tl.float32)
    b_sum = tl.zeros([BG, BD], tl.float32)
    for start in range(first, last, BLOCK):
        o_t = start + tl.arange(0, BLOCK)
        m_t = o_t < last
        m_rows = m_t[:, None] & m_d[None, :]
        o_row = o_t.to(tl.int64)[:, None]
        p_key = p_keys + i_b * s_kb + i_h * s_kh + o_row * s_kl + o_d[None, :]
        b_keys = tl.load(p_key, m_rows, other=0.0)  # [BLOCK, BD]
        b_logits = tl.dot(b_query, tl.trans(b_keys), input_precision="ieee") * scale
        tl.store(p_row + o_t[None, :], b_logits, (b_slot >= 0)[:, None] & m_t[None, :])
        b_logits = tl.where(m_t[None, :], b_logits, float("-inf"))  # [BG, BLOCK]
        b_top = tl.maximum(b_max, tl.max(b_logits, 1))
        b_weights = tl.exp2(b_logits - b_top[:, None])
        b_decay = tl.exp2(b_max - b_top)
        b_norm = b_norm * b_decay + tl.sum(b_weights, 1)
        if WITH_VALUES:
            p_value = p_values + i_b * s_vb + i_h * s_vh + o_row * s_vl + o_d[None, :]
            b_values = tl.load(p_value, m_rows, other=0.0)  # [BLOCK, BD]
            b_new = tl.dot(b_weights.to(b_values.dtype), b_values, input_precision="ieee")
            b_sum = b_sum * b_decay[:, None] + b_new
        b_max = b_top

    o_out = o_head * S + i_split
    if WITH_VALUES:
        b_out = b_sum / tl.where(b_norm > 0, b_norm, 1.0)[:, None]
        tl.store(p_sums + o_out[:, None] * D + o_d[None, :], b_out, m_query)
    tl.store(p_lse + o_out, b_max + tl.log2(b_norm), o_g < G)

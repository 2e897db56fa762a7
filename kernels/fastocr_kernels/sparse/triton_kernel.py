# Compile-time sizes are capitals and kernels carry no types, see kernels/README.md.
# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def"
"""Sparse decode attention in Triton: reads the chosen rows of the cache where they lie.

One program takes one KV head of one sequence and one of S splits of the attended set, which is
walked as a single list: first the K selected positions, then the text span. Splits leave partial
results that `partials.py` combines. Letter code in kernels/README.md.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from fastocr_kernels.launch import LOG2E, launch, plan
from fastocr_kernels.layouts import AttendedSet
from fastocr_kernels.partials import Partials


def sparse_decode(
    query: Tensor, keys: Tensor, values: Tensor, attended: AttendedSet, scale: float
) -> Tensor:
    """As `reference.sparse_decode`."""
    selected = attended.indices.shape[1]
    grid = plan(query, keys, longest=selected + keys.shape[1])
    partials = Partials.empty(query, grid.splits)
    launch(
        sparse_decode_kernel,
        grid,
        query.contiguous(),
        keys,
        values,
        attended.indices,
        attended.text_start,
        attended.lengths,
        partials.sums,
        partials.lse,
        scale * LOG2E,
        selected,
        *_strides(keys, values, attended.indices),
    )
    return partials.combine(query)


def _strides(keys: Tensor, values: Tensor, indices: Tensor) -> tuple[int, ...]:
    """Strides of batch, position, head for keys and values, then both strides of the indices."""
    return (*keys.stride()[:3], *values.stride()[:3], *indices.stride())


@triton.jit
def _places(p_row, s_ik, o_t, selected, shift):
    """Cache positions of the list's entries o_t; -1 for padding."""
    is_chosen = o_t < selected
    b_index = tl.load(p_row + o_t * s_ik, is_chosen, other=0)
    return tl.where(is_chosen, b_index.to(tl.int64), o_t.to(tl.int64) + shift)


@triton.jit
def sparse_decode_kernel(
    p_query,  # [B, HQ, D]
    p_keys,  # [B, L_max, HKV, D]
    p_values,
    p_indices,  # [B, K]
    p_text_start,  # [B]
    p_lengths,  # [B]
    p_sums,  # [B, HQ, S, D] fp32, normalised within the split
    p_lse,  # [B, HQ, S] fp32, base 2, -inf where the split is empty
    scale,  # softmax scale times log2(e)
    selected,  # K
    s_kb,
    s_kl,
    s_kh,
    s_vb,
    s_vl,
    s_vh,
    s_ib,
    s_ik,
    HKV: tl.constexpr,
    G: tl.constexpr,
    D: tl.constexpr,
    BG: tl.constexpr,
    BD: tl.constexpr,
    S: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i_split = tl.program_id(0)
    i_h = tl.program_id(1).to(tl.int64)
    i_b = tl.program_id(2).to(tl.int64)
    o_g = tl.arange(0, BG)
    o_d = tl.arange(0, BD)
    m_d = o_d < D
    o_head = i_b * HKV * G + i_h * G + o_g  # [BG]
    m_query = (o_g < G)[:, None] & m_d[None, :]
    b_query = tl.load(p_query + o_head[:, None] * D + o_d[None, :], m_query, other=0.0)  # [BG, BD]

    text_start = tl.load(p_text_start + i_b)
    # Text comes after the K selected places, so place t of the list is position t + shift.
    shift = text_start - selected
    total = selected + tl.maximum(tl.load(p_lengths + i_b) - text_start, 0).to(tl.int32)
    share = tl.cdiv(tl.cdiv(total, S), BLOCK) * BLOCK
    first = i_split * share
    last = tl.minimum(first + share, total)

    b_max = tl.full([BG], float("-inf"), tl.float32)
    b_norm = tl.zeros([BG], tl.float32)
    b_sum = tl.zeros([BG, BD], tl.float32)
    # Carrying the next block's places makes the loads of keys and values depend on no other load
    # of the same turn; only then does Triton prefetch them into more than one buffer.
    o_t = first + tl.arange(0, BLOCK)
    b_place = _places(p_indices + i_b * s_ib, s_ik, o_t, selected, shift)  # [BLOCK]
    for _ in range(first, last, BLOCK):
        m_t = (o_t < last) & (b_place >= 0)
        m_rows = m_t[:, None] & m_d[None, :]
        p_key = p_keys + i_b * s_kb + i_h * s_kh + b_place[:, None] * s_kl + o_d[None, :]
        b_keys = tl.load(p_key, m_rows, other=0.0)  # [BLOCK, BD]
        b_logits = tl.dot(b_query, tl.trans(b_keys), input_precision="ieee") * scale
        b_logits = tl.where(m_t[None, :], b_logits, float("-inf"))  # [BG, BLOCK]
        b_top = tl.maximum(b_max, tl.max(b_logits, 1))
        # A block of padding alone leaves the maximum at -inf, and -inf - -inf is NaN.
        b_base = tl.where(b_top == float("-inf"), 0.0, b_top)
        b_weights = tl.exp2(b_logits - b_base[:, None])
        b_decay = tl.exp2(b_max - b_base)
        p_value = p_values + i_b * s_vb + i_h * s_vh + b_place[:, None] * s_vl + o_d[None, :]
        b_values = tl.load(p_value, m_rows, other=0.0)  # [BLOCK, BD]
        b_new = tl.dot(b_weights.to(b_values.dtype), b_values, input_precision="ieee")
        b_sum = b_sum * b_decay[:, None] + b_new
        b_norm = b_norm * b_decay + tl.sum(b_weights, 1)
        b_max = b_top
        o_t += BLOCK
        b_place = _places(p_indices + i_b * s_ib, s_ik, o_t, selected, shift)

    o_out = o_head * S + i_split
    b_out = b_sum / tl.where(b_norm > 0, b_norm, 1.0)[:, None]
    tl.store(p_sums + o_out[:, None] * D + o_d[None, :], b_out, m_query)
    tl.store(p_lse + o_out, b_max + tl.log2(b_norm), o_g < G)

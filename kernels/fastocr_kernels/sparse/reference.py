"""Sparse decode attention in plain torch: the definition the fast versions are tested against."""

from __future__ import annotations

import torch
from torch import Tensor

from fastocr_kernels.layouts import AttendedSet


def sparse_decode(
    query: Tensor, keys: Tensor, values: Tensor, attended: AttendedSet, scale: float
) -> Tensor:
    """Softmax attention over the attended set only.

    query [B, Hq, D], keys and values [B, L_max, Hkv, D]; returns [B, Hq, D]. Query head h reads
    KV head h // (Hq / Hkv). A row that attends to nothing returns zeros.
    """
    group = query.shape[1] // keys.shape[2]
    out = torch.zeros_like(query)
    for row in range(query.shape[0]):
        places = attended.positions(row)
        if places.numel() == 0:
            continue
        row_keys = keys[row, places].repeat_interleave(group, dim=1)  # [T, Hq, D]
        row_values = values[row, places].repeat_interleave(group, dim=1)
        logits = torch.einsum("hd,thd->ht", query[row], row_keys) * scale
        weights = logits.float().softmax(-1) if query.element_size() < 8 else logits.softmax(-1)
        out[row] = torch.einsum("ht,thd->hd", weights.to(values.dtype), row_values)
    return out

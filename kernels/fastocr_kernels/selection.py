"""From visual scores to the positions the other layers attend to."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fastocr_kernels.layouts import VisualSet, require

_LAST = torch.iinfo(torch.int32).max


def top_positions(scores: Tensor, visual: VisualSet, budgets: Sequence[int]) -> Tensor:
    """The `budgets[b]` best-scored positions of each row, ascending, padded with -1.

    scores [B, V] (padding -inf), budgets one count a row; returns [B, max(budgets)] with the
    dtype of ``visual.positions``. A budget above the row's visual tokens keeps them all.
    """
    rows, tokens = scores.shape
    require(len(budgets) == rows, "one budget a row is needed:", len(budgets), rows)
    most = min(max(budgets, default=0), tokens)
    best, slots = scores.topk(most, dim=1)
    places = visual.positions.gather(1, slots)
    if min(budgets) >= most and tokens == min(visual.counts):
        return places.sort(1).values
    limits = torch.tensor(budgets, device=scores.device).unsqueeze(1)
    spare = torch.arange(most, device=scores.device) >= limits
    # Padding sorts behind every position and turns into -1 afterwards.
    ordered = places.masked_fill(spare | (best == float("-inf")), _LAST).sort(1).values
    return ordered.masked_fill(ordered == _LAST, -1)

"""What is kept scored highest, in order, within each row's budget."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_kernels import top_positions
from tests.kernels.cases import random_visual


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 35)), min_size=1, max_size=4),
    gaps=st.booleans(),
    seed=st.integers(0, 99),
)
def test_kept_scored_highest(rows, gaps, seed):
    counts, budgets = map(list, zip(*rows, strict=True))
    visual = random_visual(counts, gaps=gaps)
    scores = torch.rand(visual.positions.shape, generator=torch.Generator().manual_seed(seed))
    scores = scores.masked_fill(visual.positions < 0, float("-inf"))
    kept = top_positions(scores, visual, budgets)
    for row, (count, budget) in enumerate(rows):
        own = kept[row][kept[row] >= 0]
        assert len(own) == min(count, budget)
        assert torch.equal(kept[row, : len(own)], own), "padding stands last"
        assert (own.diff() > 0).all(), "ascending"
        is_kept = torch.isin(visual.positions[row, :count], own)
        own_scores = scores[row, :count]
        if 0 < len(own) < count:
            assert own_scores[is_kept].min() >= own_scores[~is_kept].max()


def test_a_budget_is_needed_for_every_row():
    with pytest.raises(ValueError, match="1 2"):
        top_positions(torch.rand(2, 4), random_visual([3, 3]), [2])

"""Budgets, top-k and the page grid, against plain Python."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.fixation.selection import (
    best_patches,
    budget,
    dilate,
    mask_of,
    neighbours,
    ordinals_of,
    sort_padded,
)


@pytest.mark.parametrize(
    ("keep", "patches", "minimum", "expected"),
    [
        (0.05, 4600, 16, 230),
        (0.07, 100, 0, 7),  # 0.07 * 100 is a little more than 7 in floating point
        (0.05, 4601, 16, 231),
        (0.05, 100, 16, 16),
        (0.05, 10, 16, 10),
        (1.0, 4600, 16, 4600),
        (0.0, 4600, 16, 0),
        (0.3, 0, 16, 0),
        (1e-6, 4600, 0, 1),
    ],
)
def test_a_share_becomes_a_count(keep: float, patches: int, minimum: int, expected: int) -> None:
    assert budget(keep, patches, minimum) == expected


@settings(deadline=None)  # a shared machine may stall any example
@given(data=st.data(), rows=st.integers(1, 4), patches=st.integers(1, 70))
def test_what_is_kept_scored_highest(data: st.DataObject, rows: int, patches: int) -> None:
    counts = data.draw(st.lists(st.integers(0, patches), min_size=rows, max_size=rows))
    budgets = [data.draw(st.integers(0, count)) for count in counts]
    seed = data.draw(st.integers(0, 2**16))
    scores = torch.rand(rows, patches, generator=torch.Generator().manual_seed(seed))
    scores[torch.arange(patches) >= torch.tensor(counts)[:, None]] = -torch.inf
    best, values = best_patches(scores, torch.tensor(budgets), max(budgets))
    for row, size in enumerate(budgets):
        kept = best[row][best[row] >= 0].tolist()
        order = sorted(range(counts[row]), key=lambda one, row=row: -scores[row, one].item())
        assert sorted(kept) == sorted(order[:size])
        assert values[row, :size].tolist() == scores[row, best[row, :size]].tolist()
        assert (values[row, size:] == 0).all()


def test_sorting_moves_padding_to_the_end() -> None:
    indices = torch.tensor([[5, -1, 2], [-1, -1, -1], [0, 7, 3]])
    assert sort_padded(indices).tolist() == [[2, 5, -1], [-1, -1, -1], [0, 3, 7]]
    assert sort_padded(indices[:, :0]).shape == (3, 0)


@settings(deadline=None)  # a shared machine may stall any example
@given(st.lists(st.lists(st.booleans(), min_size=9, max_size=9), min_size=1, max_size=4))
def test_masks_and_ordinals_are_inverse(rows: list[list[bool]]) -> None:
    mask = torch.tensor(rows)
    ordinals = ordinals_of(mask)
    assert torch.equal(mask_of(ordinals, 9), mask)
    assert torch.equal(sort_padded(ordinals), ordinals)


def test_neighbours_stay_in_their_view_and_on_the_page() -> None:
    # View 0 is 2 x 3, view 1 is 1 x 2: ordinals 0 to 5 and 6, 7.
    cells = [(0, row, column) for row in range(2) for column in range(3)]
    cells += [(1, 0, 0), (1, 0, 1)]
    table = neighbours(torch.tensor(cells), 1)
    found = [sorted(one for one in row if one >= 0) for row in table.tolist()]
    assert found[0] == [0, 1, 3, 4]
    assert found[4] == [0, 1, 2, 3, 4, 5]
    assert found[6] == [6, 7]
    assert torch.equal(neighbours(torch.tensor(cells), 0)[:, 0], torch.arange(8))
    assert neighbours(torch.zeros(0, 3, dtype=torch.long), 1).shape == (0, 9)


@settings(deadline=None)  # a shared machine may stall any example
@given(
    rows=st.integers(1, 7),
    columns=st.integers(1, 7),
    radius=st.integers(0, 2),
    seed=st.integers(0, 1000),
)
def test_dilation_is_all_cells_within_the_radius(
    rows: int, columns: int, radius: int, seed: int
) -> None:
    cells = [(0, row, column) for row in range(rows) for column in range(columns)]
    table = neighbours(torch.tensor(cells), radius)[None]
    chosen = torch.rand(1, len(cells), generator=torch.Generator().manual_seed(seed)) < 0.2
    widened = dilate(ordinals_of(chosen), table)
    for number, (_, row, column) in enumerate(cells):
        is_near = any(
            max(abs(row - cells[one][1]), abs(column - cells[one][2])) <= radius
            for one in ordinals_of(chosen)[0].tolist()
        )
        assert is_near == (number in widened[0].tolist())

"""Layouts put together from grids: tiles, row ends, separators, padding cut away.

Knows `VisualLayout` alone; no model and no image. A part is a layout whose positions count from
0; `place` joins parts and puts them where the placeholders stand in a prompt. Views are numbered
in the order in which they stand in the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fastocr_cli.models.base import VisualLayout
from fastocr_cli.results import Box

WHOLE_PAGE: Box = (0.0, 0.0, 1.0, 1.0)


def grid(rows: int, columns: int, *, view: int = 0, box: Box = WHOLE_PAGE) -> VisualLayout:
    """Patches in reading order."""
    return VisualLayout.raster(torch.arange(rows * columns), rows, columns, view=view, box=box)


def tiles(tile_rows: int, tile_columns: int, side: int, *, view: int = 0) -> VisualLayout:
    """Tiles of side x side patches, tile after tile; rows and columns count across tiles."""
    stitched = grid(tile_rows * side, tile_columns * side, view=view)
    order = torch.arange(stitched.num_tokens)
    order = order.view(tile_rows, side, tile_columns, side).transpose(1, 2).flatten()
    return VisualLayout(
        stitched.positions, stitched.structural, stitched.grid[order], stitched.boxes[order]
    )


def structural(count: int) -> VisualLayout:
    """Tokens without a place: separators, begin and end vectors."""
    return VisualLayout(
        torch.arange(count),
        torch.ones(count, dtype=torch.bool),
        torch.full((count, 3), -1),
        torch.full((count, 4), float("nan")),
    )


def unplaced(count: int, *, view: int = 0) -> VisualLayout:
    """Tokens that carry content of a whole view and have an order but no place of their own."""
    index = torch.arange(count)
    zero = torch.zeros_like(index)
    return VisualLayout(
        index,
        torch.zeros(count, dtype=torch.bool),
        torch.stack([zero + view, zero, index], dim=1),
        torch.full((count, 4), float("nan")),
    )


def with_row_ends(patches: VisualLayout, columns: int) -> VisualLayout:
    """The same grid with one structural token after each row of `columns` patches."""
    rows = patches.num_tokens // columns
    ends = structural(rows)
    return VisualLayout(
        torch.arange(rows * (columns + 1)),
        _append_column(patches.structural, ends.structural, columns),
        _append_column(patches.grid, ends.grid, columns),
        _append_column(patches.boxes, ends.boxes, columns),
    )


def _append_column(values: Tensor, ends: Tensor, columns: int) -> Tensor:
    """values [rows * columns, ...] and ends [rows, ...] to [rows * (columns + 1), ...]."""
    table = values.unflatten(0, (-1, columns))
    return torch.cat([table, ends.unsqueeze(1)], dim=1).flatten(0, 1)


def cut_to_page(patches: VisualLayout) -> VisualLayout:
    """Boxes cut at the page's edges; NaN where a patch saw nothing but padding."""
    boxes = patches.boxes.clamp(0, 1)
    is_empty = (boxes[:, 2] - boxes[:, 0] < 1e-6) | (boxes[:, 3] - boxes[:, 1] < 1e-6)
    boxes[is_empty] = float("nan")
    return VisualLayout(patches.positions, patches.structural, patches.grid, boxes)


def place(parts: Sequence[VisualLayout], positions: Tensor) -> VisualLayout:
    """The parts one after the other at `positions` (int64 [V], sorted)."""
    return VisualLayout(
        positions,
        torch.cat([part.structural for part in parts]),
        torch.cat([part.grid for part in parts]),
        torch.cat([part.boxes for part in parts]),
    )


def positions_of(input_ids: Tensor, token_id: int) -> Tensor:
    """Where `token_id` stands in input_ids [1, T]: int64 [V]."""
    return (input_ids[0] == token_id).nonzero().flatten()

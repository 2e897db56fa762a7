"""From scores to the visual tokens a step attends to: budgets, top-k, the page grid.

Patches are named by ordinals: 0 is the first patch token of the page, in prompt order. Structural
tokens (row ends, separators) are no patches and never take part. Knows nothing of layers, caches
or models. Shapes: B rows, P patches of the largest page, K ordinals of the largest selection; rows
with fewer are padded with -1 at the end.
"""

from __future__ import annotations

from math import ceil

import torch
from torch import Tensor

PADDING = -1


def budget(keep: float, patches: int, minimum: int) -> int:
    """How many patch tokens a share means: the share rounded up, at least `minimum`, 0 for 0."""
    if keep == 0:
        return 0
    share = ceil(keep * patches - 1e-9)  # 0.07 * 100 is 7.000000000000001 in floating point
    return min(patches, max(share, minimum))


def best_patches(scores: Tensor, budgets: Tensor, largest: int) -> tuple[Tensor, Tensor]:
    """The best-scored patches of every row, best first.

    scores: [B, P] fp32, -inf where a row has no such patch. budgets: LongTensor [B], each at most
    the row's number of patches; largest: their maximum, as an int so that no device must answer.
    Returns their ordinals, LongTensor [B, largest], padded with -1, and scores, padded with 0.
    """
    best = scores.topk(largest, dim=1)
    spare = torch.arange(largest, device=scores.device) >= budgets[:, None]
    return best.indices.masked_fill(spare, PADDING), best.values.masked_fill(spare, 0)


def sort_padded(indices: Tensor) -> Tensor:
    """Ascending rows with the padding moved to the end. indices: LongTensor [B, K]."""
    last = torch.iinfo(indices.dtype).max
    ordered = indices.masked_fill(indices < 0, last).sort(dim=1).values
    return ordered.masked_fill(ordered == last, PADDING)


def mask_of(ordinals: Tensor, patches: int) -> Tensor:
    """BoolTensor [B, patches] that is true at the ordinals. ordinals: LongTensor [B, K]."""
    mask = torch.zeros(len(ordinals), patches + 1, dtype=torch.bool, device=ordinals.device)
    mask.scatter_(1, ordinals % (patches + 1), True)  # -1 falls into the spare last column
    return mask[:, :patches]


def ordinals_of(mask: Tensor) -> Tensor:
    """LongTensor [B, K] of the true places of a BoolTensor [B, P], ascending, padded with -1."""
    counts = mask.sum(dim=1)
    widest = int(counts.max()) if len(counts) else 0
    order = torch.arange(mask.shape[1], device=mask.device)
    return sort_padded(torch.where(mask, order, PADDING))[:, :widest]


def neighbours(grid: Tensor, radius: int) -> Tensor:
    """For every patch the patches at most `radius` cells away, itself included, in its own view.

    grid: LongTensor [P, 3], (view, row, column) of each patch, no two alike.
    Returns LongTensor [P, (2 radius + 1)^2] of ordinals, -1 where the page has no such cell.
    """
    if not len(grid):
        return grid.new_empty((0, (2 * radius + 1) ** 2))
    size = grid.max(dim=0).values + 1
    board = grid.new_full((*size.tolist()[:1], *(size[1:] + 2 * radius).tolist()), PADDING)
    view, row, column = grid.unbind(dim=1)
    board[view, row + radius, column + radius] = torch.arange(len(grid), device=grid.device)
    steps = range(2 * radius + 1)
    return torch.stack([board[view, row + dy, column + dx] for dy in steps for dx in steps], dim=1)


def dilate(ordinals: Tensor, table: Tensor) -> Tensor:
    """A selection widened by its neighbours on the page.

    ordinals: LongTensor [B, K]; table: LongTensor [B, P, N] from `neighbours`, padded with -1.
    Returns LongTensor [B, K'], ascending, padded with -1.
    """
    rows = torch.arange(len(ordinals), device=ordinals.device)[:, None]
    around = table[rows, ordinals.clamp(min=0)].masked_fill((ordinals < 0)[..., None], PADDING)
    return ordinals_of(mask_of(around.flatten(1), table.shape[1]))

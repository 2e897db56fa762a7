"""What training takes from the decoder, so that it learns to read without: most of the page, and
the certainty that what it has written is right."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.training.batches import Batch
from fastocr_cli.reader.training.samples import IGNORE

NARROWED_SHARE = 0.6
_WINDOW_SIZES = (1, 4), (4, 24)
"""Rows and columns to either side, least and most."""
_STRAY_SHARES = (0.0, 0.03, 0.15)
_LONGEST_LAG = 4


@dataclass(frozen=True)
class NarrowedView:
    """What each position of crop and text attends to, bool [B, 1, L, L]: in the layers before
    `focal`, and from there on."""

    focal: int
    before: Tensor
    behind: Tensor

    def of(self, layer: int) -> Tensor:
        return self.before if layer < self.focal else self.behind


def narrowed_view(batch: Batch, cells: int, focal: int) -> NarrowedView:
    """A view for each layer of crops with so many cells; `focal` is the layer that looks ahead.

    A decoder that has always seen the whole page spreads the attention of its first layers over
    all of it, and loses its bearings when a fixation hides most. So of many crops the text sees no
    more than a window around the cell it reads and a few stray cells, and learns to read from
    them; the layers before the focal one see the window of some tokens ago, as they will when
    fixations are reused. The taught heads are scored over the whole crop all the same.
    """
    crops, length = batch.tokens.shape
    whole = torch.ones(length + cells, length + cells, dtype=torch.bool, device=batch.tokens.device)
    before, behind = (whole.tril().expand(crops, -1, -1).clone() for _ in range(2))
    columns = batch.pixels.shape[3] // v.CELL_PX
    for crop in range(crops):
        if torch.rand(()) < NARROWED_SHARE:
            lag = int(torch.randint(_LONGEST_LAG + 1, ()))
            late = torch.cat([batch.cells[crop, :1].expand(lag), batch.cells[crop]])[:length]
            view = _Window.at_random()
            before[crop, cells:, :cells] = view.around(late, cells, columns)
            behind[crop, cells:, :cells] = view.around(batch.cells[crop], cells, columns)
    return NarrowedView(focal, before[:, None], behind[:, None])


@dataclass(frozen=True)
class _Window:
    """rows, columns: to either side of a cell. strays: share of all cells that are seen as well."""

    rows: int
    columns: int
    strays: float

    @classmethod
    def at_random(cls) -> _Window:
        rows, columns = (int(torch.randint(low, high + 1, ())) for low, high in _WINDOW_SIZES)
        return cls(rows, columns, _STRAY_SHARES[int(torch.randint(len(_STRAY_SHARES), ()))])

    def around(self, targets: Tensor, cells: int, columns: int) -> Tensor:
        """Which of a crop's cells are seen at each target (int64 [T], IGNORE for none), [T, cells];
        columns: of the crop."""
        cell = torch.arange(cells, device=targets.device)
        down = (cell // columns - targets[:, None] // columns).abs()
        across = (cell % columns - targets[:, None] % columns).abs()
        near = (down <= self.rows) & (across <= self.columns) & (targets[:, None] != IGNORE)
        return near | _at_random(near, self.strays)


MISREAD_SHARE = 0.08
MISPLACED_SHARE = 0.1


def as_misread(tokens: Tensor) -> Tensor:
    """Tokens [B, T] as a fallible reader would have written them.

    Some characters are exchanged for others of the same batch and some places are off by one. A
    decoder that has only ever continued true text finds its place by the words it has written, and
    is thrown to another line by its first mistake; with this it learns to go by the places.
    """
    others = tokens.flatten()[torch.randint_like(tokens, tokens.numel())]
    is_exchanged = is_character(tokens) & is_character(others) & _at_random(tokens, MISREAD_SHARE)
    misread = torch.where(is_exchanged, others, tokens)
    step = torch.randint_like(tokens, 2) * 2 - 1
    shift = step * _at_random(tokens, MISPLACED_SHARE)
    for first, last in ((v.FIRST_COLUMN, v.FIRST_ROW - 1), (v.FIRST_ROW, v.VOCABULARY_SIZE - 1)):
        is_place = (tokens >= first) & (tokens <= last)
        misread = torch.where(is_place, (tokens + shift).clamp(first, last), misread)
    return misread


def is_character(tokens: Tensor) -> Tensor:
    return (tokens >= v.FIRST_CHARACTER) & (tokens < v.FIRST_COLUMN)


def _at_random(like: Tensor, share: float) -> Tensor:
    return torch.rand_like(like, dtype=torch.float) < share

"""Where the tokens of a batch of prompts stand: what may be pruned and what is always attended.

Knows the pages' layouts and nothing of scores, layers or caches. Shapes: B rows, P patches of the
largest page; a row with fewer is padded with -1 at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fastocr_cli.fixation.selection import PADDING, sort_padded

if TYPE_CHECKING:
    from fastocr_cli.models.base import VisualLayout


@dataclass(frozen=True)
class PageTokens:
    """The prompt tokens of every row, by what pruning may do with them.

    patches: LongTensor [B, P], ascending prompt positions of the patch tokens, padded with -1.
    visual: LongTensor [B, P], each patch's index among the page's visual tokens, padded with -1.
    always: LongTensor [B, A], positions before the tail that are attended in every step: text in
        front of and between the patches, and structural visual tokens; padded with -1.
    tail: LongTensor [B], the position after the last visual token; from here on all is text.
    counts: LongTensor [B], patches of each row.
    structural: LongTensor [B], structural visual tokens of each row.
    """

    patches: Tensor
    visual: Tensor
    always: Tensor
    tail: Tensor
    counts: Tensor
    structural: Tensor

    @classmethod
    def of(cls, layouts: Sequence[VisualLayout], device: torch.device) -> PageTokens:
        patches = [layout.positions[~layout.structural] for layout in layouts]
        tails = [_tail(layout.positions) for layout in layouts]
        always = [_others(own, tail) for own, tail in zip(patches, tails, strict=True)]
        return cls(
            patches=_padded(patches).to(device),
            visual=_padded([(~layout.structural).nonzero()[:, 0] for layout in layouts]).to(device),
            always=_padded(always).to(device),
            tail=torch.tensor(tails, device=device),
            counts=torch.tensor([len(own) for own in patches], device=device),
            structural=torch.stack([layout.structural.sum() for layout in layouts]).to(device),
        )

    def rows(self, rows: Tensor) -> PageTokens:
        """The same for some of the rows. rows: LongTensor of row numbers."""
        return PageTokens(**{one.name: getattr(self, one.name)[rows] for one in fields(self)})

    @property
    def is_even(self) -> bool:
        """Whether nothing is padded: all rows have as many patches and as many `always` tokens."""
        return bool((self.patches >= 0).all() and (self.always >= 0).all())

    def positions(self, ordinals: Tensor) -> Tensor:
        """Cache positions of patches. ordinals and result: LongTensor [B, K], padded with -1."""
        return self.patches.gather(1, ordinals.clamp(min=0)).masked_fill(ordinals < 0, PADDING)

    def attended(self, ordinals: Tensor) -> Tensor:
        """Positions before the tail that a step attends to: the chosen patches and the always ones.

        ordinals: LongTensor [B, K], padded with -1. Returns LongTensor [B, K + A], ascending,
        padded with -1.
        """
        chosen = self.positions(ordinals)
        if not self.always.shape[1]:
            return chosen
        return sort_padded(torch.cat([self.always, chosen], dim=1))

    def attended_evenly(self, ordinals: Tensor) -> Tensor:
        """As `attended`, where neither the rows nor the ordinals are padded."""
        chosen = self.patches.gather(1, ordinals)
        if not self.always.shape[1]:
            return chosen
        return torch.cat([self.always, chosen], dim=1).sort(dim=1).values


def _tail(positions: Tensor) -> int:
    return int(positions[-1]) + 1 if len(positions) else 0


def _others(patches: Tensor, tail: int) -> Tensor:
    others = torch.ones(tail, dtype=torch.bool)
    others[patches.cpu()] = False
    return others.nonzero()[:, 0]


def _padded(rows: list[Tensor]) -> Tensor:
    return pad_sequence([row.cpu().long() for row in rows], batch_first=True, padding_value=PADDING)

"""What every pruning policy shares while it is at work on a batch.

A policy decides, layer by layer, between three ways of attending: to everything (`dense`), to
everything while scoring the patches (`scored`), or to a chosen few (`sparse`). Here are these
three, the choice of the best-scored patches, and the bookkeeping; which layer does what is each
policy's own file. Text and structural visual tokens are attended in all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fastocr_cli.fixation.dense import dense_attention
from fastocr_cli.fixation.drafts import dense_draft, fold, folded_heads, sparse_draft
from fastocr_cli.fixation.ledger import Ledger
from fastocr_cli.fixation.policy import DecoderShape, PolicyStats
from fastocr_cli.fixation.selection import PADDING, best_patches, budget, mask_of, sort_padded
from fastocr_cli.fixation.tokens import PageTokens
from fastocr_cli.models.base import VisualLayout
from fastocr_kernels import (
    AttendedSet,
    HeadReduction,
    VisualSet,
    focal_decode,
    gaze_scores,
    sparse_decode,
)


class Call(NamedTuple):
    """The arguments of one `PolicyState.attend`, which says their shapes."""

    layer: int
    query: Tensor
    keys: Tensor
    values: Tensor
    lengths: Tensor
    scale: float

    @property
    def is_draft(self) -> bool:
        """Whether the query is that of several tokens."""
        return self.query.ndim == 4


@dataclass(frozen=True, slots=True)
class Fixation:
    """The patches a step attends to.

    ordinals: LongTensor [B, K], ascending patch ordinals, padded with -1.
    positions: LongTensor [B, K + A], their cache positions and those of the tokens before the tail
        that are always attended; ascending, padded with -1.
    counts: LongTensor [B], patches chosen.
    """

    ordinals: Tensor
    positions: Tensor
    counts: Tensor

    def rows(self, rows: Tensor) -> Fixation:
        return Fixation(self.ordinals[rows], self.positions[rows], self.counts[rows])


class PruningState(ABC):
    """A `PolicyState`; subclasses say in `attend_layer` how a layer attends."""

    def __init__(
        self,
        layouts: Sequence[VisualLayout],
        shape: DecoderShape,
        device: torch.device,
        *,
        keep: float,
        minimum: int = 16,
        trace: int = 0,
    ) -> None:
        """keep: share of a page's patches to attend to; trace: tokens reported per step."""
        self.shape = shape
        self.tokens = PageTokens.of(layouts, device)
        budgets = [budget(keep, layout.num_patches, minimum) for layout in layouts]
        self.budgets = torch.tensor(budgets, device=device)
        self.largest = max(budgets)
        self.prunes = budgets != [layout.num_patches for layout in layouts]
        self.needs_attention = self.prunes or trace > 0
        self.ledger = Ledger(self.tokens, trace=trace > 0)
        self._looked_at = max(trace, 1)
        self._longest = 0
        self._widths: Sequence[int] = ()
        self._last_set: tuple[Fixation, AttendedSet] | None = None
        self._plan_rows()

    @property
    def takes_drafts(self) -> bool:
        return not self.needs_attention

    def begin_step(self, longest: int, widths: Sequence[int] = ()) -> None:
        self._longest, self._widths = longest, widths
        self.ledger.begin_step()

    def attend(
        self,
        layer: int,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        lengths: Tensor,
        scale: float,
    ) -> Tensor:
        call = Call(layer, query, keys, values, lengths, scale)
        return self.attend_layer(call) if self.needs_attention else self.dense(call)

    @abstractmethod
    def attend_layer(self, call: Call) -> Tensor:
        """The new tokens' attention in one layer, of the query's shape."""

    def select_rows(self, rows: Tensor) -> None:
        self.ledger.select_rows(rows, self.remarks())
        rows = rows.to(self.budgets.device)
        self.tokens = self.tokens.rows(rows)
        self.budgets = self.budgets[rows]
        self._plan_rows()
        self.keep_rows(rows)

    def keep_rows(self, rows: Tensor) -> None:  # noqa: B027 - most policies keep nothing
        """Drop the other rows of whatever a policy keeps between steps."""

    def remarks(self) -> dict[str, Any]:
        """What to say about every page besides the numbers; JSON-friendly."""
        return {}

    def finish(self) -> list[PolicyStats]:
        return self.ledger.finish(self.remarks())

    def dense(self, call: Call) -> Tensor:
        """Attention to everything, of the query's shape."""
        self.ledger.dense()
        if call.is_draft:
            return dense_draft(call.query, call.keys, call.values, call.lengths, call.scale)
        return dense_attention(
            call.query, call.keys, call.values, call.lengths, call.scale, self._longest
        )

    def scored(
        self, call: Call, heads: Sequence[int] | None = None, reduction: HeadReduction = "mean"
    ) -> tuple[Tensor, Tensor]:
        """Attention to everything, [B, Hq, D], and the patches' scores.

        The scores are post-softmax weights of `heads` (all, if None), fp32 [B, P] after the
        reduction ([B, heads, P] for "none"), -inf where a row has no patch.
        """
        self.ledger.dense()
        return focal_decode(
            call.query,
            call.keys,
            call.values,
            self._visual,
            call.lengths,
            call.scale,
            heads=heads,
            reduction=reduction,
        )

    def scores(
        self, call: Call, heads: Sequence[int] | None = None, reduction: HeadReduction = "mean"
    ) -> Tensor:
        """The scores of `scored` without the attention: reads the keys of these heads alone.

        Those of a draft are taken over all its tokens; all see the text up to the first of them.
        Padding asks with nothing, which favours no patch.
        """
        group = self.shape.num_heads // self.shape.num_kv_heads
        kv_heads = {head // group for head in heads or range(self.shape.num_heads)}
        self.ledger.scored(0.5 * len(kv_heads) / self.shape.num_kv_heads)
        query, lengths = call.query, call.lengths
        if call.is_draft:
            tokens = query.shape[1]
            widths = torch.tensor(self._widths, device=query.device)
            is_real = torch.arange(tokens, device=query.device) < widths[:, None]
            query = query * is_real[:, :, None, None]
            query, lengths = fold(query, self.shape.num_kv_heads), lengths - tokens + 1
            heads = heads and folded_heads(heads, tokens, group)
        return gaze_scores(
            query,
            call.keys,
            self._visual,
            lengths,
            call.scale,
            heads=heads,
            reduction=reduction,
        )

    def sparse(self, call: Call, fixation: Fixation) -> Tensor:
        """Attention to the fixation, text and structural tokens, of the query's shape."""
        if not self.prunes:
            return self.dense(call)
        self.ledger.sparse(fixation.counts)
        attended = self.attended_set(fixation, call.lengths)
        if call.is_draft:
            return sparse_draft(call.query, call.keys, call.values, attended, call.scale)
        return sparse_decode(call.query, call.keys, call.values, attended, call.scale)

    def sparse_scored(self, call: Call, fixation: Fixation) -> tuple[Tensor, Tensor]:
        """As `sparse`, and the mean weight over heads of each patch of the fixation.

        Returns [B, Hq, D] and fp32 [B, K], -inf at the padding. Copies what it attends to.
        """
        self.ledger.sparse(fixation.counts)
        text = self.tokens.tail[:, None] + torch.arange(self._longest, device=call.query.device)
        text = text[:, : self._longest].masked_fill(text >= call.lengths[:, None], PADDING)
        attended = sort_padded(torch.cat([fixation.positions, text], dim=1))
        chosen = self.tokens.positions(fixation.ordinals)
        order = attended.masked_fill(attended < 0, torch.iinfo(torch.long).max)
        places = torch.searchsorted(order, chosen).masked_fill(chosen < 0, PADDING)
        rows = torch.arange(len(attended), device=attended.device)[:, None]
        return focal_decode(
            call.query,
            call.keys[rows, attended.clamp(min=0)],
            call.values[rows, attended.clamp(min=0)],
            VisualSet(places),
            (attended >= 0).sum(dim=1),
            call.scale,
        )

    def attended_set(self, fixation: Fixation, lengths: Tensor) -> AttendedSet:
        """The same object for all layers that attend alike, as it carries what is derived of it."""
        known = self._last_set
        if known is None or known[0] is not fixation or known[1].lengths is not lengths:
            known = fixation, AttendedSet(fixation.positions, self.tokens.tail, lengths)
        self._last_set = known
        return known[1]

    def choose(self, scores: Tensor) -> Fixation:
        """The best-scored patches within each row's budget. scores: fp32 [B, P], >= 0 or -inf."""
        if self._is_even:  # the usual case, without the operations that padding costs
            masses, best = scores.topk(self.largest, dim=1)
            self._look(best, masses, masses.sum(dim=1), scores.sum(dim=1))
            ordinals = best.sort(dim=1).values
            return Fixation(ordinals, self.tokens.attended_evenly(ordinals), self.budgets)
        best, masses = best_patches(scores, self.budgets, self.largest)
        self._look(best, masses, masses.sum(dim=1), scores.clamp(min=0).sum(dim=1))
        return self.fixation(sort_padded(best))

    def fixation(self, ordinals: Tensor) -> Fixation:
        """ordinals: LongTensor [B, K], ascending, padded with -1."""
        return Fixation(ordinals, self.tokens.attended(ordinals), (ordinals >= 0).sum(dim=1))

    def look_only(self, scores: Tensor, fixation: Fixation) -> None:
        """Notes where a step would look that keeps its fixation. scores: as for `choose`."""
        best, masses = best_patches(scores, self.budgets, self.largest)
        visible = scores.clamp(min=0)
        held = (visible * mask_of(fixation.ordinals, scores.shape[1])).sum(dim=1)
        self._look(best, masses, held, visible.sum(dim=1))

    def _look(self, best: Tensor, masses: Tensor, held: Tensor, total: Tensor) -> None:
        """best, masses: [B, K], best first; held, total: [B], the fixation's mass and all mass."""
        if best.shape[1]:
            first = slice(0, self._looked_at)
            # Copies, so that a page's record does not hold on to everything that was chosen.
            self.ledger.look(best[:, first].clone(), masses[:, first].clone(), held, total)

    def _plan_rows(self) -> None:
        """What follows from which rows are there."""
        self._visual = VisualSet(self.tokens.patches)
        self._is_even = self.tokens.is_even and len(set(self.budgets.tolist())) == 1

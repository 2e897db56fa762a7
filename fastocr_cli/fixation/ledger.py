"""What a pruning policy did to every page: shares attended, cache rows not read, where it looked.

Counts of chosen tokens stay on the device until a page ends, so that no step waits for an answer.
Knows nothing of how tokens are chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from fastocr_cli.fixation.policy import PolicyStats
from fastocr_cli.fixation.tokens import PageTokens


class Ledger:
    """Running totals of one batch of pages; a page's totals are final when its row leaves."""

    def __init__(self, tokens: PageTokens, *, trace: bool) -> None:
        """trace: whether to report the looks of every step, not just the first token of each."""
        self._tokens = tokens
        self._trace = trace
        self._pages = list(range(len(tokens.counts)))
        self._done: dict[int, PolicyStats] = {}
        # All rows still here have lived through the same layers; only what they chose differs.
        self._dense_layers = 0
        self._sparse_layers = 0
        self._scored_shares = 0.0
        self._chosen = torch.zeros_like(tokens.counts)
        # Layers that attend alike are counted together, for every operation costs time.
        self._pending = self._chosen, 0
        self._looks = _Looks()

    def dense(self) -> None:
        """A layer attended to everything."""
        self._dense_layers += 1

    def sparse(self, chosen: Tensor) -> None:
        """A layer attended to this many patches of each row; LongTensor [B]."""
        self._sparse_layers += 1
        if chosen is not self._pending[0]:
            self._count_pending()
            self._pending = chosen, 0
        self._pending = chosen, self._pending[1] + 1

    def _count_pending(self) -> None:
        chosen, layers = self._pending
        self._chosen = self._chosen + chosen * layers

    def scored(self, share: float) -> None:
        """To choose, a layer read this share of the K and V of all patches of every row."""
        self._scored_shares += share

    def look(self, best: Tensor, masses: Tensor, kept: Tensor, total: Tensor) -> None:
        """Where this step looked; a later layer's look replaces an earlier layer's.

        best: LongTensor [B, n], ordinals of the most attended patches, the first one first;
        masses: fp32 [B, n], their masses; kept, total: fp32 [B], the whole fixation's mass and
        that of all patches.
        """
        self._looks.note(_Look(best, masses, kept, total))

    def begin_step(self) -> None:
        self._looks.begin_step()

    def select_rows(self, rows: Tensor, extra: dict[str, Any]) -> None:
        """Only these rows go on. rows: LongTensor, ascending; extra: what to say of the others."""
        staying = set(rows.tolist())
        self._count_pending()
        self._looks.close_block()
        for row in range(len(self._pages)):
            if row not in staying:
                self._done[self._pages[row]] = self._stats(row, extra)
        self._pages = [self._pages[row] for row in rows.tolist()]
        rows = rows.to(self._chosen.device)
        self._chosen = self._chosen[rows]
        self._pending = self._chosen, 0
        self._tokens = self._tokens.rows(rows)
        self._looks.select_rows(rows)

    def finish(self, extra: dict[str, Any]) -> list[PolicyStats]:
        """One entry per page, in the order in which they were given."""
        self.select_rows(torch.zeros(0, dtype=torch.long), extra)
        return [self._done[page] for page in sorted(self._done)]

    def _stats(self, row: int, extra: dict[str, Any]) -> PolicyStats:
        patches = int(self._tokens.counts[row])
        tokens = patches + int(self._tokens.structural[row])
        dropped = self._sparse_layers * patches - int(self._chosen[row])
        layers = self._sparse_layers + self._dense_layers
        visual = self._tokens.visual[row].cpu()
        return PolicyStats(
            keep_sparse_layers=_share_left(dropped, self._sparse_layers * tokens),
            keep_all_layers=_share_left(dropped, layers * tokens),
            kv_rows_skipped=dropped - round(self._scored_shares * patches),
            gaze=self._looks.gaze(row, visual),
            extra={**extra, **self._looks.report(row, visual, self._trace)},
        )


@dataclass(frozen=True, slots=True)
class _Look:
    """The arguments of `Ledger.look`; stacked over S steps, [S, B, ...]."""

    best: Tensor
    masses: Tensor
    kept: Tensor
    total: Tensor

    @classmethod
    def stack(cls, looks: Sequence[_Look]) -> _Look:
        names = [one.name for one in fields(cls)]
        return cls(*(torch.stack([getattr(look, name) for look in looks]) for name in names))

    def rows(self, rows: Tensor) -> _Look:
        """Of a stack, some rows."""
        return _Look(*(getattr(self, one.name)[:, rows] for one in fields(self)))

    def shares(self, row: int) -> Tensor:
        """Of a stack, fp32 [S, n + 1]: shares of the visual attention, the fixation's last."""
        held = torch.cat([self.masses[:, row], self.kept[:, row, None]], dim=1)
        return (held / self.total[:, row, None].clamp(min=1e-30)).cpu()


class _Looks:
    """Where each step looked, kept in blocks of steps that had the same rows."""

    def __init__(self) -> None:
        self._step = -1
        self._latest: _Look | None = None
        self._open: list[tuple[int, _Look]] = []
        self._blocks: list[tuple[list[int], _Look]] = []

    def note(self, look: _Look) -> None:
        self._latest = look

    def begin_step(self) -> None:
        self._keep_latest()
        self._step += 1

    def close_block(self) -> None:
        """The rows are about to change."""
        self._keep_latest()
        if self._open:
            steps, looks = zip(*self._open, strict=True)
            self._blocks.append((list(steps), _Look.stack(looks)))
        self._open = []

    def select_rows(self, rows: Tensor) -> None:
        self._blocks = [(steps, looks.rows(rows)) for steps, looks in self._blocks]

    def gaze(self, row: int, visual: Tensor) -> Tensor | None:
        """int64 [steps], -1 in a step that did not look; None if none did.

        visual: LongTensor [P], each patch's index among the visual tokens.
        """
        if not self._blocks:
            return None
        gaze = torch.full((self._step + 1,), -1)
        for steps, looks in self._blocks:
            gaze[torch.tensor(steps)] = _tokens(looks.best[:, row, 0], visual)
        return gaze

    def report(self, row: int, visual: Tensor, trace: bool) -> dict[str, Any]:
        """JSON-friendly: the mean attended mass, and the trace if one was asked for."""
        if not self._blocks:
            return {}
        shares = torch.cat([looks.shares(row) for _, looks in self._blocks])
        said: dict[str, Any] = {"attended_mass": round(shares[:, -1].mean().item(), 4)}
        if trace:
            best = torch.cat([looks.best[:, row] for _, looks in self._blocks])
            said["trace"] = {
                "steps": [step for steps, _ in self._blocks for step in steps],
                "tokens": _tokens(best, visual).tolist(),
                "masses": [[round(share, 4) for share in step] for step in shares.tolist()],
            }
        return said

    def _keep_latest(self) -> None:
        if self._latest is not None:
            self._open.append((self._step, self._latest))
        self._latest = None


def _tokens(ordinals: Tensor, visual: Tensor) -> Tensor:
    """Indices among the visual tokens, -1 where there is no patch."""
    ordinals = ordinals.cpu()
    if not len(visual):
        return torch.full_like(ordinals, -1)
    return visual[ordinals.clamp(min=0)].masked_fill(ordinals < 0, -1)


def _share_left(dropped: int, all_of_them: int) -> float:
    return 1 - dropped / all_of_them if all_of_them else 1.0

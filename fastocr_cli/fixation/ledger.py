"""What a pruning policy did to every page: shares attended, cache rows not read, where it looked.

Counts of chosen tokens stay on the device until a page ends, so that no step waits for an answer.
Knows nothing of how tokens are chosen.
"""

from __future__ import annotations

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
        self._looks = _Looks()

    def dense(self) -> None:
        """A layer attended to everything."""
        self._dense_layers += 1

    def sparse(self, chosen: Tensor) -> None:
        """A layer attended to this many patches of each row; LongTensor [B]."""
        self._sparse_layers += 1
        self._chosen += chosen

    def scored(self, share: float) -> None:
        """To choose, a layer read this share of the K and V of all patches of every row."""
        self._scored_shares += share

    def look(self, tokens: Tensor, masses: Tensor) -> None:
        """Where this step looked; a later layer's look replaces an earlier layer's.

        tokens: LongTensor [B, n], indices among the row's visual tokens, most attended first.
        masses: fp32 [B, n + 1], each token's share of the visual attention, and the share of the
            whole fixation in the last column.
        """
        self._looks.note(tokens, masses)

    def begin_step(self) -> None:
        self._looks.begin_step()

    def select_rows(self, rows: Tensor, extra: dict[str, Any]) -> None:
        """Only these rows go on. rows: LongTensor, ascending; extra: what to say of the others."""
        staying = set(rows.tolist())
        self._looks.close_block()
        for row in range(len(self._pages)):
            if row not in staying:
                self._done[self._pages[row]] = self._stats(row, extra)
        self._pages = [self._pages[row] for row in rows.tolist()]
        rows = rows.to(self._chosen.device)
        self._chosen = self._chosen[rows]
        self._tokens = self._tokens.rows(rows)
        self._looks.select_rows(rows)

    def finish(self, extra: dict[str, Any]) -> list[PolicyStats]:
        """One entry per page, in the order in which they were given."""
        self.select_rows(torch.zeros(0, dtype=torch.long), extra)
        return [self._done[page] for page in sorted(self._done)]

    def _stats(self, row: int, extra: dict[str, Any]) -> PolicyStats:
        patches = int(self._tokens.counts[row])
        visual = patches + int(self._tokens.structural[row])
        dropped = self._sparse_layers * patches - int(self._chosen[row])
        layers = self._sparse_layers + self._dense_layers
        return PolicyStats(
            keep_sparse_layers=_share_left(dropped, self._sparse_layers * visual),
            keep_all_layers=_share_left(dropped, layers * visual),
            kv_rows_skipped=dropped - round(self._scored_shares * patches),
            gaze=self._looks.gaze(row),
            extra={**extra, **self._looks.report(row, self._trace)},
        )


class _Looks:
    """Where each step looked, kept in blocks of steps that had the same rows."""

    def __init__(self) -> None:
        self._step = -1
        self._latest: tuple[Tensor, Tensor] | None = None
        self._open: list[tuple[int, Tensor, Tensor]] = []
        self._blocks: list[tuple[list[int], Tensor, Tensor]] = []

    def note(self, tokens: Tensor, masses: Tensor) -> None:
        self._latest = tokens, masses

    def begin_step(self) -> None:
        self._keep_latest()
        self._step += 1

    def _keep_latest(self) -> None:
        if self._latest is not None:
            self._open.append((self._step, *self._latest))
        self._latest = None

    def close_block(self) -> None:
        """The rows are about to change."""
        self._keep_latest()
        if self._open:
            steps, tokens, masses = zip(*self._open, strict=True)
            self._blocks.append((list(steps), torch.stack(tokens), torch.stack(masses)))
        self._open = []

    def select_rows(self, rows: Tensor) -> None:
        self._blocks = [(steps, one[:, rows], two[:, rows]) for steps, one, two in self._blocks]

    def gaze(self, row: int) -> Tensor | None:
        """int64 [steps], -1 in a step that did not look; None if none did."""
        if not self._blocks:
            return None
        gaze = torch.full((self._step + 1,), -1)
        for steps, tokens, _ in self._blocks:
            gaze[torch.tensor(steps)] = tokens[:, row, 0].cpu()
        return gaze

    def report(self, row: int, trace: bool) -> dict[str, Any]:
        """JSON-friendly: the mean attended mass, and the trace if one was asked for."""
        if not self._blocks:
            return {}
        masses = torch.cat([block[2][:, row] for block in self._blocks]).cpu()
        said: dict[str, Any] = {"attended_mass": round(masses[:, -1].mean().item(), 4)}
        if trace:
            said["trace"] = {
                "steps": [step for block in self._blocks for step in block[0]],
                "tokens": torch.cat([block[1][:, row] for block in self._blocks]).tolist(),
                "masses": [[round(mass, 4) for mass in step] for step in masses.tolist()],
            }
        return said


def _share_left(dropped: int, all_of_them: int) -> float:
    return 1 - dropped / all_of_them if all_of_them else 1.0

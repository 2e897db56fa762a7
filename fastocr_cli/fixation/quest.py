"""Quest-like: keys are grouped into pages, and bounds on a page's keys say whether to read it.

After Quest (Tang et al., ICML 2024, arXiv 2406.10774): per page the element-wise minimum and
maximum of the keys bound the largest possible product with the query; the best pages are read, in
every layer anew, and the first two layers are dense. The original chooses per head; here the
bounds become weights over the pages, and their mean over heads chooses one set for all heads.
No layer is focal; what is read to choose is two rows of keys a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fastocr_cli.fixation.policy import DecoderShape
from fastocr_cli.fixation.selection import PADDING, best_patches, sort_padded
from fastocr_cli.fixation.settings import require
from fastocr_cli.fixation.state import Call, PruningState
from fastocr_cli.models.base import VisualLayout


@dataclass(frozen=True)
class QuestPolicy:
    """keep: share of a page's patches; page: patches a page of keys; dense: layers that are so."""

    keep: float
    page: int = 16
    dense: int = 2
    minimum: int = 16
    name: ClassVar[str] = "quest"

    def __post_init__(self) -> None:
        require(self.page >= 1, "page", self.page, "1 or more")

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> QuestState:
        return QuestState(self, layouts, shape, device)


@dataclass(frozen=True)
class KeyBounds:
    """low, high: [B, N, Hkv, D], element-wise bounds of the keys of each of N pages."""

    low: Tensor
    high: Tensor


class QuestState(PruningState):
    def __init__(
        self,
        policy: QuestPolicy,
        layouts: Sequence[VisualLayout],
        shape: DecoderShape,
        device: torch.device,
    ) -> None:
        super().__init__(layouts, shape, device, keep=policy.keep, minimum=policy.minimum)
        self._page = policy.page
        self._dense_layers = shape.policy_layers[: policy.dense]
        self._bounds: dict[int, KeyBounds] = {}

    def attend_layer(self, call: Call) -> Tensor:
        if call.layer in self._dense_layers:
            return self.dense(call)
        if call.layer not in self._bounds:
            self._bounds[call.layer] = self._bounds_of(call.keys)
        self.ledger.scored(1 / self._page)  # two rows of keys a page, no values
        pages = self._best_pages(call.query, self._bounds[call.layer], call.scale)
        return self.sparse(call, self.fixation(self._members(pages)))

    def _bounds_of(self, keys: Tensor) -> KeyBounds:
        """keys: [B, L_max, Hkv, D]. Patch keys never change, so this is done once a layer."""
        patches = self._paged(self.tokens.patches)  # [B, N, page]
        rows = torch.arange(len(keys), device=keys.device)[:, None, None]
        paged = keys[rows, patches.clamp(min=0)]  # [B, N, page, Hkv, D]
        missing = (patches < 0)[..., None, None]
        low = paged.masked_fill(missing, torch.inf).amin(dim=2)
        high = paged.masked_fill(missing, -torch.inf).amax(dim=2)
        is_empty = missing.all(dim=2)
        return KeyBounds(low.masked_fill(is_empty, 0), high.masked_fill(is_empty, 0))

    def _best_pages(self, query: Tensor, bounds: KeyBounds, scale: float) -> Tensor:
        """LongTensor [B, n] of each row's best pages, in no order, padded with -1."""
        batch, pages, kv_heads, dim = bounds.low.shape
        grouped = query.view(batch, kv_heads, -1, dim)
        best = torch.einsum("bhgd,bnhd->bhgn", grouped.clamp(min=0), bounds.high)
        best = best + torch.einsum("bhgd,bnhd->bhgn", grouped.clamp(max=0), bounds.low)
        counts = self._page_counts(self.tokens.counts)
        missing = torch.arange(pages, device=query.device) >= counts[:, None]
        bounded = (best.float() * scale).masked_fill(missing[:, None, None], -torch.inf)
        scores = bounded.softmax(dim=-1).nan_to_num().mean(dim=(1, 2))
        budgets = torch.minimum((self.budgets // self._page).clamp(min=1), counts)
        most = min(max(self.largest // self._page, 1), pages)
        return best_patches(scores.masked_fill(missing, -torch.inf), budgets, most)[0]

    def _members(self, pages: Tensor) -> Tensor:
        """Ordinals of the patches on these pages, ascending. pages: LongTensor [B, n]."""
        members = pages[..., None] * self._page + torch.arange(self._page, device=pages.device)
        missing = (pages < 0)[..., None] | (members >= self.tokens.counts[:, None, None])
        return sort_padded(members.masked_fill(missing, PADDING).flatten(1))

    def _page_counts(self, counts: Tensor) -> Tensor:
        return (counts + self._page - 1) // self._page

    def _paged(self, patches: Tensor) -> Tensor:
        """LongTensor [B, P] cut into pages, [B, N, page], padded with -1."""
        spare = -patches.shape[1] % self._page
        padded = torch.nn.functional.pad(patches, (0, spare), value=PADDING)
        return padded.view(len(patches), -1, self._page)

    def keep_rows(self, rows: Tensor) -> None:
        self._bounds = {
            layer: KeyBounds(bounds.low[rows], bounds.high[rows])
            for layer, bounds in self._bounds.items()
        }

"""FastOCR: every step attends to what a few focal layers see that it is looking at.

Focal-guided pruning: focal layers attend to everything, and the patches they attend to most are
the step's fixation; every other layer attends to the fixation of the nearest focal layer before it.
Cross-step reuse: layers before the first focal one use the last fixation of the previous step.
Nothing is evicted, so the next step is free to look elsewhere. After "FastOCR" (arXiv 2605.17447),
whose method section is not public: where it is silent, the settings say what we chose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fastocr_cli.fixation.finder import FocalFinder
from fastocr_cli.fixation.focal import FocalChoice
from fastocr_cli.fixation.policy import DecoderShape, PolicyStats
from fastocr_cli.fixation.rest import PageMean, sparse_with_rest
from fastocr_cli.fixation.selection import (
    PADDING,
    budget,
    dilate,
    mask_of,
    neighbours,
    ordinals_of,
)
from fastocr_cli.fixation.settings import FixationSettings
from fastocr_cli.fixation.state import Call, Fixation, PruningState
from fastocr_cli.models.base import VisualLayout
from fastocr_kernels import HeadReduction

_PROBE_KEEP = 0.05
"""Where nothing is pruned and only the gaze is asked for, focal layers are found for this share."""


@dataclass(frozen=True)
class FastOCRPolicy:
    """Focal-guided pruning with cross-step reuse, for one model.

    finder: remembers the focal layers between batches once the first page has shown them.
    """

    settings: FixationSettings
    finder: FocalFinder = field(compare=False)
    name: ClassVar[str] = "fastocr"

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> FastOCRState:
        self.finder.check(shape)
        return FastOCRState(self.settings, self.finder, layouts, shape, device)


class FastOCRState(PruningState):
    def __init__(
        self,
        settings: FixationSettings,
        finder: FocalFinder,
        layouts: Sequence[VisualLayout],
        shape: DecoderShape,
        device: torch.device,
    ) -> None:
        super().__init__(
            layouts,
            shape,
            device,
            keep=settings.keep,
            minimum=settings.minimum,
            trace=settings.trace,
        )
        self._settings = settings
        self._finder = finder
        self._step = -1
        self._is_entered = False
        self._is_dense_step = False
        self._chooses = True
        self._fixation: Fixation | None = None
        self._widened: Fixation | None = None
        self._table: Tensor | None = None
        if settings.dilation:
            self._table = _neighbour_table(layouts, settings.dilation).to(device)
        self._means: dict[int, PageMean] = {}
        self._has_observed = False
        self._is_probing = finder.choice is None and self.needs_attention
        if self._is_probing:
            self._start_probe()

    @property
    def takes_drafts(self) -> bool:
        """A draft's tokens share one fixation: not where single tokens are measured or traced."""
        settings = self._settings
        watches = settings.min_mass or settings.trace or settings.refresh
        is_plain = settings.rest == "drop" and not watches
        has_choice = self._finder.choice is not None and settings.focal_output == "sparse"
        return super().takes_drafts or (is_plain and has_choice and not self._is_probing)

    def begin_step(self, longest: int, widths: Sequence[int] = ()) -> None:
        super().begin_step(longest, widths)
        self._end_probe_step()
        self._step += 1
        self._is_entered = False

    def _enter_step(self, *, is_draft: bool) -> None:
        """What one step's layers share; not in `begin_step`, so that it is timed as attention."""
        self._is_entered = True
        refresh = self._settings.refresh
        self._is_dense_step = refresh > 0 and self._step % refresh == 0
        is_due = self._step % self._stride() == 0
        self._chooses = is_due or is_draft or self._is_dense_step or self._fixation is None
        if not self._settings.reuse:
            self._fixation = None
        elif self._fixation is not None and self._fixation is not self._widened:
            self._fixation = self._widened = self._widen(self._fixation)

    def _stride(self) -> int:
        """Steps from one choice to the next."""
        settings, choice = self._settings, self._finder.choice
        if settings.focal_stride is not None:
            return settings.focal_stride
        return choice.stride if choice is not None and settings.reuse else 1

    def _widen(self, fixation: Fixation) -> Fixation:
        """For another step than the one that chose it: the eye has moved on a little."""
        if self._table is None:
            return fixation
        return self.fixation(dilate(fixation.ordinals, self._table))

    def attend_layer(self, call: Call) -> Tensor:
        if not self._is_entered:
            self._enter_step(is_draft=call.is_draft)
        choice = self._finder.choice
        if choice is None or self._is_probing:
            return self._probe(call)
        if call.layer in choice.layers:
            if self._chooses:
                return self._focal(call, choice)
            if self._settings.trace and self._fixation is not None:
                scores = self.scores(call, *self._looking(call.layer, choice))
                self.look_only(scores, self._fixation)
        is_dense = self._is_dense_step or call.layer in self._settings.dense_layers
        if is_dense or self._fixation is None:
            return self.dense(call)
        return self.sparse(call, self._fixation)

    def sparse(self, call: Call, fixation: Fixation) -> Tensor:
        if self._settings.rest == "drop" or not self.prunes:
            return super().sparse(call, fixation)
        self.ledger.sparse(fixation.counts)
        if call.layer not in self._means:
            patches = self.tokens.patches
            self._means[call.layer] = PageMean.of(call.keys, call.values, patches)
        return sparse_with_rest(
            call.query,
            call.keys,
            call.values,
            self.attended_set(fixation, call.lengths),
            call.scale,
            self._means[call.layer],
            self.tokens.counts - fixation.counts,
        )

    def _focal(self, call: Call, choice: FocalChoice) -> Tensor:
        """A focal layer: scores every patch, chooses the fixation, attends."""
        heads, reduction = self._looking(call.layer, choice)
        if self._settings.focal_output == "dense" or self._is_dense_step:
            out, scores = self.scored(call, heads, reduction)
            self._fixation = self._choose(scores)
            return out
        self._fixation = self._choose(self.scores(call, heads, reduction))
        return self.sparse(call, self._fixation)

    def _looking(
        self, layer: int, choice: FocalChoice
    ) -> tuple[Sequence[int] | None, HeadReduction]:
        """The heads that a focal layer is asked with, and how they make one score."""
        heads = choice.heads[choice.layers.index(layer)] if choice.heads else None
        return heads, "max" if self._settings.heads == "max" else "mean"

    def _choose(self, scores: Tensor) -> Fixation:
        """The fixation, or all patches for rows where it holds too little. scores: fp32 [B, P]."""
        fixation = self.choose(scores)
        if not self._settings.min_mass:
            return fixation
        patches = scores.shape[1]
        chosen = mask_of(fixation.ordinals, patches)
        visible = scores.clamp(min=0)
        held = (visible * chosen).sum(dim=1)
        is_weak = held < self._settings.min_mass * visible.sum(dim=1)
        if not is_weak.any():
            return fixation
        every = torch.arange(patches, device=scores.device) < self.tokens.counts[:, None]
        return self.fixation(ordinals_of(torch.where(is_weak[:, None], every, chosen)))

    def keep_rows(self, rows: Tensor) -> None:
        if self._is_probing and len(rows) and rows[0] != 0:
            self._end_probe_step()
            self._start_probe()
        self._table = self._table[rows] if self._table is not None else None
        self._means = {layer: mean.rows(rows) for layer, mean in self._means.items()}
        is_widened = self._fixation is self._widened
        self._fixation = self._fixation.rows(rows) if self._fixation is not None else None
        self._widened = self._fixation if is_widened else None

    def remarks(self) -> dict[str, Any]:
        choice = self._finder.choice
        if choice is None:
            return {}
        return {"focal_layers": list(choice.layers), "focal_source": choice.source}

    def finish(self) -> list[PolicyStats]:
        self._end_probe_step()
        return super().finish()

    def _start_probe(self) -> None:
        """The first row's page is the one whose dense steps are measured."""
        size = int(self.budgets[0])
        if not self.prunes:
            size = budget(_PROBE_KEEP, int(self.tokens.counts[0]), self._settings.minimum)
        self._finder.start_page(max(size, 1))

    def _probe(self, call: Call) -> Tensor:
        out, weights = self.scored(call, reduction="none")
        self._finder.observe(weights[0, :, : int(self.tokens.counts[0])])
        self._has_observed = True
        return out

    def _end_probe_step(self) -> None:
        if self._has_observed:
            self._finder.end_step(self.shape.policy_layers)
            self._is_probing = self._finder.choice is None
        self._has_observed = False


def _neighbour_table(layouts: Sequence[VisualLayout], radius: int) -> Tensor:
    """LongTensor [B, P, N], see `selection.neighbours`, padded with -1."""
    tables = [neighbours(layout.grid[~layout.structural].cpu(), radius) for layout in layouts]
    return pad_sequence(tables, batch_first=True, padding_value=PADDING)


def fixed_layers(
    settings: FixationSettings,
    layers: Sequence[int],
    layouts: Sequence[VisualLayout],
    shape: DecoderShape,
    device: torch.device,
) -> FastOCRState:
    """The method with its selecting layers given: the relatives it is compared with."""
    settings = replace(settings, focal_layers=tuple(sorted(set(layers))))
    return FastOCRPolicy(settings, FocalFinder(settings)).start(layouts, shape, device)

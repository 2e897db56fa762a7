"""Hand-made decode scenes: random queries and caches over pages with known layouts, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fastocr_cli.fixation.policy import AttentionPolicy, DecoderShape, PolicyState
from fastocr_cli.models.base import VisualLayout

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Page:
    """rows x columns patches behind `before` text tokens, a structural token at each row's end
    if `row_ends`, then `after` text tokens of prompt."""

    rows: int
    columns: int
    before: int = 3
    after: int = 2
    row_ends: bool = False

    @property
    def layout(self) -> VisualLayout:
        if not self.rows:
            return VisualLayout.empty()
        width = self.columns + self.row_ends
        positions = self.before + torch.arange(self.rows * width)
        plain = VisualLayout.raster(positions, self.rows, width)
        structural = (plain.grid[:, 2] == width - 1) & self.row_ends
        grid = plain.grid.masked_fill(structural[:, None], -1)
        boxes = plain.boxes.masked_fill(structural[:, None], torch.nan)
        return VisualLayout(positions, structural, grid, boxes)

    @property
    def prompt(self) -> int:
        return self.before + self.rows * (self.columns + self.row_ends) + self.after


class Scene:
    """A batch of pages with a random cache per layer; garbage (NaN) behind what is written."""

    def __init__(
        self,
        pages: Sequence[Page],
        *,
        layers: int = 4,
        heads: int = 4,
        kv_heads: int = 2,
        dim: int = 16,
        steps: int = 3,
        seed: int = 0,
        sharpness: float = 2.0,
    ) -> None:
        self.pages = list(pages)
        self.shape = DecoderShape(layers, heads, kv_heads, dim)
        self.scale = dim**-0.5
        self.steps = steps
        self.prompts = torch.tensor([page.prompt for page in pages])
        draw = torch.Generator().manual_seed(seed)
        size = (layers, len(pages), int(self.prompts.max()) + steps, kv_heads, dim)
        self.keys = torch.randn(size, generator=draw) * sharpness
        self.values = torch.randn(size, generator=draw)
        self.queries = torch.randn(steps, layers, len(pages), heads, dim, generator=draw)
        for row, prompt in enumerate(self.prompts.tolist()):
            self.keys[:, row, prompt + steps :] = torch.nan
            self.values[:, row, prompt + steps :] = torch.nan

    @property
    def layouts(self) -> list[VisualLayout]:
        return [page.layout for page in self.pages]

    def start(self, policy: AttentionPolicy) -> PolicyState:
        return policy.start(self.layouts, self.shape, CPU)

    def only(self, row: int) -> Scene:
        """The same page alone."""
        alone = Scene.__new__(Scene)
        alone.__dict__.update(self.__dict__)
        alone.pages = [self.pages[row]]
        alone.prompts = self.prompts[row : row + 1]
        alone.keys, alone.values = self.keys[:, row : row + 1], self.values[:, row : row + 1]
        alone.queries = self.queries[:, :, row : row + 1]
        return alone

    def lengths(self, step: int, rows: Tensor | None = None) -> Tensor:
        lengths = self.prompts + step + 1
        return lengths if rows is None else lengths[rows]

    def step(self, state: PolicyState, step: int, rows: Tensor | None = None) -> Tensor:
        """All layers of one step for the rows given (all); returns [layers, B, Hq, D]."""
        rows = torch.arange(len(self.pages)) if rows is None else rows
        lengths = self.lengths(step, rows)
        state.begin_step(int(lengths.max()))
        return torch.stack(
            [
                state.attend(
                    layer,
                    self.queries[step, layer, rows],
                    self.keys[layer, rows],
                    self.values[layer, rows],
                    lengths,
                    self.scale,
                )
                for layer in range(self.shape.num_layers)
            ]
        )

    def run(self, policy: AttentionPolicy) -> list[Tensor]:
        state = self.start(policy)
        outputs = [self.step(state, step) for step in range(self.steps)]
        state.finish()
        return outputs

    def weights(self, step: int, layer: int, row: int) -> Tensor:
        """Dense post-softmax weights [Hq, length] of one row, by the plain formula."""
        length = int(self.lengths(step)[row])
        keys = self.keys[layer, row, :length].repeat_interleave(self._group, dim=1)
        logits = torch.einsum("hd,lhd->hl", self.queries[step, layer, row], keys) * self.scale
        return logits.softmax(dim=-1)

    def masked(self, step: int, layer: int, row: int, attended: Tensor) -> Tensor:
        """Dense attention [Hq, D] with everything outside `attended` masked, by the formula.

        attended: BoolTensor [length].
        """
        length = int(self.lengths(step)[row])
        keys = self.keys[layer, row, :length].repeat_interleave(self._group, dim=1)
        values = self.values[layer, row, :length].repeat_interleave(self._group, dim=1)
        logits = torch.einsum("hd,lhd->hl", self.queries[step, layer, row], keys) * self.scale
        logits = logits.masked_fill(~attended, -torch.inf)
        return torch.einsum("hl,lhd->hd", logits.softmax(dim=-1), values)

    @property
    def _group(self) -> int:
        return self.shape.num_heads // self.shape.num_kv_heads

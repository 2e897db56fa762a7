"""The ways to attend that are compared, as functions of a run's number.

Layer functions attend once; step functions attend in all layers of a decode step, selection
included. Each call takes the next caches of the pool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

import fastocr_kernels as kernels
from fastocr_kernels.bench.cases import Case, Data


@dataclass(frozen=True)
class Contestant:
    """name; how many layers one call attends in; bytes of keys and values a call must read.

    rival: which contestant its ratio is taken against.
    """

    name: str
    layers: int
    bytes: int
    run: Callable[[int], object]
    rival: str = "dense sdpa"


class Arena:
    """The data of one case, a fixation on it, and what the contestants do with them."""

    def __init__(self, case: Case, data: Data) -> None:
        self.case = case
        self.data = data
        # Half the KV heads do the looking, as where heads are chosen; never less than one.
        looking = max(1, case.kv_heads // 2) * (case.heads // case.kv_heads)
        self.gaze_heads = list(range(looking))
        scores = torch.rand(data.visual.positions.shape, device=data.query.device)
        self.scores = scores
        self.attended = self.select(scores)
        self.nothing = kernels.VisualSet(data.visual.positions[:, :0])
        self.gathered = torch.stack([self.attended.positions(row) for row in range(case.batch)])

    def contestants(self) -> list[Contestant]:
        case = self.case
        sparse = case.batch * (case.budget + case.text) * case.position_bytes
        looked = case.batch * case.length * case.position_bytes // 2
        gaze = looked * max(1, case.kv_heads // 2) // case.kv_heads
        others = case.layers - case.focal
        step = case.focal * case.layer_bytes + others * sparse
        gaze_step = case.focal * gaze + case.layers * sparse
        return [
            Contestant("dense sdpa", 1, case.layer_bytes, self.dense_sdpa),
            Contestant("dense, own kernel", 1, case.layer_bytes, self.dense_own),
            Contestant("gather + sdpa", 1, sparse, self.gather_sdpa),
            Contestant("sparse", 1, sparse, self.sparse),
            Contestant("focal", 1, case.layer_bytes, self.focal),
            Contestant("gaze", 1, gaze, self.gaze),
            Contestant("select", 1, 0, lambda _: self.select(self.scores)),
            Contestant(
                "step dense sdpa", case.layers, case.layers * case.layer_bytes, self.step_dense
            ),
            Contestant("step focal", case.layers, step, self.step_focal, "step dense sdpa"),
            Contestant("step gaze", case.layers, gaze_step, self.step_gaze, "step dense sdpa"),
        ]

    def caches(self, turn: int) -> tuple[Tensor, Tensor]:
        place = turn % self.case.pool
        return self.data.keys[place], self.data.values[place]

    def dense_sdpa(self, turn: int) -> Tensor:
        """The library's attention; a KV head's queries stand as one block, read once."""
        keys, values = (cache[:, : self.case.length] for cache in self.caches(turn))
        return self._sdpa(keys.transpose(1, 2), values.transpose(1, 2))

    def dense_own(self, turn: int) -> Tensor:
        """The focal kernel with no visual token to score."""
        data = self.data
        keys, values = self.caches(turn)
        return kernels.focal_decode(
            data.query, keys, values, self.nothing, data.lengths, self.case.scale, heads=[0]
        )[0]

    def gather_sdpa(self, turn: int) -> Tensor:
        """Copy the attended positions by `gather`, then the library's attention."""
        shape = (-1, self.case.kv_heads, -1, self.case.head_dim)
        index = self.gathered[:, None, :, None].expand(shape)
        keys, values = (cache.transpose(1, 2).gather(2, index) for cache in self.caches(turn))
        return self._sdpa(keys, values)

    def sparse(self, turn: int, attended: kernels.AttendedSet | None = None) -> Tensor:
        keys, values = self.caches(turn)
        attended = attended or self.attended
        return kernels.sparse_decode(self.data.query, keys, values, attended, self.case.scale)

    def focal(self, turn: int) -> tuple[Tensor, Tensor]:
        data = self.data
        keys, values = self.caches(turn)
        return kernels.focal_decode(
            data.query, keys, values, data.visual, data.lengths, self.case.scale
        )

    def gaze(self, turn: int) -> Tensor:
        data = self.data
        return kernels.gaze_scores(
            data.query,
            self.caches(turn)[0],
            data.visual,
            data.lengths,
            self.case.scale,
            heads=self.gaze_heads,
        )

    def select(self, scores: Tensor) -> kernels.AttendedSet:
        data = self.data
        best = scores.topk(self.case.budget, dim=1).indices
        places = data.visual.positions.gather(1, best).sort(dim=1).values
        return kernels.AttendedSet(places, data.text_start, data.lengths)

    def step_dense(self, turn: int) -> None:
        for layer in range(self.case.layers):
            self.dense_sdpa(turn * self.case.layers + layer)

    def step_focal(self, turn: int) -> None:
        """A decode step: focal layers choose, the layers after each attend to its choice."""
        attended = self.attended
        for layer in range(self.case.layers):
            place = turn * self.case.layers + layer
            if self._is_focal(layer):
                attended = self.select(self.focal(place)[1])
            else:
                self.sparse(place, attended)

    def step_gaze(self, turn: int) -> None:
        """The same, but a choosing layer scores with a few heads and then attends sparsely."""
        attended = self.attended
        for layer in range(self.case.layers):
            place = turn * self.case.layers + layer
            if self._is_focal(layer):
                attended = self.select(self.gaze(place))
            self.sparse(place, attended)

    def _is_focal(self, layer: int) -> bool:
        return layer % -(-self.case.layers // self.case.focal) == 0

    def _sdpa(self, keys: Tensor, values: Tensor) -> Tensor:
        case = self.case
        grouped = self.data.query.view(case.batch, case.kv_heads, -1, case.head_dim)
        return F.scaled_dot_product_attention(grouped, keys, values, scale=case.scale)

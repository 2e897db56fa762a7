"""Random ragged batches with NaN wherever nothing may read, and how close is close enough."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fastocr_kernels import AttendedSet, VisualSet

COMPILED = torch.cuda.is_available()
DEVICE = "cuda" if COMPILED else "cpu"


@dataclass(frozen=True)
class Heads:
    query: int
    kv: int
    width: int

    def __str__(self) -> str:
        return f"{self.query}q{self.kv}kv{self.width}d"


@dataclass(frozen=True)
class Batch:
    """query [B, Hq, D], keys and values [B, L_max, Hkv, D], lengths [B], scale."""

    query: Tensor
    keys: Tensor
    values: Tensor
    lengths: Tensor
    scale: float

    def double(self) -> Batch:
        return replace(
            self, query=self.query.double(), keys=self.keys.double(), values=self.values.double()
        )

    def poisoned(self, attended: Tensor) -> Batch:
        """The same with NaN in all cache rows but the attended ones, bool [B, L_max]."""
        forbidden = ~attended[:, :, None, None].to(self.keys.device)
        return replace(
            self,
            keys=self.keys.masked_fill(forbidden, float("nan")),
            values=self.values.masked_fill(forbidden, float("nan")),
        )

    def row(self, row: int) -> Batch:
        picked = slice(row, row + 1)
        return replace(
            self,
            query=self.query[picked],
            keys=self.keys[picked],
            values=self.values[picked],
            lengths=self.lengths[picked],
        )


def random_batch(
    lengths: list[int],
    heads: Heads,
    dtype: torch.dtype = torch.float32,
    *,
    seed: int = 0,
    device: str = "cpu",
) -> Batch:
    """A batch whose rows end at `lengths`; every cache has seven spare positions of NaN."""
    draw = torch.Generator().manual_seed(seed)
    capacity = max(lengths) + 7
    cache = (len(lengths), capacity, heads.kv, heads.width)
    keys, values = (torch.randn(cache, generator=draw) for _ in range(2))
    # Twice the usual size: a peaked softmax shows errors that a flat one averages away.
    query = 2 * torch.randn(len(lengths), heads.query, heads.width, generator=draw)
    batch = Batch(
        *(tensor.to(dtype).to(device) for tensor in (query, keys, values)),
        torch.tensor(lengths, device=device),
        heads.width**-0.5,
    )
    return batch.poisoned(torch.arange(capacity) < torch.tensor(lengths)[:, None])


def random_attended(
    batch: Batch, text_start: list[int], counts: list[int], *, seed: int = 0, spare: int = 3
) -> AttendedSet:
    """counts[b] random positions before text_start[b], padded with at least `spare` of -1."""
    draw = torch.Generator().manual_seed(seed)
    indices = torch.full((len(counts), max(counts) + spare), -1)
    for row, (count, start) in enumerate(zip(counts, text_start, strict=True)):
        indices[row, :count] = torch.randperm(start, generator=draw)[:count].sort().values
    device = batch.lengths.device
    return AttendedSet(indices.to(device), torch.tensor(text_start, device=device), batch.lengths)


def poisoned_outside(batch: Batch, attended: AttendedSet) -> Batch:
    """NaN in every cache row the set does not name."""
    named = torch.zeros(batch.keys.shape[:2], dtype=torch.bool)
    for row in range(len(named)):
        named[row, attended.positions(row).cpu()] = True
    return batch.poisoned(named)


def random_visual(counts: list[int], *, gaps: bool = False, device: str = "cpu") -> VisualSet:
    """counts[b] visual positions a row from position 2 on; with gaps every third is missing."""
    rows = []
    for count in counts:
        places = torch.arange(2, 2 + 2 * count + 3)
        rows.append((places[places % 3 != 0] if gaps else places)[:count])
    positions = torch.full((len(counts), max(counts) + 1), -1)
    for row, places in enumerate(rows):
        positions[row, : len(places)] = places
    return VisualSet(positions.to(device))


def assert_as_close(actual: Tensor, plain: Tensor, exact: Tensor) -> None:
    """`actual` may err at most twice as much as the plain formula in the same dtype.

    exact: the plain formula in float64. Ten roundings of the largest value are always allowed: one
    rounding of a logit of ten moves its weight by as much, and the plain formula may be lucky.
    """
    assert actual.shape == exact.shape
    assert actual.dtype == plain.dtype
    same_padding = torch.equal(torch.isinf(actual), torch.isinf(exact))
    assert same_padding, "padding differs"
    finite = torch.isfinite(exact)
    error = (actual.double() - exact.double())[finite].abs()
    if error.numel() == 0:
        return
    own = (plain.double() - exact.double())[finite].abs()
    largest = exact[finite].abs().max()
    allowed = 2 * own.max() + 10 * torch.finfo(actual.dtype).eps * largest
    worst = (~(error <= allowed)).nonzero()[:5].flatten().tolist()
    assert not worst, (
        f"largest error {error.max():.3g} (mean {error.mean():.3g}), allowed {allowed:.3g}, plain "
        f"formula {own.max():.3g}; first mismatches at {worst}: got "
        f"{actual[finite][worst].tolist()}, exact {exact[finite][worst].tolist()}"
    )

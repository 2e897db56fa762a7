"""What is timed: decoder shapes, page sizes and batches, and the caches a run walks through."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import torch
from torch import Tensor

from fastocr_kernels.layouts import VisualSet

# A run must not find a layer's cache in the processor's own: at least this much lies between two
# visits (the largest L2 of a GPU is 50 MB, the L3 of a small server 32 MB).
_ROTATED_BYTES = 128 * 2**20
_SPARE = 64


@dataclass(frozen=True)
class Case:
    """One setting; all rows of the batch are alike, so that dense attention needs no mask.

    visual, text: tokens a row; keep: share of the visual tokens attended to in sparse layers;
    layers, focal: decoder layers of a step, and how many of them are focal.
    """

    heads: int
    kv_heads: int
    head_dim: int
    dtype: torch.dtype
    visual: int
    text: int
    batch: int
    keep: float
    layers: int
    focal: int

    @property
    def length(self) -> int:
        return self.visual + self.text

    @property
    def budget(self) -> int:
        return max(16, ceil(self.keep * self.visual))

    @property
    def scale(self) -> float:
        return self.head_dim**-0.5

    @property
    def position_bytes(self) -> int:
        """Bytes of keys and values of one position of one sequence in one layer."""
        return 2 * self.kv_heads * self.head_dim * self.dtype.itemsize

    @property
    def layer_bytes(self) -> int:
        """Bytes dense attention reads in one layer."""
        return self.batch * self.length * self.position_bytes

    @property
    def pool(self) -> int:
        """How many different caches a run rotates through."""
        return max(self.layers, ceil(_ROTATED_BYTES / self.layer_bytes) + 1)

    @property
    def pool_bytes(self) -> int:
        return self.pool * self.batch * (self.length + _SPARE) * self.position_bytes

    def __str__(self) -> str:
        shape = f"{self.heads}/{self.kv_heads}x{self.head_dim}"
        dtype = str(self.dtype).removeprefix("torch.")
        return f"{shape} {dtype} visual {self.visual} text {self.text} batch {self.batch}"


@dataclass(frozen=True)
class Data:
    """query [B, Hq, D]; keys and values per cache of the pool [B, L_max, Hkv, D]; lengths [B]."""

    query: Tensor
    keys: list[Tensor]
    values: list[Tensor]
    visual: VisualSet
    text_start: Tensor
    lengths: Tensor


def make_data(case: Case, device: torch.device) -> Data:
    """Random caches with the visual tokens first and the text after them."""
    torch.manual_seed(0)
    shape = (case.batch, case.length + _SPARE, case.kv_heads, case.head_dim)
    rows = torch.full((case.batch,), case.visual, device=device)
    places = torch.arange(case.visual, device=device).expand(case.batch, -1).contiguous()

    def draw(shape: tuple[int, ...]) -> Tensor:
        return torch.randn(shape, dtype=case.dtype, device=device)

    return Data(
        query=draw((case.batch, case.heads, case.head_dim)),
        keys=[draw(shape) for _ in range(case.pool)],
        values=[draw(shape) for _ in range(case.pool)],
        visual=VisualSet(places),
        text_start=rows,
        lengths=rows + case.text,
    )


def cpu_cases(keep: float) -> list[Case]:
    """The embedded reader's decoder shape on pages of A4 at 110 and at 150 dots an inch."""
    return [
        Case(4, 2, 64, torch.float32, visual, 300, batch, keep, layers=6, focal=1)
        for batch in (1, 8)
        for visual in (4600, 8000)
    ]


def gpu_cases(keep: float) -> list[Case]:
    """Qwen2.5-VL-7B: 28 layers, a tenth of them focal."""
    return [
        Case(28, 4, 128, dtype, visual, 512, batch, keep, layers=28, focal=3)
        for dtype in (torch.bfloat16, torch.float16)
        for visual in (4096, 16384)
        for batch in (1, 8, 32)
    ]

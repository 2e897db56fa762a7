"""Samples to tensors: which crops a phase asks for, and how they are batched.

Work is cut into blocks. A block's pages, crops and order follow from (seed, rank, number) alone,
so a run resumed at a block's edge sees exactly what an uninterrupted one would.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.training.fonts import Face, is_usual
from fastocr_cli.reader.training.found import found_page
from fastocr_cli.reader.training.pages import Page
from fastocr_cli.reader.training.samples import IGNORE, Sample, crop_sample, whole_sample
from fastocr_cli.reader.training.shapes import reshaped
from fastocr_cli.reader.training.typeset import typeset_page

BATCHES_PER_BLOCK = 4
CROPS_PER_PAGE = 5
_PROSE_SHARES, _PROSE_WEIGHTS = (0.97, 0.6, 0.0), (0.5, 0.2, 0.3)
"""Shares of prose on a page, the rest being codes and shuffled words, and how often each; more of
these than documents hold, for they alone teach to read what cannot be guessed."""


@dataclass(frozen=True)
class Phase:
    """What one phase trains on.

    sizes: (height, width) of crops in px, one chosen per block; empty for whole pages.
    cells: visual tokens a batch may hold. is_tower_only: the decoder rests.
    """

    sizes: tuple[tuple[int, int], ...]
    cells: int
    is_tower_only: bool = False


PHASES = {
    "tower": Phase(((256, 256), (128, 512), (512, 128)), 2560, is_tower_only=True),
    "strips": Phase(((96, 512), (64, 768), (160, 384)), 2304),
    "crops": Phase(((256, 512), (384, 384), (512, 384), (320, 640), (640, 320)), 2560),
    "large": Phase(((640, 640), (512, 1024), (1024, 512), (832, 832)), 3000),
    "pages": Phase((), 8000),
}


@dataclass(frozen=True)
class Sources:
    """Where pages come from: faces to typeset with, documents to open.

    clean: share of the crops that stay as the printer meant them. share_usual: pages set in faces
    that documents are mostly set in, whatever the number of others: readers of many display faces
    grow worse at scans of print.
    """

    faces: Sequence[Face]
    documents: Sequence[Path]
    held_out: bool = False
    share_found: float = 0.3
    share_usual: float = 0.5
    clean: float = 0.33

    @cached_property
    def _usual_faces(self) -> Sequence[Face]:
        return [face for face in self.faces if is_usual(face)] or self.faces

    def page(self, rng: random.Random) -> Page:
        return reshaped(rng, self._as_set(rng))

    def _as_set(self, rng: random.Random) -> Page:
        em_px = min(max(rng.gauss(23.0, 3.0), 13.0), 32.0)
        if self.documents and rng.random() < self.share_found:
            return found_page(rng, self.documents, em_px)
        prose = rng.choices(_PROSE_SHARES, _PROSE_WEIGHTS)[0]
        faces = self._usual_faces if rng.random() < self.share_usual else self.faces
        return typeset_page(rng, faces, em_px, held_out=self.held_out, prose_share=prose)


@dataclass(frozen=True)
class Batch:
    """Tensors of one step; B crops of one size, N cells each, T tokens after padding.

    pixels: float32 [B, 1, H, W] in -1..1. tokens: int64 [B, T], PAD at the end.
    cells: int64 [B, T]. columns, edges: int64 [B, N, 8]. origins: int64 [B, 2].
    position_ids: int64 [B, N + T], as they would be on the whole page the crop is from.
    is_kind_known: bool [B]. starts: int64 [B, N], what begins in each cell.
    """

    pixels: Tensor
    tokens: Tensor
    cells: Tensor
    columns: Tensor
    edges: Tensor
    origins: Tensor
    position_ids: Tensor
    is_kind_known: Tensor
    starts: Tensor

    def to(self, device: str) -> Batch:
        return Batch(**{name: value.to(device) for name, value in vars(self).items()})


def block_batches(phase: Phase, sources: Sources, seed: str) -> Iterator[Batch]:
    """The batches of one block, crops sorted by length so that padding is short."""
    rng = random.Random(seed)
    if not phase.sizes:
        for _ in range(BATCHES_PER_BLOCK):
            yield collate(rng, [_whole_page(rng, sources, phase.cells)])
        return
    height, width = rng.choice(phase.sizes)
    count = max(1, phase.cells // (height * width // v.CELL_PX**2))
    wanted = count * BATCHES_PER_BLOCK
    samples: list[Sample] = []
    while len(samples) < wanted:
        page = sources.page(rng)
        for _ in range(CROPS_PER_PAGE):
            crop = crop_sample(rng, page, height, width, clean=sources.clean)
            if crop is not None:
                samples.append(crop)
    samples = sorted(samples[:wanted], key=lambda sample: len(sample.tokens))
    batches = [samples[i : i + count] for i in range(0, wanted, count)]
    rng.shuffle(batches)
    for batch in batches:
        yield collate(rng, batch)


def _whole_page(rng: random.Random, sources: Sources, cells: int) -> Sample:
    while True:
        page = sources.page(rng)
        rows, columns = (side / v.CELL_PX for side in page.grey.shape)
        if rows * columns > cells or columns > v.MAX_COLUMNS or rows > v.MAX_ROWS:
            continue
        sample = whole_sample(rng, page, clean=sources.clean)
        if sample is not None:
            return sample


def collate(rng: random.Random, samples: Sequence[Sample]) -> Batch:
    # Few distinct lengths: oneDNN keeps compiled code and scratch memory for every shape it meets.
    length = -(-max(len(sample.tokens) for sample in samples) // 32) * 32
    pixels = np.stack([sample.grey for sample in samples])
    columns = np.stack([sample.columns for sample in samples])
    edges = np.stack([sample.edges for sample in samples])
    batch, _, wide = columns.shape
    per_cell = wide * v.CELL_PX // pixels.shape[2]
    return Batch(
        pixels=torch.from_numpy(pixels).float().div_(127.5).sub_(1)[:, None],
        tokens=torch.from_numpy(_padded([s.tokens for s in samples], length, v.PAD)),
        cells=torch.from_numpy(_padded([s.cells for s in samples], length, IGNORE)),
        columns=torch.from_numpy(columns.reshape(batch, -1, per_cell)),
        edges=torch.from_numpy(edges.reshape(batch, -1, per_cell)),
        origins=torch.tensor([sample.origin for sample in samples]),
        position_ids=torch.stack([_positions(rng, s, length) for s in samples]),
        is_kind_known=torch.tensor([sample.is_kind_known for sample in samples]),
        starts=torch.from_numpy(np.stack([sample.starts.flatten() for sample in samples])),
    )


def _padded(arrays: Sequence[np.ndarray], length: int, value: int) -> np.ndarray:
    return np.stack([np.pad(a, (0, length - len(a)), constant_values=value) for a in arrays])


def _positions(rng: random.Random, sample: Sample, length: int) -> Tensor:
    """Rotary positions of the crop's cells within its page, then of its text behind the page."""
    rows, columns = (side // v.CELL_PX for side in sample.grey.shape)
    row = torch.arange(rows) + sample.origin[0]
    column = torch.arange(columns) + sample.origin[1]
    cells = (row[:, None] * sample.page_columns + column).flatten()
    is_whole = sample.origin == (0, 0) and sample.page_columns == columns
    page_rows = rows if is_whole else max(sample.origin[0] + rows, rng.randint(80, 150))
    return torch.cat([cells, page_rows * sample.page_columns + torch.arange(length)])

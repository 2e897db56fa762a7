"""The reader as a transformers model, and behind the common adapter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

from fastocr_cli.models.embedded import token_cap, word_boxes
from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.ink import Ink
from fastocr_cli.reader.modeling import (
    ReaderForPageReading,
    VisionTower,
    fold_cells,
    place_features,
)
from fastocr_cli.reader.vocabulary import LineKind
from fastocr_cli.reading import Reader
from tests.reader.conftest import tiny_config


def page(width: int, height: int) -> Image.Image:
    image = Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(image)
    for y in range(6, height - 12, 18):
        draw.text((8, y), "words of a line " * 3, fill=0)
    return image.convert("RGB")


def test_saved_and_loaded_alike(tiny_reader: Path) -> None:
    first, second = (ReaderForPageReading.from_pretrained(tiny_reader) for _ in range(2))
    assert first.lm_head.weight is first.decoder.embed_tokens.weight
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name


def test_tower_sees_the_cell_it_is_given() -> None:
    """A mark moves the features of cells around it, and of no cell far away."""
    torch.manual_seed(0)
    tower = VisionTower(tiny_config()).eval()
    blank = torch.ones(1, 1, 64, 512)
    marked = blank.clone()
    marked[..., 20:28, 20:24] = -1
    with torch.no_grad():
        change = (tower(marked) - tower(blank)).abs().amax(-1)[0]
    assert change[1, 1] > 1e-3
    assert change[:, 20:].max() < 1e-5


def test_fold_cells_keeps_neighbours_together() -> None:
    x = torch.arange(16.0).reshape(1, 4, 4, 1)
    assert fold_cells(x, 2)[0, 0, 0].tolist() == [0, 1, 4, 5]
    assert fold_cells(x, 2)[0, 1, 1].tolist() == [10, 11, 14, 15]


def test_places_are_told_apart() -> None:
    """Every cell of the largest page is nearest to itself."""
    columns = torch.arange(v.MAX_COLUMNS)
    features = place_features(torch.zeros_like(columns), columns, 256)
    similarity = features @ features.T
    assert torch.equal(similarity.argmax(-1), columns)
    off_diagonal = similarity - torch.diag(similarity.diagonal())
    assert off_diagonal.max() < similarity.diagonal().min() * 0.99


def test_word_boxes() -> None:
    line = [LineKind.PARAGRAPH, v.row_id(2), v.column_id(1), *map(v.character_id, "to")]
    line += [v.column_id(3), *map(v.character_id, "be"), LineKind.LINE, v.row_id(4), v.column_id(0)]
    boxes = word_boxes([int(t) for t in line], rows=10, columns=20)
    assert boxes[3] == boxes[4] == pytest.approx((0.05, 0.175, 0.15, 0.325))
    assert boxes[6] is not None
    assert boxes[6][0] == pytest.approx(0.15)
    assert all(b is None or (b[0] < b[2] and b[1] < b[3]) for b in boxes)
    assert len(boxes) == len(line)


def test_token_cap_follows_the_ink() -> None:
    def cap_of(grey: np.ndarray) -> int:
        return token_cap(Ink.of(grey))

    empty = np.full((160, 160), 255, np.uint8)
    some = empty.copy()
    some[20:28, 10:150] = 0
    assert cap_of(empty) < cap_of(some) < cap_of(np.tile(some, (2, 1)))


def test_reading_says_where_and_what(tiny_reader: Path) -> None:
    reader = Reader.from_pretrained(str(tiny_reader), device="cpu")
    reading = reader.read(page(160, 96), 24)[0]
    assert len(reading.places) == len(reading.pieces) == len(reading.token_ids)
    assert reading.stats.visual_tokens == reader.adapter.prepare(page(160, 96)).layout.num_tokens

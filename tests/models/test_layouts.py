"""Layouts: every visual token accounted for, grids complete, boxes where the pixels are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from PIL import Image, ImageDraw
from torch import Tensor

from fastocr_cli.models import layouts
from fastocr_cli.models.base import ModelAdapter, PromptInputs, VisualLayout
from fastocr_cli.models.deepseek_pages import Mode
from fastocr_cli.models.internvl import tiled_parts
from tests.models.families import FAMILIES
from tests.models.tiny import page

UNPLACED = ("deepseek_ocr2", "llava")
"""Families whose tokens are not patches, or whose adapter does not know their places."""
INK = 0.08
"""Half the side of a spot of ink, as a share of the page."""
PLACED = [name for name in FAMILIES if name not in UNPLACED]


Prompts = Callable[[str], list[PromptInputs]]


@pytest.mark.parametrize("name", FAMILIES)
def test_positions_are_all_the_placeholders(
    name: str, adapter: Callable[[str], ModelAdapter], prompts: Prompts
) -> None:
    family: Any = adapter(name)
    for prompt in prompts(name):
        found = (prompt.input_ids[0] == family.image_token_id).nonzero().flatten()
        assert torch.equal(prompt.layout.positions, found)
        assert prompt.layout.num_patches > 0


@pytest.mark.parametrize("name", FAMILIES)
def test_patches_fill_one_grid_per_view(name: str, prompts: Prompts) -> None:
    for layout in (prompt.layout for prompt in prompts(name)):
        assert (layout.grid[layout.structural] == -1).all()
        assert layout.boxes[layout.structural].isnan().all()
        cells = layout.grid[~layout.structural]
        assert len(cells.unique(dim=0)) == len(cells)
        assert (cells[:, 0].diff() >= 0).all(), "views follow one another"
        for view in cells[:, 0].unique():
            _, rows, columns = cells[cells[:, 0] == view].amax(0) + 1
            assert int((cells[:, 0] == view).sum()) == int(rows * columns)


@pytest.mark.parametrize("name", PLACED)
def test_boxes_tile_the_page_once_per_view(name: str, prompts: Prompts) -> None:
    for layout in (prompt.layout for prompt in prompts(name)):
        placed = ~layout.boxes.isnan().any(1)
        boxes, grid = layout.boxes[placed], layout.grid[placed]
        assert ((boxes >= 0) & (boxes <= 1)).all()
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        for view in grid[:, 0].unique():
            here = grid[:, 0] == view
            assert area[here].sum().item() == pytest.approx(1, abs=1e-4)
            for axis, low in ((1, 1), (2, 0)):  # rows go down the page, columns to the right
                order = grid[here, axis].argsort(stable=True)
                assert (boxes[here, low][order].diff() >= -1e-6).all()


@contextmanager
def without_mixing(model: Any) -> Iterator[None]:
    """The vision tower with its attention silenced, so that a token knows its own patches only."""
    output = re.compile(
        r"vis.*\.(attn|self_attn|attention)\.(o_proj|out_proj|proj|projection_layer)\."
    )
    silenced = [weight for name, weight in model.named_parameters() if output.search(name)]
    assert silenced
    saved = [weight.detach().clone() for weight in silenced]
    with torch.no_grad():
        for weight in silenced:
            weight.zero_()
        try:
            yield
        finally:
            for weight, value in zip(silenced, saved, strict=True):
                weight.copy_(value)


def visual_embeddings(family: ModelAdapter, image: Image.Image) -> tuple[Tensor, VisualLayout]:
    """What the decoder gets at the visual positions: [V, hidden]."""
    seen: dict[str, Tensor] = {}

    def keep(module: Any, args: Any, kwargs: Any) -> None:
        seen["embeds"] = kwargs["inputs_embeds"]

    prompt = family.prepare(image)
    handle = family.decoder.register_forward_pre_hook(keep, with_kwargs=True)
    with torch.no_grad():
        family.model(input_ids=prompt.input_ids, **prompt.features)
    handle.remove()
    return seen["embeds"][0, prompt.layout.positions], prompt.layout


# Coarse enough to be quick, fine enough that corners are many tokens apart.
SIGHT = {"deepseek_vl_v2": (600, 500), "unlimited_ocr": (600, 500)}
SMALL_MODE = Mode(512, pads=True, tile=256, most=4)


@pytest.mark.parametrize("name", PLACED)
def test_a_token_sees_what_is_in_its_box(
    name: str, adapter: Callable[[str], ModelAdapter], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ink in one corner changes, in every view, the token whose box is at that corner most."""
    family = adapter(name)
    if name in SIGHT:
        monkeypatch.setattr(family, "mode", SMALL_MODE)
    size = SIGHT.get(name, FAMILIES[name].pages[-1])
    with without_mixing(family.model):
        blank, layout = visual_embeddings(family, Image.new("RGB", size, "white"))
        for x, y in ((0.1, 0.1), (0.9, 0.1), (0.1, 0.9), (0.9, 0.9)):
            change = (visual_embeddings(family, with_ink(size, x, y))[0] - blank).norm(dim=1)
            assert not change[layout.structural].any(), "structural tokens see no pixels"
            for view in layout.grid[~layout.structural, 0].unique():
                here = (layout.grid[:, 0] == view).nonzero().flatten()
                x0, y0, x1, y1 = layout.boxes[here[change[here].argmax()]].tolist()
                assert x0 - INK < x < x1 + INK, (view, x, x0, x1)
                assert y0 - INK < y < y1 + INK, (view, y, y0, y1)


def with_ink(size: tuple[int, int], x: float, y: float) -> Image.Image:
    image = Image.new("RGB", size, "white")
    width, height = size
    corners = ((x - INK) * width, (y - INK) * height, (x + INK) * width, (y + INK) * height)
    ImageDraw.Draw(image).rectangle(corners, fill="black")
    return image


def test_tiles_count_rows_and_columns_across_tiles() -> None:
    part = layouts.tiles(tile_rows=2, tile_columns=3, side=2)
    assert part.grid[:4, 1:].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert part.grid[4:8, 1:].tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]
    assert part.grid[-1].tolist() == [0, 3, 5]
    assert part.boxes[-1].tolist() == pytest.approx([5 / 6, 3 / 4, 1, 1])


def test_row_ends_stand_behind_their_rows() -> None:
    part = layouts.with_row_ends(layouts.grid(2, 3), 3)
    assert part.structural.tolist() == [False, False, False, True] * 2
    assert part.grid[4].tolist() == [0, 1, 0]


def test_patches_of_padding_have_no_place() -> None:
    part = layouts.cut_to_page(layouts.grid(1, 4, box=(-0.5, 0, 1.5, 1)))
    assert part.boxes[:, 0].isnan().tolist() == [True, False, False, True]
    assert part.boxes[1].tolist() == [0, 0, 0.5, 1]


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        ((768, 768), 257),
        ((900, 450), 545),
        ((900, 300), 689),
        ((900, 900), 833),
        ((1000, 200), 977),
        ((900, 600), 1121),
    ],
)
def test_deepseek_ocr2_counts(
    size: tuple[int, int], tokens: int, adapter: Callable[[str], ModelAdapter]
) -> None:
    layout = adapter("deepseek_ocr2").prepare(page(*size)).layout
    assert layout.num_tokens == tokens
    assert layout.structural.nonzero().flatten().tolist() == [tokens - 1]


@pytest.mark.parametrize(("tiles", "tokens"), [((1, 1), 256), ((2, 3), 1792), ((3, 4), 3328)])
def test_internvl_counts(tiles: tuple[int, int], tokens: int) -> None:
    assert sum(part.num_tokens for part in tiled_parts(*tiles, side=16)) == tokens


def test_hunyuan_closes_each_row_between_begin_and_end(prompts: Prompts) -> None:
    for prompt in prompts("hunyuan_vl"):
        _, rows, columns = (int(n) // 2 for n in prompt.features["image_grid_thw"][0])
        assert prompt.layout.num_tokens == rows * (columns + 1) + 2
        marks = prompt.layout.structural
        assert marks[0]
        assert marks[-1]
        assert marks[1:-1].view(rows, columns + 1).sum(0).tolist() == [0] * columns + [rows]


def test_lighton_counts_squares_of_28_px(prompts: Prompts) -> None:
    for prompt in prompts("lighton_ocr"):
        height, width = prompt.features["pixel_values"].shape[-2:]
        assert prompt.layout.num_tokens == height * width // 28**2

"""How the DeepSeek-OCR line sees a page: one square view, and tiles where the page is large.

Pixels and geometry only, by Pillow and numpy; knows no model and no token ids. A mode says how
the square is made. Tokens are 64 px wide (16 px patches, two convolutions of stride 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import get_optimal_tiled_canvas

from fastocr_cli.models import layouts
from fastocr_cli.models.base import VisualLayout
from fastocr_cli.results import Box

TOKEN_SIDE = 64
GREY = (127, 127, 127)


@dataclass(frozen=True)
class Mode:
    """One way to show a page.

    side: pixels of the square view of the whole page.
    pads: keep the page's shape and pad the square with grey, or squeeze the page into it.
    tile: pixels of a local tile, for pages that exceed one; 0 means no tiles.
    least, most: how many tiles.
    """

    side: int
    pads: bool
    tile: int = 0
    least: int = 2
    most: int = 9

    def tile_counts(self, image: Image.Image) -> tuple[int, int]:
        """Columns and rows of tiles for this page; 0 x 0 where the one view is enough."""
        if not self.tile or max(image.size) <= self.tile:
            return 0, 0
        return get_optimal_tiled_canvas(
            (image.height, image.width), (self.tile, self.tile), self.least, self.most
        )


MODES: dict[str, Mode] = {
    "tiny": Mode(512, pads=False),
    "small": Mode(640, pads=False),
    "base": Mode(1024, pads=True),
    "large": Mode(1280, pads=True),
    "gundam": Mode(1024, pads=True, tile=640),
}


def mode_for(image: Image.Image) -> Mode:
    """The cheapest mode that neither shrinks nor squeezes the page; tiles where none does."""
    for name in ("base", "large"):
        if max(image.size) <= MODES[name].side:
            return MODES[name]
    return MODES["gundam"]


@dataclass(frozen=True)
class Views:
    """A page as the model sees it.

    whole: uint8 [side, side, 3]. box: the square's own corners in shares of the page, beyond 0..1
    where it is padded. local: uint8 [rows * columns, tile, tile, 3], row by row, or empty.
    """

    whole: npt.NDArray[np.uint8]
    box: Box
    local: npt.NDArray[np.uint8]
    columns: int
    rows: int

    @property
    def side(self) -> int:
        """Tokens along one side of the view of the whole page."""
        return int(np.ceil(self.whole.shape[0] / TOKEN_SIDE))

    @property
    def local_side(self) -> int:
        """Tokens along one side of a tile."""
        return int(np.ceil(self.local.shape[1] / TOKEN_SIDE))

    def layout_with_row_ends(self) -> list[VisualLayout]:
        """Tiles stitched to one grid, then the whole page, each row closed; then a separator."""
        whole = layouts.cut_to_page(layouts.grid(self.side, self.side, view=0, box=self.box))
        if not self.columns:
            return [layouts.with_row_ends(whole, self.side), layouts.structural(1)]
        rows, columns = self.rows * self.local_side, self.columns * self.local_side
        local = layouts.grid(rows, columns)
        whole = layouts.cut_to_page(layouts.grid(self.side, self.side, view=1, box=self.box))
        return [
            layouts.with_row_ends(local, columns),
            layouts.with_row_ends(whole, self.side),
            layouts.structural(1),
        ]


def see(image: Image.Image, mode: Mode) -> Views:
    whole, box = _padded(image, mode.side) if mode.pads else _squeezed(image, mode.side)
    columns, rows = mode.tile_counts(image)
    return Views(np.asarray(whole), box, _cut(image, columns, rows, mode.tile), columns, rows)


def _squeezed(image: Image.Image, side: int) -> tuple[Image.Image, Box]:
    return image.resize((side, side), Image.Resampling.BICUBIC), layouts.WHOLE_PAGE


def _padded(image: Image.Image, side: int) -> tuple[Image.Image, Box]:
    scale = side / max(image.size)
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    fitted = image.resize(size, Image.Resampling.BICUBIC)
    left, top = round((side - fitted.width) / 2), round((side - fitted.height) / 2)
    square = Image.new("RGB", (side, side), GREY)
    square.paste(fitted, (left, top))
    box = (
        -left / fitted.width,
        -top / fitted.height,
        (side - left) / fitted.width,
        (side - top) / fitted.height,
    )
    return square, box


def _cut(image: Image.Image, columns: int, rows: int, tile: int) -> npt.NDArray[np.uint8]:
    """The page stretched over columns x rows tiles: uint8 [rows * columns, tile, tile, 3]."""
    if not columns:
        return np.zeros((0, tile, tile, 3), np.uint8)
    canvas = image.resize((columns * tile, rows * tile), Image.Resampling.BICUBIC)
    split = np.asarray(canvas).reshape(rows, tile, columns, tile, 3).swapaxes(1, 2)
    return split.reshape(-1, tile, tile, 3)


def features_of(
    views: Views, mean: Sequence[float] = (0.5,) * 3, std: Sequence[float] = (0.5,) * 3
) -> dict[str, Any]:
    """Arguments of the model's forward: float32 pixels, and how many tiles in which grid."""
    features: dict[str, Any] = {
        "pixel_values": _normalised(views.whole[None], mean, std),
        "num_local_patches": [len(views.local)],
        "patches_grid": [[max(views.columns, 1), max(views.rows, 1)]],
    }
    if len(views.local):
        features["pixel_values_local"] = _normalised(views.local, mean, std)
    return features


def _normalised(
    pixels: npt.NDArray[np.uint8], mean: Sequence[float], std: Sequence[float]
) -> Tensor:
    """uint8 [N, H, W, 3] to float32 [N, 3, H, W]."""
    scaled = torch.from_numpy(pixels.copy()).permute(0, 3, 1, 2).float() / 255
    shape = (1, 3, 1, 1)
    return (scaled - torch.tensor(mean).view(shape)) / torch.tensor(std).view(shape)

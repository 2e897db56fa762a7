"""InternVL and kin: the page cut into square tiles, plus the whole page once more as a thumbnail.

Every tile gives the same number of tokens (256 at 448 px). All of them stand between one pair of
start and end tokens, tile after tile in reading order, the thumbnail last.
"""

from __future__ import annotations

from typing import Any

from PIL import Image
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import get_optimal_tiled_canvas

from fastocr_cli.models import layouts
from fastocr_cli.models.base import PromptInputs, VisualLayout
from fastocr_cli.models.hub import HubAdapter


def tile_grid(processor: Any, image: Image.Image) -> tuple[int, int]:
    """Columns and rows of the tiles that a GOT-OCR2 image processor cuts `image` into."""
    size = processor.size
    return get_optimal_tiled_canvas(
        (image.height, image.width),
        (size["height"], size["width"]),
        processor.min_patches,
        processor.max_patches,
    )


def tiled_parts(columns: int, rows: int, side: int) -> list[VisualLayout]:
    """Tiles of side x side tokens, then the whole page; one tile is the whole page already."""
    if columns * rows == 1:
        return [layouts.grid(side, side)]
    return [layouts.tiles(rows, columns, side), layouts.grid(side, side, view=1)]


class InternVLAdapter(HubAdapter):
    model_types = ("internvl",)
    instruction = (
        "Convert this page to Markdown. Write tables as Markdown tables and formulas as LaTeX. "
        "Output the text of the page only."
    )

    def prepare(self, image: Image.Image) -> PromptInputs:
        pixels = self.image_processor(image, crop_to_patches=True, return_tensors="pt")
        columns, rows = tile_grid(self.image_processor, image)
        per_view = int(self.model.config.image_seq_length)
        parts = tiled_parts(columns, rows, round(per_view**0.5))
        block = "<img>" + self.image_token * (per_view * len(pixels["pixel_values"])) + "</img>"
        expanded = self.prompt.replace(self.image_token, block)
        return self.assemble(image, expanded, {"pixel_values": pixels["pixel_values"]}, parts)

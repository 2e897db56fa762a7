"""DeepSeek-OCR 2: 256 learned queries for the page, 144 for each tile, and one separator.

A token is the answer of a query that has looked at its whole view, not a patch: it has an order
but no place on the page. Tiles come first, then the page, then the separator; no row ends.
"""

from __future__ import annotations

import math

from PIL import Image

from fastocr_cli.models import layouts
from fastocr_cli.models.base import PromptInputs
from fastocr_cli.models.deepseek_ocr import DeepseekAdapter
from fastocr_cli.models.deepseek_pages import TOKEN_SIDE


class DeepseekOcr2Adapter(DeepseekAdapter):
    model_types = ("deepseek_ocr2",)

    def prepare(self, image: Image.Image) -> PromptInputs:
        # Cropping stays on: without it the library resizes to a tile but counts a page's queries.
        pixels = self.image_processor(image, crop_to_patches=True, return_tensors="pt")
        num_tiles = int(pixels["num_local_patches"][0])
        queries = [self.queries(self.image_processor.tile_size)] * num_tiles
        queries.append(self.queries(self.image_processor.size["height"]))
        parts = [layouts.unplaced(count, view=view) for view, count in enumerate(queries)]
        parts.append(layouts.structural(1))
        expanded = self.prompt.replace(self.image_token, self.image_token * (sum(queries) + 1))
        features = {key: pixels[key] for key in pixels if key.startswith("pixel_values")}
        features["num_local_patches"] = [num_tiles]
        return self.assemble(image, expanded, features, parts)

    @staticmethod
    def queries(side: int) -> int:
        """How many queries look at a square view of `side` pixels."""
        return math.ceil(side / TOKEN_SIDE) ** 2

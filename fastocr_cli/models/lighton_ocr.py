"""LightOnOCR: a Pixtral vision tower at the page's own shape, one plain raster of tokens.

Each token stands for 28 x 28 px (14 px patches merged 2 x 2). Row-break tokens exist in the
tokenizer but do not stand in the prompt. No instruction: the image alone asks for the page.
"""

from __future__ import annotations

from PIL import Image

from fastocr_cli.models import layouts
from fastocr_cli.models.base import PromptInputs
from fastocr_cli.models.hub import HubAdapter


class LightOnOcrAdapter(HubAdapter):
    model_types = ("lighton_ocr",)

    def prepare(self, image: Image.Image) -> PromptInputs:
        pixels = self.image_processor(image, return_tensors="pt")
        height, width = (int(side) for side in pixels["image_sizes"][0])
        rows, columns = height // self.token_side, width // self.token_side
        expanded = self.prompt.replace(self.image_token, self.image_token * (rows * columns))
        features = {"pixel_values": pixels["pixel_values"], "image_sizes": pixels["image_sizes"]}
        return self.assemble(image, expanded, features, [layouts.grid(rows, columns)])

    @property
    def token_side(self) -> int:
        """Pixels of the resized page per token, along each axis."""
        config = self.model.config
        return int(config.vision_config.patch_size * config.spatial_merge_size)

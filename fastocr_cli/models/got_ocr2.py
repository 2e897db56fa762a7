"""GOT-OCR2: the page squeezed into one square of 1024 px, 256 tokens in raster order.

The checkpoint has no chat template; the prompt is the one its processor writes. With formatting
asked for, the model answers in Markdown with LaTeX formulas and tables.
"""

from __future__ import annotations

from PIL import Image

from fastocr_cli.models import layouts
from fastocr_cli.models.base import PromptInputs
from fastocr_cli.models.hub import HubAdapter

SYSTEM = "You should follow the instructions carefully and explain your answers in detail."
TOKEN_SIDE = 64
"""Pixels per token: 16 px patches, then two convolutions of stride 2."""


class GotOcr2Adapter(HubAdapter):
    model_types = ("got_ocr2",)
    instruction = " OCR with format: "

    def write_prompt(self) -> str:
        return (
            f"<|im_start|>system\n{SYSTEM}<|im_end|><|im_start|>user\n"
            f"<img><imgpad></img>\n{self.instruction}<|im_end|><|im_start|>assistant\n"
        )

    def prepare(self, image: Image.Image) -> PromptInputs:
        pixels = self.image_processor(image, crop_to_patches=False, return_tensors="pt")
        side = pixels["pixel_values"].shape[-1] // TOKEN_SIDE
        expanded = self.prompt.replace(self.image_token, self.image_token * side**2)
        features = {"pixel_values": pixels["pixel_values"]}
        return self.assemble(image, expanded, features, [layouts.grid(side, side)])

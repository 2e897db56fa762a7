"""Qwen2.5-VL (olmOCR is one), Qwen3-VL, GLM-OCR and PaddleOCR-VL: pages at their own resolution.

One placeholder in the prompt becomes a plain raster of tokens, each a square of merged patches;
places are told to the decoder by rotary positions on three axes, which the model computes itself
once it knows which prompt tokens are image. The families differ in their request and their end
tokens, and the checkpoint's own processing files hold the rest.
"""

from __future__ import annotations

import re

from PIL import Image

from fastocr_cli.models import layouts
from fastocr_cli.models.base import PromptInputs
from fastocr_cli.models.hub import HubAdapter

PLAIN_REQUEST = (
    "Transcribe this page as Markdown, in reading order. Write tables as HTML and formulas as "
    "LaTeX. Output nothing but the text of the page."
)

_FENCE = re.compile(r"\A\s*```(?:markdown|md)?\n(.*?)\n?```\s*\Z", re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---\nprimary_language:.*?\n---\n*", re.DOTALL)


class RasterAdapter(HubAdapter):
    """A family whose image processor says the patch grid it made."""

    def prepare(self, image: Image.Image) -> PromptInputs:
        pixels = self.image_processor(image, return_tensors="pt")
        merge = int(self.image_processor.merge_size)
        _, rows, columns = (int(n) for n in pixels["image_grid_thw"][0])
        raster = layouts.grid(rows // merge, columns // merge)
        expanded = self.prompt.replace(self.image_token, self.image_token * raster.num_tokens)
        features = {
            "pixel_values": pixels["pixel_values"],
            "image_grid_thw": pixels["image_grid_thw"],
            "mm_token_type_ids": (self.tokenize(expanded) == self.image_token_id).int(),
        }
        return self.assemble(image, expanded, features, [raster])

    def to_markdown(self, text: str) -> str:
        """Without a code fence around the whole page, or the facts olmOCR puts in front of it."""
        fenced = _FENCE.match(text)
        return _FRONT_MATTER.sub("", fenced[1] if fenced else text)


class QwenVLAdapter(RasterAdapter):
    model_types = ("qwen2_5_vl", "qwen3_vl")
    instruction = PLAIN_REQUEST


class GlmOcrAdapter(RasterAdapter):
    model_types = ("glm_ocr",)
    instruction = "Text Recognition:"
    end_tokens = ("<|endoftext|>", "<|user|>")


class PaddleOcrVLAdapter(RasterAdapter):
    model_types = ("paddleocr_vl",)
    instruction = "OCR:"
    end_tokens = ("</s>",)

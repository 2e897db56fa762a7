"""HunyuanOCR: pages at their own resolution, rows closed by a learned newline.

A learned vector begins the image and another ends it; all of them share the placeholder's id.
Places are told to the decoder by rotary positions that the model computes from the patch grid.
"""

from __future__ import annotations

from PIL import Image

from fastocr_cli.models import layouts
from fastocr_cli.models.base import PromptInputs
from fastocr_cli.models.hub import HubAdapter


class HunyuanOcrAdapter(HubAdapter):
    model_types = ("hunyuan_vl",)
    instruction = (
        "Extract all information from the main body of the document image and represent it in "
        "markdown format, ignoring headers and footers. Tables should be expressed in HTML "
        "format, formulas in the document should be represented using LaTeX format, and the "
        "parsing should be organized according to the reading order."
    )

    def prepare(self, image: Image.Image) -> PromptInputs:
        pixels = self.image_processor(image, return_tensors="pt")
        merge = int(self.image_processor.merge_size)
        _, rows, columns = (int(n) // merge for n in pixels["image_grid_thw"][0])
        patches = layouts.with_row_ends(layouts.grid(rows, columns), columns)
        parts = [layouts.structural(1), patches, layouts.structural(1)]
        count = patches.num_tokens + 2
        expanded = self.prompt.replace(self.image_token, self.image_token * count)
        features = {
            "pixel_values": pixels["pixel_values"],
            "image_grid_thw": pixels["image_grid_thw"],
            "mm_token_type_ids": (self.tokenize(expanded) == self.image_token_id).int(),
        }
        return self.assemble(image, expanded, features, parts)

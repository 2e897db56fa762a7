"""SmolVLM, Idefics3 and the Docling models built on it (SmolDocling, Granite-Docling 258M).

The page is stretched to whole tiles. In the prompt each tile stands behind a tag with its row and
column, rows of tiles are separated by line feeds, and the whole page follows as a last view; the
tags are ordinary text tokens and not part of the visual layout.
"""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image

from fastocr_cli.models import doctags, layouts
from fastocr_cli.models.base import PromptInputs, VisualLayout
from fastocr_cli.models.hub import HubAdapter, chat_prompt

AROUND = "<fake_token_around_image>"
WHOLE = "<global-img>"


class IdeficsAdapter(HubAdapter):
    model_types = ("smolvlm", "idefics3")
    instruction = "Convert this page to Markdown."
    end_tokens = ("<end_of_utterance>", "<|end_of_text|>", "<|im_end|>", "<|endoftext|>")

    def write_prompt(self) -> str:
        instruction = "Convert this page to docling." if self.writes_doctags else self.instruction
        return chat_prompt(self.tokenizer, instruction)

    @property
    def writes_doctags(self) -> bool:
        return doctags.START in self.tokenizer.get_vocab()

    def prepare(self, image: Image.Image) -> PromptInputs:
        pixels = self.image_processor(image, return_row_col_info=True, return_tensors="pt")
        rows, columns = int(pixels["rows"][0][0]), int(pixels["cols"][0][0])
        features = {key: pixels[key] for key in ("pixel_values", "pixel_attention_mask")}
        expanded = self.prompt.replace(self.image_token, self.expand(rows, columns))
        return self.assemble(image, expanded, features, self.parts(rows, columns))

    def expand(self, rows: int, columns: int) -> str:
        """The placeholder of a page of rows x columns tiles; 0 x 0 is a page without tiles."""
        tokens = self.image_token * self.side**2
        text = ""
        for row in range(1, rows + 1):
            tagged = (f"{AROUND}<row_{row}_col_{column}>" for column in range(1, columns + 1))
            text += "".join(tag + tokens for tag in tagged) + "\n"
        if text:
            text += "\n"
        return f"{text}{AROUND}{WHOLE}{tokens}{AROUND}"

    def parts(self, rows: int, columns: int) -> list[VisualLayout]:
        if rows * columns == 0:
            return [layouts.grid(self.side, self.side)]
        whole = layouts.grid(self.side, self.side, view=1)
        return [layouts.tiles(rows, columns, self.side), whole]

    @property
    def side(self) -> int:
        """Tokens along one side of a view."""
        vision = self.model.config.vision_config
        return int(vision.image_size // vision.patch_size // self.model.config.scale_factor)

    def detokenize(self, token_ids: Sequence[int]) -> str:
        if not self.writes_doctags:
            return super().detokenize(token_ids)
        # DocTags are special tokens and carry the page's structure.
        text = str(self.tokenizer.decode(list(token_ids), skip_special_tokens=False))
        for token in self.end_tokens:
            text = text.replace(token, "")
        return text

    def to_markdown(self, text: str) -> str:
        return doctags.to_markdown(text) if self.writes_doctags else text

"""SmolVLM, Idefics3 and the Docling models (SmolDocling, Granite-Docling 258M and 500M).

The page is stretched to whole tiles. In the prompt each tile stands behind a tag with its row and
column, rows of tiles are separated by line feeds, and the whole page follows as a last view; the
tags are ordinary text tokens and not part of the visual layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from PIL import Image

from fastocr_cli.models import doctags, layouts
from fastocr_cli.models.base import LoadRequest, PromptInputs, VisualLayout
from fastocr_cli.models.hub import HubAdapter, load_image_processor, load_model, load_tokenizer

AROUND = "<fake_token_around_image>"
WHOLE = "<global-img>"


class IdeficsAdapter(HubAdapter):
    model_types: ClassVar[tuple[str, ...]] = ("smolvlm", "idefics3")
    instruction = "Convert this page to Markdown."
    end_tokens = ("<end_of_utterance>", "<|end_of_text|>", "<|im_end|>", "<|endoftext|>")

    @classmethod
    def load(cls, request: LoadRequest, config: Any) -> Self:
        """A checkpoint whose tokenizer knows DocTags becomes a `DocTagsAdapter`."""
        tokenizer = load_tokenizer(request)
        knows_doctags = doctags.START in tokenizer.get_vocab()
        family = DocTagsAdapter if cls is IdeficsAdapter and knows_doctags else cls
        adapter = family(
            request, load_model(request, config), tokenizer, load_image_processor(request)
        )
        return cast(Self, adapter)

    def prepare(self, image: Image.Image) -> PromptInputs:
        return self.join(
            image, self.image_processor(image, return_row_col_info=True, return_tensors="pt")
        )

    def join(self, image: Image.Image, pixels: Mapping[str, Any]) -> PromptInputs:
        """pixels: what the image processor made of the page, with rows and columns of tiles."""
        rows, columns = int(pixels["rows"][0][0]), int(pixels["cols"][0][0])
        features = {key: pixels[key] for key in ("pixel_values", "pixel_attention_mask")}
        expanded = self.prompt.replace(self.image_token, self.expand(rows, columns))
        return self.assemble(image, expanded, features, self.parts(rows, columns))

    def expand(self, rows: int, columns: int) -> str:
        """The placeholder of a page of rows x columns tiles; 0 x 0 is a page without tiles."""
        text = "".join(self.tile_row(row, columns) for row in range(1, rows + 1))
        if text:
            text += "\n"
        return f"{text}{AROUND}{WHOLE}{self.view_tokens}{AROUND}"

    def tile_row(self, row: int, columns: int) -> str:
        tags = (f"{AROUND}<row_{row}_col_{column}>" for column in range(1, columns + 1))
        return "".join(tag + self.view_tokens for tag in tags) + "\n"

    def parts(self, rows: int, columns: int) -> list[VisualLayout]:
        if rows * columns == 0:
            return [layouts.grid(self.side, self.side)]
        whole = layouts.grid(self.side, self.side, view=1)
        return [layouts.tiles(rows, columns, self.side), whole]

    @property
    def side(self) -> int:
        """Tokens along one side of a view."""
        vision = self.model.config.vision_config
        factor = getattr(self.model.config, "scale_factor", None) or vision.scale_factor
        return int(vision.image_size // vision.patch_size // factor)

    @property
    def view_tokens(self) -> str:
        return self.image_token * self.side**2


class DocTagsAdapter(IdeficsAdapter):
    """SmolDocling and Granite-Docling 258M: the page as DocTags, whose tags are special tokens."""

    instruction = "Convert this page to docling."

    def detokenize(self, token_ids: Sequence[int]) -> str:
        kept = [token for token in token_ids if token not in self.stop_token_ids]
        return str(self.tokenizer.decode(kept, skip_special_tokens=False))

    def to_markdown(self, text: str) -> str:
        return doctags.to_markdown(text)


class GraniteDoclingAdapter(DocTagsAdapter):
    """The 500M model: a page of one tile has its tag too, and no second view.

    It writes DocLang, a markup that is passed on as it is.
    """

    model_types = ("granite_docling",)
    instruction = "<doclang>"

    def prepare(self, image: Image.Image) -> PromptInputs:
        return self.join(image, self.image_processor(image, return_tensors="pt"))

    def expand(self, rows: int, columns: int) -> str:
        return super().expand(rows, columns) if rows * columns > 1 else self.tile_row(1, 1)

    def parts(self, rows: int, columns: int) -> list[VisualLayout]:
        return super().parts(rows, columns)[: 1 if rows * columns == 1 else 2]

    def to_markdown(self, text: str) -> str:
        return text

"""Any other image-text-to-text model of the hub, driven by the processing files it ships.

Knows no family: the checkpoint's own processor expands the image placeholder, the placeholder's id
says which tokens are visual, and their places on the page stay unknown unless the processor tells
a plain patch grid. What a checkpoint lacks for that is said in one line.
"""

from __future__ import annotations

from typing import Any, Self

from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor

from fastocr_cli.errors import MissingModelError, UsageError
from fastocr_cli.models import layouts
from fastocr_cli.models.base import LoadRequest, PromptInputs, VisualLayout
from fastocr_cli.models.hub import HubAdapter, load_model
from fastocr_cli.models.qwen import PLAIN_REQUEST

_NOT_FEATURES = {"input_ids", "attention_mask"}


class GenericAdapter(HubAdapter):
    instruction = PLAIN_REQUEST

    def __init__(self, request: LoadRequest, model: Any, processor: Any) -> None:
        self.processor = processor
        super().__init__(request, model, processor.tokenizer, processor.image_processor)

    @classmethod
    def load(cls, request: LoadRequest, config: Any) -> Self:
        """Raises UsageError for models that are no decoder with an image in its prompt."""
        _check_kind(request, config)
        try:
            processor = AutoProcessor.from_pretrained(request.source, **request.hub_arguments)
        except ImportError as error:
            needed = "torchvision" if "ideo processor" in str(error) else str(error).strip()
            raise MissingModelError(
                f"the processor of {request.source} needs a library: {needed}"
            ) from error
        if not hasattr(processor, "tokenizer") or not hasattr(processor, "image_processor"):
            raise UsageError(f"{request.source} ships no processor for images and text together")
        return cls(request, load_model(request, config), processor)

    def write_prompt(self) -> str:
        if not getattr(self.processor, "chat_template", None):
            raise UsageError(f"{self.name} ships no chat template, so its prompt is unknown")
        parts = [{"type": "image"}, {"type": "text", "text": self.instruction}]
        messages = [{"role": "user", "content": parts}]
        return str(
            self.processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        )

    @property
    def image_token_id(self) -> int:
        config = self.model.config
        for name in ("image_token_id", "image_token_index"):
            if getattr(config, name, None) is not None:
                return int(getattr(config, name))
        raise UsageError(f"the config of {self.name} does not say which token stands for an image")

    def prepare(self, image: Image.Image) -> PromptInputs:
        inputs = self.processor(
            text=[self.prompt], images=[image], return_tensors="pt", add_special_tokens=False
        )
        input_ids = inputs["input_ids"]
        positions = layouts.positions_of(input_ids, self.image_token_id)
        parts = [self._layout(inputs, len(positions))]
        features = {name: value for name, value in inputs.items() if name not in _NOT_FEATURES}
        return PromptInputs(
            input_ids, features, layouts.place(parts, positions), self.token_cap(image, input_ids)
        )

    def _layout(self, inputs: Any, count: int) -> VisualLayout:
        """A raster if the processor tells a patch grid that fits; else tokens in order alone."""
        if "image_grid_thw" in inputs:
            merge = int(getattr(self.image_processor, "merge_size", 1))
            _, rows, columns = (int(n) // merge for n in inputs["image_grid_thw"][0])
            if rows * columns == count:
                return layouts.grid(rows, columns)
        return layouts.unplaced(count)


def _check_kind(request: LoadRequest, config: Any) -> None:
    known = type(config) in AutoModelForImageTextToText._model_mapping
    if not known and not request.trust_remote_code:
        raise UsageError(
            f"{request.source} is a '{config.model_type}', which transformers does not know as an "
            "image-text-to-text model"
        )
    if getattr(config, "is_encoder_decoder", False):
        raise UsageError(f"{request.source} is an encoder-decoder; fastocr drives decoders only")

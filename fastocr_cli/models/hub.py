"""What all families of the hub share: loading a checkpoint, writing its prompt, bounding a page.

Knows transformers' loading and the chat template; knows no family. The composite processors are
not used: those with a video part refuse to load without torchvision, so tokenizer and image
processor (Pillow backend) are loaded one by one and each family joins them itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from PIL import Image
from torch import Tensor
from transformers import AutoModelForImageTextToText, AutoTokenizer

# From its own module: transformers 5.17's front door wants torchvision for it.
from transformers.models.auto.image_processing_auto import AutoImageProcessor

from fastocr_cli.models import layouts
from fastocr_cli.models.base import LoadRequest, ModelAdapter, PromptInputs, VisualLayout

ATTENTION = {"text_config": "fastocr"}
"""The decoder asks our registered attention function; the vision tower keeps its own choice."""

MOST_TOKENS = 8192
FEWEST_TOKENS = 512
PIXELS_PER_TOKEN = 128
"""A legible character takes 8 x 8 px or more and a token rarely stands for less than two."""


def load_model(request: LoadRequest, config: Any, model_class: Any = None) -> Any:
    """The checkpoint's model in eval mode on the request's device; safetensors only."""
    loader = model_class or AutoModelForImageTextToText
    model = loader.from_pretrained(
        request.source,
        config=config,
        dtype=request.dtype,
        attn_implementation=dict(ATTENTION),
        use_safetensors=True,
        **request.hub_arguments,
    )
    return model.to(request.device).eval()


def load_tokenizer(request: LoadRequest) -> Any:
    return AutoTokenizer.from_pretrained(request.source, **request.hub_arguments)


def load_image_processor(request: LoadRequest) -> Any:
    return AutoImageProcessor.from_pretrained(
        request.source, backend="pil", **request.hub_arguments
    )


def chat_prompt(tokenizer: Any, instruction: str | None) -> str:
    """One user turn with one image, then `instruction`, by the checkpoint's own chat template."""
    content: list[dict[str, str]] = [{"type": "image"}]
    if instruction:
        content.append({"type": "text", "text": instruction})
    messages = [{"role": "user", "content": content}]
    return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))


def stop_ids(model: Any, tokenizer: Any, *names: str) -> frozenset[int]:
    """The ids of the generation config's and the tokenizer's end tokens and of `names`."""
    found: set[int] = set()
    for ids in (model.generation_config.eos_token_id, tokenizer.eos_token_id):
        found.update([ids] if isinstance(ids, int) else ids or [])
    vocabulary = tokenizer.get_vocab()
    found.update(vocabulary[name] for name in names if name in vocabulary)
    return frozenset(found)


class HubAdapter(ModelAdapter):
    """A checkpoint in the hub's form: model, tokenizer, image processor, chat template.

    A family says how `expand` writes the placeholder out and what layout its tokens have.
    """

    instruction: ClassVar[str | None] = None
    """The family's own request for a whole page as Markdown."""
    end_tokens: ClassVar[tuple[str, ...]] = ("<|im_end|>", "<|endoftext|>")

    def __init__(
        self, request: LoadRequest, model: Any, tokenizer: Any, image_processor: Any
    ) -> None:
        self.name, self.revision = request.source, request.revision
        self.model, self.tokenizer, self.image_processor = model, tokenizer, image_processor
        self.prompt = self.write_prompt()
        self.stop_token_ids = stop_ids(model, tokenizer, *self.end_tokens)

    @classmethod
    def load(cls, request: LoadRequest, config: Any) -> Self:
        return cls(
            request,
            load_model(request, config),
            load_tokenizer(request),
            load_image_processor(request),
        )

    def write_prompt(self) -> str:
        return chat_prompt(self.tokenizer, self.instruction)

    @property
    def image_token_id(self) -> int:
        return int(self.model.config.image_token_id)

    @property
    def image_token(self) -> str:
        return str(self.tokenizer.convert_ids_to_tokens(self.image_token_id))

    def tokenize(self, text: str) -> Tensor:
        """int64 [1, T]; special tokens in the text become their ids."""
        # A template that writes the begin token itself must not get a second one.
        bos = self.tokenizer.bos_token
        is_begun = bool(bos) and text.startswith(bos)
        encoded = self.tokenizer(text, add_special_tokens=not is_begun, return_tensors="pt")
        ids: Tensor = encoded.input_ids
        return ids

    def assemble(
        self,
        image: Image.Image,
        expanded: str,
        features: Mapping[str, Any],
        parts: list[VisualLayout],
    ) -> PromptInputs:
        """Token ids of the `expanded` prompt, its layout's parts put at the placeholders."""
        input_ids = self.tokenize(expanded)
        positions = layouts.positions_of(input_ids, self.image_token_id)
        return PromptInputs(
            input_ids, features, layouts.place(parts, positions), self.token_cap(image, input_ids)
        )

    def token_cap(self, image: Image.Image, input_ids: Tensor) -> int:
        """What the page's pixels can hold, what the model's context has left, and a ceiling."""
        by_pixels = max(FEWEST_TOKENS, image.width * image.height // PIXELS_PER_TOKEN)
        context = getattr(self.decoder_config, "max_position_embeddings", None) or 2**31
        return max(1, min(by_pixels, MOST_TOKENS, context - input_ids.shape[1]))

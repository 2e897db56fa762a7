"""DeepSeek-OCR v1 and Unlimited-OCR: one network, two ways to look back at generated text.

Tokens are laid out in rows, each closed by a learned newline, the views ended by a learned
separator; all share the placeholder's id. Pages are preprocessed here, for the library has no
Pillow backend for this family. Version 1 has no class in transformers 5: its checkpoint is hosted
on the Unlimited-OCR classes with ordinary causal attention in every layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Self

from PIL import Image
from transformers import PreTrainedTokenizerFast, __version__
from transformers.models.auto.image_processing_auto import get_image_processor_config

from fastocr_cli.errors import MissingModelError, UsageError
from fastocr_cli.models import grounding
from fastocr_cli.models.base import LoadRequest, PromptInputs, VisualLayout
from fastocr_cli.models.deepseek_pages import MODES, Mode, features_of, mode_for, see
from fastocr_cli.models.hub import HubAdapter, chat_prompt, load_model, load_tokenizer
from fastocr_cli.results import Box
from fastocr_cli.text.inline_html import styling_to_markdown

V1_ARCHITECTURE = "DeepseekOCRForCausalLM"
"""Tells version 1 from DeepSeek-VL2, with which it shares its model_type."""

NO_REPEAT_NGRAM = 35


class DeepseekAdapter(HubAdapter):
    """What the whole line shares: prompt, end tokens, places written into the text.

    Version 1 and 2 write captions as `<center>Figure 1</center>`, so their styling is converted.
    """

    instruction = "<|grounding|>Convert the document to markdown."
    end_tokens = ("<｜end▁of▁sentence｜>",)

    def write_prompt(self) -> str:
        if self.tokenizer.chat_template:
            return chat_prompt(self.tokenizer, self.instruction)
        return f"{self.tokenizer.bos_token or ''}<image>\n{self.instruction}"

    def detokenize(self, token_ids: Sequence[int]) -> str:
        """Place marks stay: they are special tokens, and the numbers between them are not."""
        ends = (*self.stop_token_ids, self.tokenizer.bos_token_id, self.tokenizer.pad_token_id)
        kept = [token for token in token_ids if token not in ends]
        return str(self.tokenizer.decode(kept, skip_special_tokens=False))

    def to_markdown(self, text: str) -> str:
        return styling_to_markdown(grounding.without_references(text)).strip()

    def places(self, token_ids: Sequence[int], layout: VisualLayout) -> Sequence[Box | None] | None:
        marks = grounding.mark_ids(self.tokenizer.get_vocab())
        if marks is None or marks[0] not in token_ids:
            return None
        return grounding.places(token_ids, *marks, self.tokenizer.decode)


class UnlimitedOcrAdapter(DeepseekAdapter):
    """mode: how pages are shown; None shows them as the checkpoint's settings say."""

    model_types = ("unlimited_ocr",)
    instruction = "document parsing."
    mode: Mode | None = None

    @classmethod
    def load(cls, request: LoadRequest, config: Any) -> Self:
        settings = get_image_processor_config(request.source, **request.hub_arguments)
        return cls(request, load_model(request, config), load_tokenizer(request), settings)

    def use_mode(self, name: str) -> None:
        if name not in MODES:
            raise UsageError(f"no mode called '{name}'; there are {', '.join(MODES)}")
        self.mode = MODES[name]

    def default_mode(self, image: Image.Image) -> Mode:
        del image
        return mode_from(self.image_processor)

    def prepare(self, image: Image.Image) -> PromptInputs:
        views = see(image, self.mode or self.default_mode(image))
        parts = views.layout_with_row_ends()
        count = sum(part.num_tokens for part in parts)
        expanded = self.prompt.replace(self.image_token, self.image_token * count)
        return self.assemble(image, expanded, features_of(views), parts)

    def to_markdown(self, text: str) -> str:
        return grounding.without_types(text)


def mode_from(settings: Mapping[str, Any]) -> Mode:
    """The mode that a checkpoint's preprocessor_config.json describes."""
    size = settings.get("size") or {"height": 1024, "width": 1024}
    side = max(size["height"], size["width"])
    crops = settings.get("crop_to_patches", True)
    return Mode(
        side,
        pads=crops or side > settings.get("maximum_pad_value", 640),
        tile=settings.get("tile_size", 640) if crops else 0,
        least=settings.get("min_patches", 2),
        most=settings.get("max_patches", 32),
    )


class DeepseekOcrV1Adapter(UnlimitedOcrAdapter):
    model_types = ("deepseek_vl_v2",)
    instruction = DeepseekAdapter.instruction

    @classmethod
    def load(cls, request: LoadRequest, config: Any) -> Self:
        """config: version 1's config.json as it is, for transformers has no class for it."""
        tokenizer = PreTrainedTokenizerFast.from_pretrained(request.source, **request.hub_arguments)
        hosted = hosted_config(config.to_dict(), tokenizer.convert_tokens_to_ids("<image>"))
        host = hosting_classes().UnlimitedOcrForConditionalGeneration
        model = load_model(request, hosted, host)
        # The published code sets it in its own generation loop: the model repeats itself without.
        model.generation_config.no_repeat_ngram_size = NO_REPEAT_NGRAM
        return cls(request, model, tokenizer, None)

    def default_mode(self, image: Image.Image) -> Mode:
        return mode_for(image)

    def to_markdown(self, text: str) -> str:
        return DeepseekAdapter.to_markdown(self, text)


def hosting_classes() -> Any:
    """transformers' Unlimited-OCR. Raises MissingModelError where it is too old to have it."""
    try:
        return import_module("transformers.models.unlimited_ocr")
    except ImportError as error:
        raise MissingModelError(
            f"DeepSeek-OCR v1 runs on transformers' Unlimited-OCR classes, which version "
            f"{__version__} lacks: pip install --upgrade transformers"
        ) from error


def hosted_config(raw: Mapping[str, Any], image_token_id: int) -> Any:
    """Version 1's config.json in the words of the Unlimited-OCR classes, without its window.

    Raises MissingModelError for a config that is not version 1's or that uses latent attention.
    """
    language = dict(raw.get("language_config") or {})
    architectures = raw.get("architectures") or []
    if V1_ARCHITECTURE not in architectures or language.get("use_mla"):
        raise MissingModelError(
            f"the model is of kind {', '.join(architectures) or 'unknown'}, which is not "
            "DeepSeek-OCR v1; try deepseek-ai/DeepSeek-OCR"
        )
    widths = raw["vision_config"]["width"]
    return hosting_classes().UnlimitedOcrConfig(
        vision_config={
            "sam_config": _sam(widths["sam_vit_b"], raw["vision_config"]["image_size"]),
            "encoder_config": _clip(widths["clip-l-14-224"]),
        },
        text_config=_text(language),
        image_token_id=image_token_id,
    )


def _sam(width: Mapping[str, Any], image_size: int) -> dict[str, Any]:
    return {
        "hidden_size": width["width"],
        "num_hidden_layers": width["layers"],
        "num_attention_heads": width["heads"],
        "global_attn_indexes": width["global_attn_indexes"],
        "downsample_channels": width["downsample_channels"],
        "mlp_dim": 4 * width["width"],
        "image_size": image_size,
    }


def _clip(width: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "hidden_size": width["width"],
        "intermediate_size": 4 * width["width"],
        "num_hidden_layers": width["layers"],
        "num_attention_heads": width["heads"],
        "image_size": width["image_size"],
        "patch_size": width["patch_size"],
    }


_SAME_NAME = (
    *("vocab_size", "hidden_size", "intermediate_size", "moe_intermediate_size"),
    *("num_hidden_layers", "num_attention_heads", "num_key_value_heads"),
    *("n_routed_experts", "n_shared_experts", "num_experts_per_tok", "n_group", "topk_group"),
    *("topk_method", "routed_scaling_factor", "first_k_dense_replace", "rms_norm_eps"),
    *("max_position_embeddings", "bos_token_id", "eos_token_id", "hidden_act"),
)


def _text(language: Mapping[str, Any]) -> dict[str, Any]:
    """Keys that are absent take the library's defaults, which are version 1's own."""
    text = {name: language[name] for name in _SAME_NAME if language.get(name) is not None}
    if "rope_theta" in language:
        theta = float(language["rope_theta"])
        text["rope_parameters"] = {"rope_type": "default", "rope_theta": theta}
    text["layer_types"] = ["full_attention"] * text["num_hidden_layers"]
    return text

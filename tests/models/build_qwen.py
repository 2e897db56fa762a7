"""Tiny checkpoints of the families with a plain raster and rotary positions on three axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import (
    GlmOcrConfig,
    GlmOcrForConditionalGeneration,
    PaddleOCRVLConfig,
    PaddleOCRVLForConditionalGeneration,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

from tests.models.build_tiled import CLIP_MEAN, CLIP_STD, chatml
from tests.models.tiny import byte_tokenizer, randomise, write_checkpoint

_VISION = "<|vision_start|><|image_pad|><|vision_end|>"
_VISION_TOKENS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
_GLM_TOKENS = ("<|begin_of_image|>", "<|end_of_image|>", "<|image|>", "<|video|>")
_PADDLE_TOKENS = ("<|IMAGE_PLACEHOLDER|>", "<|IMAGE_START|>", "<|IMAGE_END|>", "<|video_pad|>")


def _text_config(vocab_size: int, **changes: Any) -> dict[str, Any]:
    """Three layers, 4 query heads of width 16 over 2 KV heads, 3-axis rotary positions."""
    return {
        "vocab_size": vocab_size,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 4096,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "mrope_section": [2, 3, 3],
        },
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
        **changes,
    }


def _vision_config(**changes: Any) -> dict[str, Any]:
    return {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_heads": 2,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "out_hidden_size": 64,
        **changes,
    }


def _preprocessor(kind: str, **changes: Any) -> dict[str, Any]:
    return {
        "image_processor_type": kind,
        "patch_size": 14,
        "merge_size": 2,
        "temporal_patch_size": 2,
        "size": {"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 64},
        "image_mean": CLIP_MEAN,
        "image_std": CLIP_STD,
        **changes,
    }


def _ids(tokenizer: PreTrainedTokenizerFast, **names: str) -> dict[str, int]:
    return {key: tokenizer.convert_tokens_to_ids(token) for key, token in names.items()}


def _qwen_tokenizer() -> PreTrainedTokenizerFast:
    return byte_tokenizer(
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *_VISION_TOKENS],
        named={"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"},
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=chatml(_VISION),
    )


def _qwen_ids(tokenizer: PreTrainedTokenizerFast) -> dict[str, int]:
    return _ids(
        tokenizer,
        image_token_id="<|image_pad|>",
        video_token_id="<|video_pad|>",
        vision_start_token_id="<|vision_start|>",
        vision_end_token_id="<|vision_end|>",
    )


def qwen2_5_vl(folder: Path) -> Path:
    tokenizer = _qwen_tokenizer()
    vision = _vision_config(window_size=56, fullatt_block_indexes=[1])
    config = Qwen2_5_VLConfig(
        text_config=_text_config(len(tokenizer)), vision_config=vision, **_qwen_ids(tokenizer)
    )
    model = randomise(Qwen2_5_VLForConditionalGeneration(config))
    return write_checkpoint(folder, model, tokenizer, _preprocessor("Qwen2VLImageProcessor"))


def qwen3_vl(folder: Path) -> Path:
    tokenizer = _qwen_tokenizer()
    vision = _vision_config(num_position_embeddings=64, deepstack_visual_indexes=[0, 1])
    text = _text_config(len(tokenizer))
    text["rope_parameters"]["mrope_interleaved"] = True
    config = Qwen3VLConfig(text_config=text, vision_config=vision, **_qwen_ids(tokenizer))
    model = randomise(Qwen3VLForConditionalGeneration(config))
    return write_checkpoint(folder, model, tokenizer, _preprocessor("Qwen2VLImageProcessor"))


def glm_ocr(folder: Path) -> Path:
    tokenizer = byte_tokenizer(
        ["<|endoftext|>", "[gMASK]", "<sop>", "<|user|>", "<|assistant|>", *_GLM_TOKENS],
        named={"image_token": "<|image|>", "video_token": "<|video|>"},
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
        chat_template=(
            "[gMASK]<sop>{% for message in messages %}<|user|>\n"
            "{% for part in message['content'] %}{% if part['type'] == 'image' %}"
            "<|begin_of_image|><|image|><|end_of_image|>"
            "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endfor %}<|assistant|>\n"
        ),
    )
    text = _text_config(len(tokenizer))
    del text["bos_token_id"]
    config = GlmOcrConfig(
        text_config=text,
        vision_config=_vision_config(),
        **_ids(
            tokenizer,
            image_token_id="<|image|>",
            video_token_id="<|video|>",
            image_start_token_id="<|begin_of_image|>",
            image_end_token_id="<|end_of_image|>",
        ),
    )
    model = randomise(GlmOcrForConditionalGeneration(config))
    return write_checkpoint(folder, model, tokenizer, _preprocessor("Glm46VImageProcessor"))


def paddleocr_vl(folder: Path) -> Path:
    tokenizer = byte_tokenizer(
        ["<unk>", "<s>", "</s>", "<|begin_of_sentence|>", *_PADDLE_TOKENS],
        named={"image_token": "<|IMAGE_PLACEHOLDER|>"},
        eos_token="</s>",
        pad_token="<unk>",
        chat_template=(
            "<|begin_of_sentence|>{% for message in messages %}User: "
            "{% for part in message['content'] %}{% if part['type'] == 'image' %}"
            "<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>"
            "{% else %}{{ part['text'] }}\n{% endif %}{% endfor %}{% endfor %}Assistant: "
        ),
    )
    vision = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 56,
        "patch_size": 14,
        "spatial_merge_size": 2,
    }
    config = PaddleOCRVLConfig(
        text_config=_text_config(len(tokenizer), tie_word_embeddings=False),
        vision_config=vision,
        tie_word_embeddings=False,
        **_ids(
            tokenizer,
            image_token_id="<|IMAGE_PLACEHOLDER|>",
            video_token_id="<|video_pad|>",
            vision_start_token_id="<|IMAGE_START|>",
            vision_end_token_id="<|IMAGE_END|>",
        ),
    )
    model = randomise(PaddleOCRVLForConditionalGeneration(config))
    processor = _preprocessor("PaddleOCRVLImageProcessor", temporal_patch_size=1)
    return write_checkpoint(folder, model, tokenizer, processor)

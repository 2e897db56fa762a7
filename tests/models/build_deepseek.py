"""Tiny checkpoints of DeepSeek-OCR 2 and Unlimited-OCR; DeepSeek-OCR v1 is in `deepseek_v1.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import (
    DeepseekOcr2Config,
    DeepseekOcr2ForConditionalGeneration,
    PreTrainedTokenizerFast,
)

from tests.models.tiny import byte_tokenizer, randomise, recent, write_checkpoint

HALVES = [0.5, 0.5, 0.5]

# Roles are plain text in these checkpoints' template: content only.
PLAIN = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}{{ '<image>\\n' }}{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}"
)


def deepseek_tokenizer(**settings: Any) -> PreTrainedTokenizerFast:
    return byte_tokenizer(
        [
            *("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>", "<image>"),
            *("<|grounding|>", "<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>"),
        ],
        bos_token="<｜begin▁of▁sentence｜>",
        eos_token="<｜end▁of▁sentence｜>",
        pad_token="<｜▁pad▁｜>",
        **settings,
    )


def moe_text(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    """A dense layer, then one of 4 experts, 2 active, and 1 shared; plain multi-head attention."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "moe_intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "n_group": 1,
        "topk_group": 1,
        "max_position_embeddings": 8192,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }


def sam(channels: int) -> dict[str, Any]:
    return {
        "hidden_size": 16,
        "output_channels": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 256,
        "window_size": 5,
        "global_attn_indexes": [1],
        "mlp_dim": 32,
        "downsample_channels": [16, channels],
    }


def deepseek_ocr2(folder: Path) -> Path:
    """Tile and page sizes are the real ones: the query tables (144, 256) are part of the code."""
    tokenizer = deepseek_tokenizer(chat_template=PLAIN)
    config = DeepseekOcr2Config(
        vision_config={
            "sam_config": {**sam(24), "global_attn_indexes": []},
            "encoder_config": {
                "hidden_size": 24,
                "intermediate_size": 32,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "num_key_value_heads": 1,
            },
        },
        text_config={**moe_text(tokenizer), "mlp_layer_types": ["dense", "sparse"]},
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    preprocessor = {
        "image_processor_type": "DeepseekOcr2ImageProcessor",
        "size": {"height": 1024, "width": 1024},
        "tile_size": 768,
        "image_mean": HALVES,
        "image_std": HALVES,
    }
    model = randomise(DeepseekOcr2ForConditionalGeneration(config))
    processor = {"processor_class": "DeepseekOcr2Processor"}
    return write_checkpoint(folder, model, tokenizer, preprocessor, processor)


def unlimited_ocr(folder: Path) -> Path:
    classes = recent("unlimited_ocr")
    tokenizer = deepseek_tokenizer(chat_template=PLAIN)
    config = classes.UnlimitedOcrConfig(
        vision_config={
            "sam_config": sam(32),
            "encoder_config": {
                "hidden_size": 32,
                "intermediate_size": 48,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "image_size": 56,
                "patch_size": 14,
            },
        },
        text_config={**moe_text(tokenizer), "sliding_window": 8},
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    preprocessor = {
        "image_processor_type": "UnlimitedOcrImageProcessor",
        "size": {"height": 256, "width": 256},
        "tile_size": 128,
        "max_patches": 6,
        "maximum_pad_value": 128,
        "image_mean": HALVES,
        "image_std": HALVES,
    }
    model = randomise(classes.UnlimitedOcrForConditionalGeneration(config))
    processor = {"processor_class": "UnlimitedOcrProcessor"}
    return write_checkpoint(folder, model, tokenizer, preprocessor, processor)

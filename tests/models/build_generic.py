"""Tiny checkpoints of families without an adapter of their own, for the generic path."""

from __future__ import annotations

from pathlib import Path

from transformers import LlavaConfig, LlavaForConditionalGeneration

from tests.models.build_tiled import CLIP_MEAN, CLIP_STD, chatml, text_config
from tests.models.tiny import byte_tokenizer, randomise, write_checkpoint


def llava(folder: Path) -> Path:
    tokenizer = byte_tokenizer(
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>"],
        named={"image_token": "<image>"},
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=chatml("<image>"),
    )
    vision = {
        "model_type": "clip_vision_model",
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "image_size": 56,
        "patch_size": 14,
        "projection_dim": 32,
    }
    config = LlavaConfig(
        vision_config=vision,
        text_config=text_config("llama", len(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=16,
    )
    preprocessor = {
        "image_processor_type": "CLIPImageProcessor",
        "size": {"shortest_edge": 56},
        "crop_size": {"height": 56, "width": 56},
        "image_mean": CLIP_MEAN,
        "image_std": CLIP_STD,
    }
    processor = {
        "processor_class": "LlavaProcessor",
        "patch_size": 14,
        "vision_feature_select_strategy": "default",
        "num_additional_image_tokens": 1,
    }
    model = randomise(LlavaForConditionalGeneration(config))
    return write_checkpoint(folder, model, tokenizer, preprocessor, processor)

"""Tiny checkpoints of the families with plain raster or tiled images and no learned separators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import (
    GotOcr2Config,
    GotOcr2ForConditionalGeneration,
    HunYuanVLConfig,
    HunYuanVLForConditionalGeneration,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    InternVLConfig,
    InternVLForConditionalGeneration,
    LightOnOcrConfig,
    LightOnOcrForConditionalGeneration,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
)

from tests.models.tiny import (
    byte_tokenizer,
    needs_image_processor,
    randomise,
    recent,
    write_checkpoint,
)

CLIP_MEAN = [0.48145466, 0.4578275, 0.40821073]
CLIP_STD = [0.26862954, 0.26130258, 0.27577711]

CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n'}}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}{{ IMAGE }}{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{{'<|im_end|>\\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{'<|im_start|>assistant\\n'}}{% endif %}"
)


def chatml(image: str) -> str:
    return CHATML.replace("IMAGE", repr(image))


def text_config(model_type: str, vocab_size: int, **changes: Any) -> dict[str, Any]:
    """A two-layer grouped-query decoder of 4 heads over 2 KV heads."""
    return {
        "model_type": model_type,
        "vocab_size": vocab_size,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 4096,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
        **changes,
    }


def lighton_ocr(folder: Path) -> Path:
    tokenizer = byte_tokenizer(
        [
            *("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
            *("<|image_pad|>", "<|vision_pad|>", "<|vision_end|>"),
        ],
        named={
            "image_token": "<|image_pad|>",
            "image_break_token": "<|vision_pad|>",
            "image_end_token": "<|vision_end|>",
        },
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template="<|im_start|>system<|im_end|>\n" + chatml("<|image_pad|>"),
    )
    config = LightOnOcrConfig(
        vision_config={
            "model_type": "pixtral",
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "head_dim": 16,
            "image_size": 112,
            "patch_size": 14,
        },
        text_config=text_config("qwen3", len(tokenizer)),
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
    )
    preprocessor = {
        "image_processor_type": "PixtralImageProcessor",
        "size": {"longest_edge": 112},
        "patch_size": {"height": 28, "width": 28},
        "image_mean": CLIP_MEAN,
        "image_std": CLIP_STD,
    }
    model = randomise(LightOnOcrForConditionalGeneration(config))
    processor = {
        "processor_class": "LightOnOcrProcessor",
        "patch_size": 14,
        "spatial_merge_size": 2,
    }
    return write_checkpoint(folder, model, tokenizer, preprocessor, processor)


def internvl(folder: Path) -> Path:
    tokenizer = byte_tokenizer(
        [
            *("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
            *("<img>", "</img>", "<IMG_CONTEXT>", "<video>"),
        ],
        named={
            "start_image_token": "<img>",
            "end_image_token": "</img>",
            "context_image_token": "<IMG_CONTEXT>",
            "video_token": "<video>",
        },
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=chatml("<IMG_CONTEXT>\n"),
    )
    config = InternVLConfig(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": [56, 56],
            "patch_size": [14, 14],
        },
        text_config=text_config("qwen2", len(tokenizer)),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    preprocessor = {
        "image_processor_type": "GotOcr2ImageProcessor",
        "size": {"height": 56, "width": 56},
        "crop_to_patches": False,
        "min_patches": 1,
        "max_patches": 6,
        "image_mean": [0.485, 0.456, 0.406],
        "image_std": [0.229, 0.224, 0.225],
    }
    model = randomise(InternVLForConditionalGeneration(config))
    processor = {"processor_class": "InternVLProcessor", "image_seq_length": 4}
    return write_checkpoint(folder, model, tokenizer, preprocessor, processor)


def got_ocr2(folder: Path) -> Path:
    tokenizer = byte_tokenizer(
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<img>", "</img>", "<imgpad>"],
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )
    config = GotOcr2Config(
        vision_config={
            "hidden_size": 32,
            "output_channels": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 256,
            "window_size": 5,
            "global_attn_indexes": [1],
            "mlp_dim": 48,
        },
        text_config=text_config("qwen2", len(tokenizer), num_key_value_heads=4),
        image_token_index=tokenizer.convert_tokens_to_ids("<imgpad>"),
        image_seq_length=16,
    )
    preprocessor = {
        "image_processor_type": "GotOcr2ImageProcessor",
        "size": {"height": 256, "width": 256},
        "image_mean": CLIP_MEAN,
        "image_std": CLIP_STD,
    }
    model = randomise(GotOcr2ForConditionalGeneration(config))
    return write_checkpoint(
        folder, model, tokenizer, preprocessor, {"processor_class": "GotOcr2Processor"}
    )


IDEFICS_TOKENS = [
    *("<|endoftext|>", "<|im_start|>", "<end_of_utterance>", "<image>"),
    *("<fake_token_around_image>", "<global-img>"),
    *(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)),
]
IDEFICS_TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}:"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}{{ '<image>' }}{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)


def _idefics(folder: Path, config_class: type, model_class: type, name: str) -> Path:
    needs_image_processor(name)
    tokenizer = byte_tokenizer(
        IDEFICS_TOKENS,
        named={
            "fake_image_token": "<fake_token_around_image>",
            "image_token": "<image>",
            "global_image_token": "<global-img>",
            "end_of_utterance_token": "<end_of_utterance>",
        },
        eos_token="<end_of_utterance>",
        pad_token="<|endoftext|>",
        chat_template=IDEFICS_TEMPLATE,
    )
    config = config_class(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 8,
        },
        text_config=text_config("llama", len(tokenizer)),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
    )
    preprocessor = {
        "image_processor_type": f"{name}ImageProcessor",
        "size": {"longest_edge": 192},
        "max_image_size": {"longest_edge": 64},
        "do_image_splitting": True,
    }
    processor = {"processor_class": f"{name}Processor", "image_seq_len": 16}
    model = randomise(model_class(config))
    return write_checkpoint(folder, model, tokenizer, preprocessor, processor)


def smolvlm(folder: Path) -> Path:
    return _idefics(folder, SmolVLMConfig, SmolVLMForConditionalGeneration, "SmolVLM")


def idefics3(folder: Path) -> Path:
    """Granite-Docling 258M and SmolDocling are of this family."""
    return _idefics(folder, Idefics3Config, Idefics3ForConditionalGeneration, "Idefics3")


def granite_docling(folder: Path) -> Path:
    """The 500M model's own class: tiles of 64 px here, DocTags in the vocabulary."""
    classes = recent("granite_docling")
    tokenizer = byte_tokenizer(
        [*IDEFICS_TOKENS, "<doctag>", "</doctag>", "<text>", "</text>", "<loc_7>"],
        named={"image_token": "<image>"},
        eos_token="<end_of_utterance>",
        pad_token="<|endoftext|>",
        chat_template=IDEFICS_TEMPLATE,
    )
    config = classes.GraniteDoclingConfig(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 3,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 8,
            "out_hidden_size": 32,
            "scale_factor": 2,
            "deepstack_visual_indexes": [0, 1],
        },
        text_config={
            **_without(text_config("granite_docling_text", len(tokenizer)), "model_type"),
            # The real multipliers fit the real width; at this one they would drown the page.
            "embedding_multiplier": 0.5,
            "residual_multiplier": 0.9,
            "attention_multiplier": 0.3,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    preprocessor = {
        "image_processor_type": "GraniteDoclingImageProcessor",
        "size": {"height": 64, "width": 64},
        "max_patches": 6,
    }
    processor = {"processor_class": "GraniteDoclingProcessor", "image_seq_len": 16}
    model = randomise(classes.GraniteDoclingForConditionalGeneration(config))
    return write_checkpoint(folder, model, tokenizer, preprocessor, processor)


def hunyuan_vl(folder: Path) -> Path:
    needs_image_processor("HunYuanVL")
    marks = {
        "image_start_token": "<｜hy_place▁holder▁no▁100｜>",
        "image_end_token": "<｜hy_place▁holder▁no▁101｜>",
        "image_token": "<｜hy_place▁holder▁no▁102｜>",
    }
    start, end, image = marks.values()
    tokenizer = byte_tokenizer(
        [
            *("<｜hy_begin▁of▁sentence｜>", "<｜hy_place▁holder▁no▁2｜>", "<｜hy_▁pad▁｜>"),
            *("<｜hy_User｜>", "<｜hy_Assistant｜>", *marks.values()),
        ],
        named=marks,
        bos_token="<｜hy_begin▁of▁sentence｜>",
        eos_token="<｜hy_place▁holder▁no▁2｜>",
        pad_token="<｜hy_▁pad▁｜>",
        chat_template="<｜hy_begin▁of▁sentence｜>{% for message in messages %}"
        "{% for part in message['content'] %}{% if part['type'] == 'image' %}"
        + start
        + image
        + end
        + "{% else %}{{ part['text'] }}{% endif %}{% endfor %}<｜hy_User｜>{% endfor %}",
    )
    ids = tokenizer.convert_tokens_to_ids
    config = HunYuanVLConfig(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "out_hidden_size": 32,
            "text_hidden_size": 32,
            "max_image_size": 256,
        },
        text_config={
            **_without(text_config("hunyuan_vl_text", len(tokenizer)), "model_type"),
            "head_dim": 16,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10000.0,
                "mrope_section": [2, 2, 2, 2],
            },
        },
        image_token_id=ids(image),
        im_start_id=ids(start),
        im_end_id=ids(end),
        im_newline_id=ids(image),
    )
    preprocessor = {
        "image_processor_type": "HunYuanVLImageProcessor",
        "size": {"shortest_edge": 64 * 64, "longest_edge": 160 * 160},
    }
    model = randomise(HunYuanVLForConditionalGeneration(config))
    processor = {"processor_class": "HunYuanVLProcessor"}
    return write_checkpoint(folder, model, tokenizer, preprocessor, processor)


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}

"""DeepSeek-OCR v1: its own checkpoint layout on the class that hosts it, and its page modes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torch import Tensor

from fastocr_cli.decoding.engine import generate
from fastocr_cli.errors import MissingModelError, UsageError
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.models.base import ModelAdapter
from fastocr_cli.models.deepseek_ocr import DeepseekOcrV1Adapter, hosted_config
from fastocr_cli.models.deepseek_pages import MODES, Mode, mode_for, see
from fastocr_cli.models.loading import load_adapter
from tests.models.build_deepseek_v1 import (
    config_json,
    deepseek_ocr_v1,
    hosting_model,
    v1_tensors,
)
from tests.models.test_identity import STEPS, library_generate
from tests.models.tiny import page, recent

REAL_LANGUAGE = {
    "bos_token_id": 0,
    "eos_token_id": 1,
    "hidden_size": 1280,
    "intermediate_size": 6848,
    "max_position_embeddings": 8192,
    "moe_intermediate_size": 896,
    "n_group": 1,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_attention_heads": 10,
    "num_experts_per_tok": 6,
    "num_hidden_layers": 12,
    "num_key_value_heads": 10,
    "topk_group": 1,
    "vocab_size": 129280,
}
REAL_TOWERS = {
    "clip-l-14-224": {
        "heads": 16,
        "image_size": 224,
        "layers": 24,
        "patch_size": 14,
        "width": 1024,
    },
    "sam_vit_b": {
        "downsample_channels": [512, 1024],
        "global_attn_indexes": [2, 5, 8, 11],
        "heads": 12,
        "layers": 12,
        "width": 768,
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint one of whose SAM layers attends to the whole view, as in the real one."""
    return deepseek_ocr_v1(tmp_path_factory.mktemp("v1"), global_layers=[1])


def real_config() -> dict[str, Any]:
    """The published config.json, as far as it says anything about sizes."""
    raw = config_json(REAL_LANGUAGE, [])
    raw["vision_config"]["width"] = REAL_TOWERS
    return raw


def test_the_real_config_gives_the_real_checkpoints_tensors() -> None:
    """Counts and shapes are those in the header of the published safetensors file."""
    classes = recent("unlimited_ocr")
    with torch.device("meta"):
        model = classes.UnlimitedOcrForConditionalGeneration(hosted_config(real_config(), 128815))
        tensors = v1_tensors(model)
    assert len(tensors) == 2710
    for prefix, count in (("sam_model", 179), ("vision_model", 293), ("layers", 2231)):
        assert sum(name.startswith(f"model.{prefix}.") for name in tensors) == count
    shapes = {
        "lm_head.weight": (129280, 1280),
        "model.layers.0.mlp.gate_proj.weight": (6848, 1280),
        "model.layers.11.mlp.experts.63.down_proj.weight": (1280, 896),
        "model.layers.1.mlp.shared_experts.gate_proj.weight": (1792, 1280),
        "model.projector.layers.weight": (1280, 2048),
        "model.sam_model.blocks.2.attn.rel_pos_h": (127, 64),
        "model.sam_model.blocks.3.attn.rel_pos_h": (27, 64),
        "model.sam_model.net_3.weight": (1024, 512, 3, 3),
        "model.sam_model.pos_embed": (1, 64, 64, 768),
        "model.vision_model.embeddings.position_embedding.weight": (257, 1024),
        "model.vision_model.transformer.layers.23.mlp.fc1.weight": (4096, 1024),
    }
    assert {name: tuple(tensors[name].shape) for name in shapes} == shapes


def test_every_weight_arrives(folder: Path) -> None:
    loaded = load_adapter(str(folder), device="cpu", offline=True).model
    expected = hosting_model(global_layers=[1]).state_dict()
    found = loaded.state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert set(loaded.config.text_config.layer_types) == {"full_attention"}
    assert loaded.generation_config.no_repeat_ngram_size == 35


@pytest.mark.parametrize("mode", ["tiny", "small"])
def test_tokens_equal_those_of_the_weights_run_directly(folder: Path, mode: str) -> None:
    adapter = load_adapter(str(folder), device="cpu", offline=True, mode=mode)
    prompt = adapter.prepare(page(500, 700))
    expected = library_generate(hosting_model(global_layers=[1]), adapter, prompt).token_ids
    [ours] = generate(adapter, [prompt], policy=DensePolicy(), max_tokens=STEPS)
    assert list(ours.token_ids) == [t for t in expected if t not in adapter.stop_token_ids]


@pytest.mark.parametrize(
    ("mode", "size", "tokens"),
    [
        ("tiny", (1700, 2200), 73),
        ("small", (1700, 2200), 111),
        ("base", (1700, 2200), 273),
        ("large", (1700, 2200), 421),
        ("gundam", (600, 640), 273),
        ("gundam", (1200, 1200), 693),
        ("gundam", (1700, 2200), 903),
        ("gundam", (1500, 1500), 1203),
    ],
)
def test_token_counts(mode: str, size: tuple[int, int], tokens: int) -> None:
    views = see(page(*size), MODES[mode])
    parts = views.layout_with_row_ends()
    assert sum(part.num_tokens for part in parts) == tokens
    assert views.whole.shape[0] == MODES[mode].side


def test_row_ends_stand_where_the_model_puts_them() -> None:
    """Local rows of 10 tokens a tile, then rows of 16, each closed; the separator last."""
    parts = see(page(1700, 2200), MODES["gundam"]).layout_with_row_ends()
    structural = torch.cat([part.structural for part in parts]).nonzero().flatten()
    columns, rows = 2, 3
    local = torch.arange(10 * rows) * (10 * columns + 1) + 10 * columns
    whole = 10 * rows * (10 * columns + 1) + torch.arange(16) * 17 + 16
    assert structural.tolist() == [*local.tolist(), *whole.tolist(), 902]


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("size", [(901, 1200), (1200, 333), (640, 640), (63, 1)])
def test_pixels_equal_the_published_preprocessing(name: str, size: tuple[int, int]) -> None:
    """Pillow's own pad and resize, as the published code calls them."""
    image, mode = page(*size), MODES[name]
    views = see(image, mode)
    square = (mode.side, mode.side)
    if mode.pads:
        reference = ImageOps.pad(image, square, color=(127, 127, 127)) if min(size) > 30 else None
    else:
        reference = image.resize(square)
    assert reference is None or np.array_equal(views.whole, np.asarray(reference))
    if views.columns:
        canvas = image.resize((views.columns * 640, views.rows * 640))
        for index, tile in enumerate(views.local):
            row, column = divmod(index, views.columns)
            box = (column * 640, row * 640, column * 640 + 640, row * 640 + 640)
            assert np.array_equal(tile, np.asarray(canvas.crop(box)))


def test_boxes_allow_for_the_padding() -> None:
    """A landscape page fills the middle half of the square: 4 rows of padding on either side."""
    whole, _ = see(page(1000, 500), MODES["base"]).layout_with_row_ends()
    patches = ~whole.structural
    rows, boxes = whole.grid[patches, 1], whole.boxes[patches]
    assert boxes[(rows < 4) | (rows >= 12)].isnan().all()
    assert boxes[rows == 4][0].tolist() == pytest.approx([0, 0, 1 / 16, 1 / 8])
    assert boxes[rows == 11][-1].tolist() == pytest.approx([15 / 16, 7 / 8, 1, 1])


def test_the_mode_follows_the_page_unless_named(folder: Path) -> None:
    sizes = {(700, 900): "base", (1275, 1100): "large", (1654, 2339): "gundam"}
    for (width, height), name in sizes.items():
        assert mode_for(Image.new("RGB", (width, height))) == MODES[name]
    adapter = load_adapter(str(folder), device="cpu", offline=True, mode="tiny")
    assert isinstance(adapter, DeepseekOcrV1Adapter)
    assert adapter.prepare(page(1654, 2339)).layout.num_tokens == 73
    with pytest.raises(UsageError, match="gundam"):
        adapter.use_mode("huge")


def test_only_families_with_modes_take_one(checkpoint: Callable[[str], Path]) -> None:
    with pytest.raises(UsageError, match="no modes"):
        load_adapter(str(checkpoint("lighton_ocr")), device="cpu", offline=True, mode="base")


def test_its_relatives_are_told_apart(folder: Path, tmp_path: Path) -> None:
    """DeepSeek-VL2 bears the same model_type, and variants with latent attention exist."""
    raw = json.loads((folder / "config.json").read_text())
    raw["architectures"] = ["DeepseekVLV2ForCausalLM"]
    with pytest.raises(MissingModelError, match="DeepseekVLV2ForCausalLM"):
        hosted_config(raw, 1)
    latent = real_config()
    latent["language_config"]["use_mla"] = True
    with pytest.raises(MissingModelError):
        hosted_config(latent, 1)


def test_a_page_of_one_pixel_row_is_read() -> None:
    assert see(page(2000, 1), Mode(1024, pads=True)).whole.shape == (1024, 1024, 3)


def test_the_prompt_is_the_published_one(adapter: Callable[[str], ModelAdapter]) -> None:
    family = adapter("deepseek_vl_v2")
    assert family.prompt == (
        "<｜begin▁of▁sentence｜><image>\n<|grounding|>Convert the document to markdown."
    )
    prompt = family.prepare(page(300, 300))
    assert prompt.input_ids[0, 0] == family.tokenizer.bos_token_id
    assert prompt.layout.positions.tolist() == list(range(1, 274))
    values: Tensor = prompt.features["pixel_values"]
    assert values.shape == (1, 3, 1024, 1024)
    assert values.min() >= -1
    assert values.max() <= 1

"""Adapters give a model exactly what the library's own processor would have given it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from transformers.models.smolvlm import processing_smolvlm

from fastocr_cli.models import loading
from fastocr_cli.models.base import ModelAdapter, PromptInputs
from tests.models.families import FAMILIES
from tests.models.tiny import page

# Family -> the library's processor and its settings; None stands for the video part.
PROCESSORS: dict[str, tuple[str, tuple[None, ...], dict[str, int]]] = {
    "qwen2_5_vl": ("Qwen2_5_VLProcessor", (None,), {}),
    "qwen3_vl": ("Qwen3VLProcessor", (None,), {}),
    "glm_ocr": ("Glm46VProcessor", (None,), {}),
    "paddleocr_vl": ("PaddleOCRVLProcessor", (), {}),
    "lighton_ocr": ("LightOnOcrProcessor", (), {"patch_size": 14, "spatial_merge_size": 2}),
    "internvl": ("InternVLProcessor", (None,), {"image_seq_length": 4}),
    "got_ocr2": ("GotOcr2Processor", (), {}),
    "smolvlm": ("SmolVLMProcessor", (None,), {"image_seq_len": 16}),
    "idefics3": ("Idefics3Processor", (), {"image_seq_len": 16}),
    "granite_docling": ("GraniteDoclingProcessor", (), {"image_seq_len": 16}),
    "hunyuan_vl": ("HunYuanVLProcessor", (), {}),
    "deepseek_ocr2": ("DeepseekOcr2Processor", (), {}),
}


@pytest.fixture
def processor(
    adapter: Callable[[str], ModelAdapter], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Any]:
    """The library's processor around the adapter's tokenizer and image processor.

    Two things that would keep it from being built are stepped over: video parts need torchvision,
    and SmolVLM's spells out the number of video frames.
    """
    monkeypatch.setattr(
        transformers.ProcessorMixin, "check_argument_for_proper_class", lambda *_: None
    )
    monkeypatch.setattr(processing_smolvlm, "num2words", str)

    def build(name: str) -> Any:
        class_name, video, settings = PROCESSORS[name]
        family: Any = adapter(name)
        build_processor = getattr(transformers, class_name)
        return build_processor(family.image_processor, family.tokenizer, *video, **settings)

    return build


def call(name: str, processor: Any, prompt: str, image: Any) -> dict[str, Any]:
    """GOT-OCR2 writes its own prompt, and believes in 256 tokens a page unless told otherwise."""
    if name == "got_ocr2":
        asked: dict[str, Any] = {"format": True, "num_image_tokens": 16}
    else:
        asked = {"text": [prompt]}
    return dict(processor(images=[image], return_tensors="pt", **asked))


@pytest.mark.parametrize("name", PROCESSORS)
def test_ids_and_pixels_equal_the_librarys(
    name: str,
    adapter: Callable[[str], ModelAdapter],
    prompts: Callable[[str], list[PromptInputs]],
    processor: Callable[[str], Any],
) -> None:
    for seed, (size, prompt) in enumerate(zip(FAMILIES[name].pages, prompts(name), strict=True)):
        image = page(*size, seed=seed)
        expected = call(name, processor(name), adapter(name).prompt, image)
        assert torch.equal(prompt.input_ids, expected.pop("input_ids"))
        expected.pop("attention_mask")
        assert set(prompt.features) == set(expected)
        for key, value in expected.items():
            given = torch.as_tensor(prompt.features[key])
            assert torch.equal(given, torch.as_tensor(value)), (key, size)


@pytest.mark.parametrize("model_type", loading.FAMILIES)
def test_the_table_of_families_agrees_with_the_adapters(model_type: str) -> None:
    assert model_type in loading._family_class(model_type).model_types


def test_unlimited_ocr_expands_the_placeholder_as_the_library_does(
    adapter: Callable[[str], ModelAdapter], prompts: Callable[[str], list[PromptInputs]]
) -> None:
    """Its image processor needs torchvision; the count of tokens can be asked without one."""
    family: Any = adapter("unlimited_ocr")
    settings = family.image_processor
    stub = SimpleNamespace(
        image_processor=SimpleNamespace(size=settings["size"], tile_size=settings["tile_size"]),
        patch_size=16,
        downsample_ratio=4,
        image_token="<image>",
    )
    for prompt in prompts("unlimited_ocr"):
        block = transformers.UnlimitedOcrProcessor.replace_image_token(stub, prompt.features, 0)
        assert prompt.layout.num_tokens == block.count("<image>")


@pytest.mark.parametrize("name", ["deepseek_vl_v2", "hunyuan_vl"])
def test_the_begin_token_is_written_once(
    name: str, adapter: Callable[[str], ModelAdapter], prompts: Callable[[str], list[PromptInputs]]
) -> None:
    begin = adapter(name).tokenizer.bos_token_id
    assert (prompts(name)[0].input_ids == begin).nonzero().tolist() == [[0, 0]]


def test_the_cap_on_tokens_follows_the_page(adapter: Callable[[str], ModelAdapter]) -> None:
    family = adapter("got_ocr2")
    small, large = family.prepare(page(200, 100)), family.prepare(page(1000, 800))
    assert small.token_cap == 512, "even a scrap may hold a few lines"
    assert large.token_cap > small.token_cap
    context = family.decoder_config.max_position_embeddings
    assert large.token_cap + large.length <= context

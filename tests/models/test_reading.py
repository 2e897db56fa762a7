"""`Reader` on a tiny real checkpoint: what it takes, what it gives, what it remembers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fastocr_cli import Reader
from fastocr_cli.decoding.engine import generate
from fastocr_cli.errors import UsageError
from fastocr_cli.models.base import ModelAdapter, PromptInputs
from fastocr_cli.results import PageImage, PageStatus
from fastocr_cli.rtprune.settings import RTPruneSettings
from tests.models.tiny import page
from tests.models.tiny_reader import tiny_reader

LoadAdapter = Callable[[str], ModelAdapter]
PAGES = [page(120, 90, seed=1), page(60, 200, seed=2), page(90, 60, seed=3)]


@pytest.fixture
def reader(adapter: LoadAdapter) -> Reader:
    return Reader(adapter("qwen2_5_vl"))


def test_from_pretrained_takes_a_folder(checkpoint: Callable[[str], Path]) -> None:
    folder = str(checkpoint("qwen2_5_vl"))
    reader = Reader.from_pretrained(folder, device="cpu", offline=True)
    assert "<|image_pad|>" in reader.prompt
    assert reader.prompt.count("<|image_pad|>") == 1
    assert reader.batch_size > 1


def test_pages_that_draft_need_no_company_on_a_cpu(tmp_path: Path) -> None:
    reader = Reader.from_pretrained(str(tiny_reader(tmp_path)), device="cpu")
    assert reader.batch_size == 1


def test_a_reading_says_everything(reader: Reader) -> None:
    [reading] = reader.read(PAGES[0], max_tokens=12)
    assert reading.status is PageStatus.TRUNCATED
    assert len(reading.token_ids) == len(reading.logprobs) == len(reading.places) == 12
    assert reading.text == reader.adapter.detokenize(reading.token_ids)
    assert all(chance <= 0 for chance in reading.logprobs)
    stats = reading.stats
    assert stats.generated_tokens == 12
    assert stats.visual_tokens == reader.adapter.prepare(PAGES[0]).layout.num_tokens
    assert min(stats.prepare_ms, stats.prefill_ms, stats.decode_ms, stats.attention_ms) > 0
    assert stats.kv_share == 1.0


@pytest.fixture
def tall(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> Image.Image:
    """A page of two strips, each of six tokens at most."""
    prepare = reader.adapter.prepare
    monkeypatch.setattr(reader.adapter, "tallest", lambda image: 80)
    monkeypatch.setattr(
        reader.adapter, "prepare", lambda image: replace(prepare(image), token_cap=6)
    )
    whole = Image.new("RGB", (90, 150), "white")
    whole.paste(PAGES[2], (0, 0))
    whole.paste(PAGES[2], (0, 90))
    return whole


def halves(whole: Image.Image) -> list[Image.Image]:
    return [whole.crop((0, 0, 90, 70)), whole.crop((0, 70, 90, 150))]


def test_a_tall_page_is_read_in_strips(reader: Reader, tall: Image.Image) -> None:
    [reading] = reader.read(tall)
    upper, lower = reader.read(halves(tall))
    assert reading.token_ids == upper.token_ids + lower.token_ids
    assert reading.text == reader.adapter.detokenize(reading.token_ids)
    assert reading.stats.visual_tokens == upper.stats.visual_tokens + lower.stats.visual_tokens


@pytest.mark.parametrize("most", [3, 6, 8])
def test_a_limit_of_tokens_is_of_the_page(reader: Reader, tall: Image.Image, most: int) -> None:
    [reading] = reader.read(tall, max_tokens=most)
    upper, lower = reader.read(halves(tall))
    assert reading.token_ids == (upper.token_ids + lower.token_ids)[:most]
    assert (reading.status, reading.stats.generated_tokens) == (PageStatus.TRUNCATED, most)


def test_strips_take_no_more_room_than_pages(
    reader: Reader, tall: Image.Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = []

    def noting(adapter: ModelAdapter, prompts: list[PromptInputs], **more: Any) -> Any:
        batches.append(len(prompts))
        return generate(adapter, prompts, **more)

    monkeypatch.setattr("fastocr_cli.reading.generate", noting)
    together = reader.read([tall, halves(tall)[0]])
    assert batches == [2, 1]
    assert [one.token_ids for one in together] == [
        reader.read(one)[0].token_ids for one in (tall, halves(tall)[0])
    ]


def test_the_same_page_in_every_form(reader: Reader) -> None:
    image = PAGES[0]
    pixels = np.asarray(image)
    forms = [image, pixels, PageImage(pixels, 1, 72.0, "-"), image.convert("RGBA")]
    readings = reader.read(forms, max_tokens=8)
    assert len({reading.token_ids for reading in readings}) == 1
    grey = image.convert("L")
    assert reader.read(grey, max_tokens=8)[0].token_ids == (
        reader.read(grey.convert("RGB"), max_tokens=8)[0].token_ids
    )


def test_together_as_alone(reader: Reader) -> None:
    together = reader.read(PAGES, max_tokens=20)
    alone = [reader.read(one, max_tokens=20)[0] for one in PAGES]
    assert [one.token_ids for one in together] == [one.token_ids for one in alone]
    assert len({one.token_ids for one in together}) == 3


def test_keep_can_be_overridden_for_one_call(adapter: LoadAdapter) -> None:
    dense = Reader(adapter("qwen2_5_vl"))
    sparse = Reader(adapter("qwen2_5_vl"), keep=0.5, fixation={"minimum": 2})
    assert sparse.read(PAGES, max_tokens=20, keep=1.0)[0].token_ids == (
        dense.read(PAGES, max_tokens=20)[0].token_ids
    )
    kept = sparse.read(PAGES, max_tokens=20)[0].stats
    assert kept.keep_sparse_layers < 1
    assert kept.kv_bytes_read < kept.kv_bytes_dense
    assert sparse.policy(0.5) is sparse.policy(0.5)


def test_impossible_settings_fail_before_the_first_page(adapter: LoadAdapter) -> None:
    for settings in (
        {"keep": 1.5},
        {"method": "magic"},
        {"fixation": {"no_such_option": 1}},
        {"fixation": {"keep": 0.5}},
    ):
        with pytest.raises(UsageError):
            Reader(adapter("qwen2_5_vl"), **settings)  # type: ignore[arg-type]


def test_rtprune_shortens_the_prompt_and_says_so(adapter: LoadAdapter) -> None:
    loaded = adapter("unlimited_ocr")
    whole = Reader(loaded).read(PAGES[:2], max_tokens=6)
    pruned = Reader(loaded, rtprune=RTPruneSettings(drop=0.5)).read(PAGES[:2], max_tokens=6)
    for before, after in zip(whole, pruned, strict=True):
        assert after.stats.prompt_tokens < before.stats.prompt_tokens
        assert after.stats.extra["rtprune"]["dropped"] > 0


def test_rtprune_can_be_left_out_of_one_call(adapter: LoadAdapter) -> None:
    loaded = adapter("qwen2_5_vl")
    pruning = Reader(loaded, keep=0.5, rtprune=RTPruneSettings(drop=0.5))
    [dense] = Reader(loaded).read(PAGES[0], max_tokens=20)
    [whole] = pruning.read(PAGES[0], max_tokens=20, keep=1.0, is_pruned=False)
    assert whole.token_ids == dense.token_ids
    assert "rtprune" not in whole.stats.extra


def test_fences_and_front_matter_are_not_the_page(reader: Reader) -> None:
    assert reader.to_markdown("```markdown\n# Title\n\ntext\n```") == "# Title\n\ntext"
    assert reader.to_markdown("text with ```code``` in it") == "text with ```code``` in it"
    olmocr = "---\nprimary_language: en\nis_rotation_valid: True\n---\n# Title"
    assert reader.to_markdown(olmocr) == "# Title"
    assert reader.to_markdown("---\n\nA rule comes first.\n\n---\n") == (
        "---\n\nA rule comes first.\n\n---\n"
    )

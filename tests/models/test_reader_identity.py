"""The embedded reader's architecture, tiny and random, through the real loading path."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from fastocr_cli.decoding.engine import generate
from fastocr_cli.decoding.fused import FusedDecoder
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.models.base import ModelAdapter, PromptInputs
from fastocr_cli.models.loading import load_adapter
from fastocr_cli.reader import vocabulary
from tests.models.tiny import page
from tests.models.tiny_reader import tiny_reader

STEPS = 24


def as_the_page_bears_out(
    adapter: ModelAdapter, prompt: PromptInputs
) -> Callable[[Tensor, Tensor], Tensor]:
    """The reader's own rules of order, as the library's `generate` takes them."""
    with torch.inference_mode():
        prefilled = adapter.model(input_ids=prompt.input_ids, **prompt.features)
    order = adapter.new_bias(prefilled, aided=True)
    assert order is not None
    known = prompt.length

    def process(input_ids: Tensor, scores: Tensor) -> Tensor:
        nonlocal known
        for token in input_ids[0, known:].tolist():
            order.add(token)
        known = input_ids.shape[1]
        return scores + torch.from_numpy(order.bias())

    return process


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> ModelAdapter:
    return load_adapter(str(tiny_reader(tmp_path_factory.mktemp("reader"))), device="cpu")


@pytest.mark.parametrize("fused", [True, False])
def test_tokens_equal_the_librarys_generate(
    adapter: ModelAdapter, fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(adapter), "has_plain_head", fused)
    # To random weights every page is illegible.
    monkeypatch.setattr("fastocr_cli.reader.evidence._LEGIBLE_SHARE", -1.0)
    assert (FusedDecoder.of(adapter, 10) is not None) == fused
    sizes = ((200, 120), (90, 260), (320, 100))
    prompts = [adapter.prepare(page(*size, seed=i)) for i, size in enumerate(sizes)]
    assert len({prompt.length for prompt in prompts}) == 3
    together = generate(adapter, prompts, policy=DensePolicy(), max_tokens=STEPS)
    for one, prompt in zip(together, prompts, strict=True):
        [alone] = generate(adapter, [prompt], policy=DensePolicy(), max_tokens=STEPS)
        expected = adapter.model.generate(
            input_ids=prompt.input_ids,
            **prompt.features,
            do_sample=False,
            max_new_tokens=STEPS,
            logits_processor=[as_the_page_bears_out(adapter, prompt)],
        )[0, prompt.length :].tolist()
        ours = [*one.token_ids, vocabulary.EOS][: len(expected)]
        assert ours == expected
        assert alone.token_ids == one.token_ids
    assert len({one.token_ids for one in together}) == 3

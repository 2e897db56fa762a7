"""keep = 1 is the stock model: our tokens equal the library's own greedy `generate`.

Every family, built tiny with random weights, saved to disk, loaded by the real loading path;
pages alone and in a ragged batch of pages of different sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForImageTextToText

from fastocr_cli.decoding.engine import generate
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.models.base import ModelAdapter, PromptInputs
from fastocr_cli.results import PageStatus
from tests.models.build_deepseek_v1 import hosting_model
from tests.models.families import FAMILIES

STEPS = 24

FIXED = {"got_ocr2", "llava"}
"""Families that squeeze every page into the same number of tokens."""


@dataclass(frozen=True)
class Reference:
    """The library's own greedy tokens and their log-probabilities, stop token included."""

    token_ids: list[int]
    logprobs: list[float]
    narrowest: float  # smallest gap between the best and the second best logit


@dataclass(frozen=True)
class Case:
    adapter: ModelAdapter
    prompts: list[PromptInputs]
    references: list[Reference]


def library_model(name: str, folder: Path) -> Any:
    """The library's own model of the checkpoint, nothing of ours installed in it."""
    if name == "deepseek_vl_v2":  # no class of its own: the model its weights were taken from
        return hosting_model()
    return AutoModelForImageTextToText.from_pretrained(folder).eval()


def library_generate(model: Any, adapter: ModelAdapter, prompt: PromptInputs) -> Reference:
    """Greedy `generate` of the library on one prompt, ended by the adapter's stop tokens."""
    output = model.generate(
        input_ids=prompt.input_ids,
        attention_mask=torch.ones_like(prompt.input_ids),
        **prompt.features,
        do_sample=False,
        eos_token_id=sorted(adapter.stop_token_ids),
        pad_token_id=0,
        max_new_tokens=STEPS,
        return_dict_in_generate=True,
        output_logits=True,
    )
    token_ids = output.sequences[0, prompt.length :].tolist()
    logits = torch.cat(output.logits).float()
    logprobs = logits.log_softmax(-1).gather(1, torch.tensor(token_ids)[:, None])[:, 0]
    best = logits.topk(2).values
    return Reference(token_ids, logprobs.tolist(), float((best[:, 0] - best[:, 1]).min()))


@pytest.fixture(scope="module", params=FAMILIES)
def case(
    request: pytest.FixtureRequest,
    adapter: Callable[[str], ModelAdapter],
    prompts: Callable[[str], list[PromptInputs]],
    checkpoint: Callable[[str], Path],
) -> Case:
    name = request.param
    model, family, pages = library_model(name, checkpoint(name)), adapter(name), prompts(name)
    return Case(family, pages, [library_generate(model, family, one) for one in pages])


def assert_same(case: Case, index: int, token_ids: tuple[int, ...], status: PageStatus) -> None:
    expected = case.references[index].token_ids
    if status is PageStatus.OK:
        assert expected[-1] in case.adapter.stop_token_ids
        expected = expected[:-1]
    assert list(token_ids) == expected


def test_the_comparison_means_something(case: Case) -> None:
    """The pages are told apart, the text varies, and no token was chosen by rounding."""
    texts = [tuple(reference.token_ids) for reference in case.references]
    assert len(set(texts)) == len(texts)
    assert max(len(set(text)) for text in texts) > 4
    assert min(reference.narrowest for reference in case.references) > 1e-4


def test_alone(case: Case) -> None:
    for index, prompt in enumerate(case.prompts):
        [ours] = generate(case.adapter, [prompt], policy=DensePolicy(), max_tokens=STEPS)
        assert_same(case, index, ours.token_ids, ours.status)


def test_in_a_ragged_batch(case: Case) -> None:
    lengths = {prompt.length for prompt in case.prompts}
    assert len(lengths) > 1 or case.adapter.model.config.model_type in FIXED
    ours = generate(case.adapter, case.prompts, policy=DensePolicy(), max_tokens=STEPS)
    for index, one in enumerate(ours):
        assert_same(case, index, one.token_ids, one.status)


def test_logprobs(case: Case) -> None:
    ours = generate(case.adapter, case.prompts, policy=DensePolicy(), max_tokens=STEPS)
    for one, reference in zip(ours, case.references, strict=True):
        count = len(one.logprobs)
        torch.testing.assert_close(
            torch.tensor(one.logprobs), torch.tensor(reference.logprobs[:count]), rtol=0, atol=2e-4
        )


def test_layout_covers_the_placeholders(case: Case) -> None:
    for prompt in case.prompts:
        positions = prompt.layout.positions
        assert prompt.layout.num_patches > 0
        assert torch.equal(positions, positions.unique())
        assert len(prompt.input_ids[0, positions].unique()) <= 2
        assert prompt.token_cap >= 1

"""Our tokens are the library's own greedy tokens, family by family, alone and in a ragged batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForImageTextToText

from fastocr_cli.decoding.engine import generate
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.models.base import ModelAdapter, PromptInputs
from tests.models.build_deepseek_v1 import hosting_model
from tests.models.families import FAMILIES
from tests.models.tiny import page

TOKENS = 24


def library_model(name: str, folder: Path) -> Any:
    """The library's own model of the checkpoint, nothing of ours installed in it."""
    if name == "deepseek_vl_v2":  # no class of its own: the model its weights were taken from
        return hosting_model()
    return AutoModelForImageTextToText.from_pretrained(folder).eval()


def library_tokens(model: Any, adapter: ModelAdapter, prompt: PromptInputs) -> list[int]:
    """Greedy `generate` of the library on one prompt, stop token left out."""
    generated = model.generate(
        input_ids=prompt.input_ids,
        attention_mask=torch.ones_like(prompt.input_ids),
        **prompt.features,
        do_sample=False,
        max_new_tokens=TOKENS,
        eos_token_id=sorted(adapter.stop_token_ids),
        pad_token_id=0,
    )
    tokens: list[int] = generated[0, prompt.length :].tolist()
    return [token for token in tokens if token not in adapter.stop_token_ids]


@pytest.mark.parametrize("name", FAMILIES)
def test_tokens_equal_the_librarys_alone_and_in_a_ragged_batch(
    name: str,
    adapter: Callable[[str], ModelAdapter],
    prompts: Callable[[str], list[PromptInputs]],
    checkpoint: Callable[[str], Path],
) -> None:
    family, pages = adapter(name), prompts(name)
    stock = library_model(name, checkpoint(name))
    expected = [library_tokens(stock, family, one) for one in pages]

    policy = DensePolicy()
    alone = [generate(family, [one], policy=policy, max_tokens=TOKENS)[0] for one in pages]
    together = generate(family, pages, policy=policy, max_tokens=TOKENS)

    assert [list(one.token_ids) for one in alone] == expected
    assert [list(one.token_ids) for one in together] == expected
    assert any(len(tokens) > 10 for tokens in expected), "too short to show anything"


@pytest.mark.parametrize("name", FAMILIES)
def test_the_page_reaches_the_decoder(name: str, adapter: Callable[[str], ModelAdapter]) -> None:
    family = adapter(name)
    size = FAMILIES[name].pages[0]
    pages = [family.prepare(page(*size, seed=seed)) for seed in (1, 2)]
    assert torch.equal(pages[0].input_ids, pages[1].input_ids)
    first, second = generate(family, pages, policy=DensePolicy(), max_tokens=TOKENS)
    assert (first.token_ids, first.logprobs) != (second.token_ids, second.logprobs)

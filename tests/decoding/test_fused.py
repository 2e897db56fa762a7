"""The written-out decode step is the library's forward, to rounding, and only where it may be."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from fastocr_cli.decoding import attention
from fastocr_cli.decoding.engine import Batch, generate
from fastocr_cli.decoding.fused import FusedDecoder
from fastocr_cli.decoding.pages import Page
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.models.base import PromptInputs
from tests.decoding.toys import ToyAdapter, random_prompts, toy_llama


def toy_qwen2() -> Any:
    """With biases on Q, K and V, norms that scale, and a tied head."""
    attention.install()
    torch.manual_seed(5)
    config = Qwen2Config(
        vocab_size=97,
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=512,
        rope_parameters={"rope_type": "default", "rope_theta": 1e8},
        initializer_range=0.25,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
        attn_implementation="fastocr",
    )
    model = Qwen2ForCausalLM(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("bias") or "norm" in name:
                weight.add_(torch.randn_like(weight) * 0.3)
    return model


MODELS = {"llama": toy_llama, "qwen2": toy_qwen2}


@torch.inference_mode()
def step_logits(adapter: ToyAdapter, prompts: list[PromptInputs], steps: int) -> list[torch.Tensor]:
    batch = Batch(adapter, [Page(adapter, one, 100) for one in prompts], DensePolicy())
    seen: list[torch.Tensor] = []
    inner = batch._accept
    batch._accept = lambda logits, drafts: (seen.append(logits.clone()), inner(logits, drafts))[1]  # type: ignore
    for _ in range(steps):
        batch.step()
    return seen


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())
def test_logits_equal_the_models_own_forward(build: Any) -> None:
    model = build()
    prompts = random_prompts([7, 30, 18])
    ours = step_logits(ToyAdapter(model, has_plain_head=True), prompts, 12)
    library = step_logits(ToyAdapter(model), prompts, 12)
    assert float(library[0].std()) > 0.5
    torch.testing.assert_close(torch.stack(ours), torch.stack(library), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())
def test_tokens_equal_the_librarys_generate(build: Any) -> None:
    model = build()
    adapter = ToyAdapter(model, has_plain_head=True)
    assert FusedDecoder.of(adapter, 100) is not None
    prompts = random_prompts([7, 30, 18])
    together = generate(adapter, prompts, policy=DensePolicy(), max_tokens=30)
    for one, given in zip(together, prompts, strict=True):
        [alone] = generate(adapter, [given], policy=DensePolicy(), max_tokens=30)
        expected = model.generate(given.input_ids, do_sample=False, max_new_tokens=30)
        assert list(one.token_ids) == list(alone.token_ids)
        assert list(one.token_ids) == expected[0, given.length :].tolist()


def test_changed_weights_are_seen_by_the_next_batch() -> None:
    """Training evaluates between updates on the same model object."""
    model = toy_llama()
    adapter = ToyAdapter(model, has_plain_head=True)
    [given] = random_prompts([9])
    before = generate(adapter, [given], policy=DensePolicy(), max_tokens=8)[0].token_ids
    with torch.no_grad():
        model.lm_head.weight.copy_(model.lm_head.weight.flip(0))
    after = generate(adapter, [given], policy=DensePolicy(), max_tokens=8)[0].token_ids
    assert after[0] == 96 - before[0]


def test_anything_else_keeps_its_own_forward() -> None:
    def is_fused(model: Any, **settings: Any) -> bool:
        return FusedDecoder.of(ToyAdapter(model, **settings), 10) is not None

    assert is_fused(toy_llama(), has_plain_head=True)
    assert not is_fused(toy_llama())
    assert not is_fused(toy_llama().to(torch.bfloat16), has_plain_head=True)
    assert not is_fused(toy_llama(hidden_act="gelu"), has_plain_head=True)
    assert not is_fused(toy_llama(attention_bias=True), has_plain_head=True)
    scaled = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}
    assert not is_fused(toy_llama(rope_parameters=scaled), has_plain_head=True)

"""The loop: how pages end, how a batch shrinks, what is reported; on toy models, no pages."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Sequence
from itertools import pairwise

import pytest
import torch

from fastocr_cli.decoding.engine import Batch, generate
from fastocr_cli.decoding.pages import Page
from fastocr_cli.decoding.prefill import PrunedPrompt
from fastocr_cli.decoding.stopping import RepetitionLimits
from fastocr_cli.errors import UsageError
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.models.base import VisualLayout
from fastocr_cli.results import PageStatus
from tests.decoding.toys import SuccessorModel, ToyAdapter, prompt, random_prompts, toy_llama

DENSE = DensePolicy()


def chain(*tokens: int) -> dict[int, int]:
    return dict(pairwise(tokens))


def test_a_stop_token_ends_the_page_and_is_left_out() -> None:
    adapter = ToyAdapter(SuccessorModel(chain(1, 5, 6, 7, 60)), stop_token_ids=[60, 61])
    [one] = generate(adapter, [prompt([9, 1])], policy=DENSE)
    assert one.token_ids == (5, 6, 7)
    assert len(one.logprobs) == 3
    assert one.status is PageStatus.OK


def test_a_page_may_be_empty() -> None:
    adapter = ToyAdapter(SuccessorModel({1: 60, 2: 3, 3: 60}), stop_token_ids=[60])
    empty, other = generate(adapter, [prompt([9, 1]), prompt([9, 9, 2])], policy=DENSE)
    assert (empty.token_ids, empty.status) == ((), PageStatus.BLANK)
    assert other.token_ids == (3,)
    [alone] = generate(adapter, [prompt([9, 1])], policy=DENSE)
    assert alone.stats.decode_ms == 0


def test_the_cap_truncates() -> None:
    adapter = ToyAdapter(SuccessorModel(chain(1, *range(5, 50))), stop_token_ids=[49])
    by_page, by_caller = (
        generate(adapter, [prompt([9, 1], cap=cap)], policy=DENSE, max_tokens=most)[0]
        for cap, most in ((7, 100), (100, 7))
    )
    assert by_page.token_ids == by_caller.token_ids == tuple(range(5, 12))
    assert by_page.status is PageStatus.TRUNCATED


def test_a_loop_ends_early_and_one_period_stays() -> None:
    adapter = ToyAdapter(SuccessorModel({1: 2, 2: 3, 3: 10, 10: 11, 11: 12, 12: 10}))
    limits = RepetitionLimits(min_span=30, min_repeats=4)
    [one] = generate(adapter, [prompt([9, 1])], policy=DENSE, limits=limits)
    assert one.status is PageStatus.LOOPED
    assert one.token_ids == (2, 3, 10, 11, 12)
    assert len(one.logprobs) == 5
    assert one.stats.generated_tokens == 5


def test_rows_that_end_leave_the_others_alone() -> None:
    """A ragged batch whose pages end at different steps equals the pages alone."""
    adapter = ToyAdapter(toy_llama(), stop_token_ids=range(0, 97, 9))
    prompts = random_prompts([5, 17, 9, 30, 12, 3])
    together = generate(adapter, prompts, policy=DENSE, max_tokens=40)
    alone = [generate(adapter, [one], policy=DENSE, max_tokens=40)[0] for one in prompts]
    assert [one.token_ids for one in together] == [one.token_ids for one in alone]
    assert [one.status for one in together] == [one.status for one in alone]
    assert len({len(one.token_ids) for one in together}) > 2


@pytest.mark.parametrize("window", [None, 6])
def test_equals_the_library(window: int | None) -> None:
    model = toy_llama() if window is None else _sliding(window)
    adapter = ToyAdapter(model)
    prompts = random_prompts([4, 21, 11])
    ours = generate(adapter, prompts, policy=DENSE, max_tokens=20)
    for one, given in zip(ours, prompts, strict=True):
        expected = model.generate(given.input_ids, do_sample=False, max_new_tokens=20)
        assert list(one.token_ids) == expected[0, given.length :].tolist()


def _sliding(window: int) -> torch.nn.Module:
    """Every second layer sees the last `window` positions only."""
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    from fastocr_cli.decoding import attention

    attention.install()
    torch.manual_seed(3)
    config = Gemma3TextConfig(
        vocab_size=97,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        layer_types=["sliding_attention", "full_attention"] * 2,
        sliding_window=window,
        initializer_range=0.3,
        attn_implementation="fastocr",
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
    return Gemma3ForCausalLM(config).eval()


def test_logprobs_are_those_of_the_distribution() -> None:
    adapter = ToyAdapter(SuccessorModel(chain(1, 5, 60)), stop_token_ids=[60])
    [one] = generate(adapter, [prompt([9, 1])], policy=DENSE)
    assert one.logprobs[0] == pytest.approx(10 - math.log(math.exp(10) + 63), abs=1e-5)


def test_stats_add_up() -> None:
    adapter = ToyAdapter(toy_llama())
    prompts = random_prompts([20, 8], visual=5)
    first, second = generate(adapter, prompts, policy=DENSE, max_tokens=6)
    assert (first.stats.prompt_tokens, second.stats.prompt_tokens) == (20, 8)
    assert first.stats.visual_tokens == 5
    assert first.stats.generated_tokens == 6
    assert 0 < first.stats.attention_ms < first.stats.decode_ms
    assert first.stats.prefill_ms > 0
    # 5 steps read 21 + 22 + ... + 25 rows of K and V (2 heads x 16 floats each) in 3 layers.
    assert first.stats.kv_bytes_dense == sum(range(21, 26)) * 3 * 2 * (2 * 16 * 4)
    assert first.stats.kv_bytes_read == first.stats.kv_bytes_dense


def test_a_batch_leaves_nothing_behind() -> None:
    """Keys and values are freed with their batch and do not wait for the garbage collector."""
    adapter = ToyAdapter(toy_llama())
    [given] = random_prompts([20], visual=5)
    gc.disable()
    try:
        with torch.inference_mode():
            batch = Batch(adapter, [Page(adapter, given, 6)], DENSE)
            batch.step()
        cache = weakref.ref(batch._cache)
        del batch
        assert cache() is None
    finally:
        gc.enable()


def test_no_pages() -> None:
    assert generate(ToyAdapter(toy_llama()), [], policy=DENSE) == []


def test_repeated_ngrams_are_blocked_as_the_library_does() -> None:
    model = toy_llama(gain=1.2)
    model.generation_config.no_repeat_ngram_size = 3
    adapter = ToyAdapter(model)
    [given] = random_prompts([12])
    [ours] = generate(adapter, [given], policy=DENSE, max_tokens=60)
    expected = model.generate(given.input_ids, do_sample=False, max_new_tokens=60)
    assert list(ours.token_ids) == expected[0, given.length :].tolist()
    model.generation_config.no_repeat_ngram_size = None
    [free] = generate(adapter, [given], policy=DENSE, max_tokens=60)
    assert free.token_ids != ours.token_ids


class DropVisual:
    """A prefill hook that keeps every second patch, in the protocol of RTPrune."""

    def __call__(
        self, inputs_embeds: torch.Tensor, position_ids: torch.Tensor, layout: VisualLayout
    ) -> PrunedPrompt:
        is_kept = torch.ones(inputs_embeds.shape[1], dtype=torch.bool)
        is_kept[layout.positions[1::2]] = False
        kept = is_kept.nonzero()[:, 0]
        remaining = VisualLayout.raster(torch.arange(2), 1, 2)
        return PrunedPrompt(kept, inputs_embeds[:, kept], position_ids[..., kept], remaining)


def test_a_prefill_hook_shortens_the_prompt_and_keeps_positions() -> None:
    """Equals the library fed with the remaining embeddings and their original position ids."""
    model = toy_llama()
    adapter = ToyAdapter(model)
    [given] = random_prompts([15], visual=4)
    hook = DropVisual()
    [ours] = generate(adapter, [given], policy=DENSE, max_tokens=10, prefill_hook=hook)
    assert ours.stats.visual_tokens == 2
    assert ours.stats.prompt_tokens == 13
    assert ours.stats.extra["visual_tokens_before_pruning"] == 4
    kept = [0, 2, *range(4, 15)]
    ids, positions = given.input_ids[:, kept], torch.tensor([kept])
    for step in range(10):
        logits = model(input_ids=ids, position_ids=positions).logits
        token = logits[:, -1].argmax(-1)
        assert int(token) == ours.token_ids[step]
        ids = torch.cat([ids, token[:, None]], dim=1)
        positions = torch.cat([positions, positions[:, -1:] + 1], dim=1)


def test_a_model_that_attends_by_itself_is_refused() -> None:
    model = toy_llama()
    model.set_attn_implementation("sdpa")
    with pytest.raises(UsageError, match="attention registry"):
        generate(ToyAdapter(model), random_prompts([5]), policy=DENSE, max_tokens=3)


def test_an_unknown_kind_of_layer_is_refused() -> None:
    model = toy_llama()
    model.config.layer_types = ["linear_attention"] * 3
    with pytest.raises(UsageError, match="linear_attention"):
        generate(ToyAdapter(model), random_prompts([5]), policy=DENSE)


def test_the_hook_is_gone_after_a_failure() -> None:
    adapter = ToyAdapter(toy_llama())

    def broken(*_: object) -> PrunedPrompt:
        raise RuntimeError("broken hook")

    with pytest.raises(RuntimeError, match="broken hook"):
        generate(adapter, random_prompts([5]), policy=DENSE, prefill_hook=broken)
    assert not adapter.decoder._forward_pre_hooks


def test_gaze_becomes_places() -> None:
    class Looking(DensePolicy):
        def start(self, layouts: Sequence[VisualLayout], shape: object, device: object) -> object:
            state = super().start(layouts, shape, device)  # type: ignore[arg-type]
            from fastocr_cli.fixation.policy import PolicyStats

            gaze = torch.tensor([2, -1, 0])
            state.finish = lambda: [PolicyStats(gaze=gaze)]  # type: ignore[method-assign]
            return state

    adapter = ToyAdapter(toy_llama())
    [one] = generate(adapter, random_prompts([8], visual=4), policy=Looking(), max_tokens=4)
    assert one.places == (None, (0.5, 0.0, 0.75, 1.0), None, (0.0, 0.0, 0.25, 1.0))

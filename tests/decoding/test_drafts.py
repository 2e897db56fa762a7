"""Steps that take in a draft write what single tokens would have written, in fewer steps."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.decoding.engine import Batch, generate
from fastocr_cli.decoding.pages import Page
from fastocr_cli.fixation import make_policy
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.fixation.policy import AttentionPolicy
from fastocr_cli.models.base import TokenBias
from fastocr_cli.results import PageStatus
from tests.decoding.toys import ToyAdapter, random_prompts, toy_llama

DENSE = DensePolicy()
STEPS = 40


class Foreteller:
    """Foretells a given text, starting over from wherever the page has got to."""

    empty_status = PageStatus.BLANK

    def __init__(self, text: Sequence[int]):
        self._text, self._written = text, 0

    def add(self, token: int) -> None:
        self._written += 1

    def draft(self, most: int) -> list[int]:
        return list(self._text[self._written : self._written + most])

    def bias(self) -> npt.NDArray[np.float32]:
        return np.zeros(97, np.float32)


class ForetellingAdapter(ToyAdapter):
    """Pages of known texts, in the order in which their prompts are prefilled."""

    def __init__(self, model: Any, texts: Sequence[Sequence[int]], **settings: Any):
        super().__init__(model, **settings)
        self._texts = iter(texts)

    def new_bias(self, prefilled: Any, *, aided: bool) -> TokenBias:
        return Foreteller(next(self._texts))


def written(adapter: ToyAdapter, lengths: Sequence[int], policy: AttentionPolicy = DENSE) -> list:
    prompts = random_prompts(lengths, visual=2)
    return generate(adapter, prompts, policy=policy, max_tokens=STEPS)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.booleans())
def test_drafts_of_any_quality_change_nothing(seed: int, wrong: float, fused: bool) -> None:
    """A ragged batch with stop tokens, each page with its own drafts, against plain steps."""
    rng = random.Random(seed)
    lengths = [rng.randint(2, 30) for _ in range(3)]
    model = toy_llama(gain=1.6)
    ends = range(0, 97, 19)
    plain = written(ToyAdapter(model, ends), lengths)
    texts = [
        [rng.randrange(97) if rng.random() < wrong else token for token in one.token_ids]
        for one in plain
    ]
    adapter = ForetellingAdapter(model, texts, stop_token_ids=ends, has_plain_head=fused)
    drafted = written(adapter, lengths)
    assert [one.token_ids for one in drafted] == [one.token_ids for one in plain]
    assert [one.status for one in drafted] == [one.status for one in plain]
    for mine, theirs in zip(drafted, plain, strict=True):
        assert mine.logprobs == pytest.approx(theirs.logprobs, abs=1e-4)
        assert len(mine.places) == len(mine.token_ids)


def test_right_drafts_save_steps_and_reads() -> None:
    model = toy_llama(gain=1.2)
    [plain] = written(ToyAdapter(model), [7])
    [drafted] = written(ForetellingAdapter(model, [plain.token_ids]), [7])
    assert plain.stats.decode_steps == STEPS - 1
    assert drafted.stats.decode_steps == 2  # 31 foretold and one more, then the rest
    row = 3 * 2 * (2 * 16 * 4)  # 3 layers, K and V of 2 heads x 16 floats
    assert drafted.stats.kv_bytes_dense == (7 + 32 + 7 + STEPS - 1) * row


def test_pruned_drafts_in_a_batch_are_those_alone() -> None:
    """Where pages foretell different lengths, no page's padding has a say in another's fixation."""
    model = toy_llama(gain=1.2)
    policy = make_policy("fastocr", 0.2, focal_layers="1", minimum=1)
    lengths = [30, 34, 26]
    prompts = random_prompts(lengths, visual=20)
    plain = generate(ToyAdapter(model), prompts, policy=DENSE, max_tokens=STEPS)
    texts = [list(one.token_ids[:count]) for one, count in zip(plain, (40, 0, 9), strict=True)]
    together = generate(ForetellingAdapter(model, texts), prompts, policy=policy, max_tokens=STEPS)
    for text, given_prompt, one in zip(texts, prompts, together, strict=True):
        adapter = ForetellingAdapter(model, [text])
        [alone] = generate(adapter, [given_prompt], policy=policy, max_tokens=STEPS)
        assert one.token_ids == alone.token_ids
        assert 0 < one.stats.keep_all_layers == alone.stats.keep_all_layers < 1
        assert one.places == alone.places
        assert all(one.places[1:])
    assert together[0].stats.decode_steps < STEPS - 1


def test_an_unaided_page_gets_no_drafts() -> None:
    model = toy_llama(gain=1.2)
    [plain] = written(ToyAdapter(model), [7])
    adapter = ForetellingAdapter(model, [plain.token_ids])
    [one] = generate(
        adapter, random_prompts([7], visual=2), policy=DENSE, max_tokens=STEPS, aided=False
    )
    assert one.stats.decode_steps == STEPS - 1


def test_a_policy_that_looks_at_single_tokens_gets_no_drafts() -> None:
    model = toy_llama(gain=1.2)
    policy = make_policy("snapkv", 0.0)
    [plain] = written(ToyAdapter(model), [30], policy)
    [drafted] = written(ForetellingAdapter(model, [plain.token_ids]), [30], policy)
    assert drafted.token_ids == plain.token_ids
    assert drafted.stats.decode_steps == STEPS - 1


def test_what_was_foretold_wrongly_is_forgotten() -> None:
    """After wrong drafts, the cache holds of the text exactly what single steps would have left."""
    model = toy_llama(gain=1.2)
    [plain] = written(ToyAdapter(model), [7])
    caches = []
    for text in ([], [*plain.token_ids[:5], *[3] * STEPS]):
        adapter = ForetellingAdapter(model, [text])
        with torch.inference_mode():
            [given_prompt] = random_prompts([7], visual=2)
            batch = Batch(adapter, [Page(adapter, given_prompt, STEPS)], DENSE)
            while len(batch.pages[0].token_ids) < 12:
                batch.step()
        caches.append(batch._cache)
    for one, other in zip(*(cache.layers for cache in caches), strict=True):
        length = 7 + 11
        assert one.timeline.used == other.timeline.used == [length]
        for mine, theirs in zip(one.storage, other.storage, strict=True):
            torch.testing.assert_close(mine[0, :length], theirs[0, :length])

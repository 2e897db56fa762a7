"""Pruning through the engine on tiny models of every family's real architecture."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from fastocr_cli.decoding.engine import generate
from fastocr_cli.decoding.shape import DecoderFacts
from fastocr_cli.fixation import make_policy
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.fixation.fastocr import FastOCRPolicy
from fastocr_cli.fixation.state import Call, Fixation, PruningState
from fastocr_cli.models.base import ModelAdapter, PromptInputs
from tests.models.families import FAMILIES

STEPS = 12

Case = tuple[ModelAdapter, list[PromptInputs]]


@pytest.fixture(scope="module", params=FAMILIES)
def case(
    request: pytest.FixtureRequest,
    adapter: Callable[[str], ModelAdapter],
    prompts: Callable[[str], list[PromptInputs]],
) -> Case:
    return adapter(request.param), prompts(request.param)


def pruning_policy(adapter: ModelAdapter, dilation: int = 0) -> FastOCRPolicy:
    """A second layer that chooses few patches, so that the first one reuses."""
    layers = DecoderFacts.of(adapter.decoder_config).shape.policy_layers
    focal = layers[min(1, len(layers) - 1)]
    policy = make_policy("fastocr", 0.25, minimum=1, focal_layers=(focal,), dilation=dilation)
    assert isinstance(policy, FastOCRPolicy)
    return policy


def test_keep_one_gives_the_dense_tokens(case: Case) -> None:
    adapter, pages = case
    dense = generate(adapter, pages, policy=DensePolicy(), max_tokens=STEPS)
    ours = generate(adapter, pages, policy=make_policy("fastocr", 1.0), max_tokens=STEPS)
    assert [one.token_ids for one in ours] == [one.token_ids for one in dense]
    assert [one.logprobs for one in ours] == [one.logprobs for one in dense]


def masked(call: Call, row: int, attended: Tensor) -> Tensor:
    """[Hq, D], dense attention with all but `attended` (BoolTensor [length]) masked."""
    group = call.query.shape[1] // call.keys.shape[2]
    keys, values = (
        cache[row, : len(attended)].repeat_interleave(group, dim=1)
        for cache in (call.keys, call.values)
    )
    logits = torch.einsum("hd,lhd->hl", call.query[row], keys) * call.scale
    weights = logits.masked_fill(~attended, -torch.inf).softmax(dim=-1)
    return torch.einsum("hl,lhd->hd", weights, values)


def test_a_pruned_layer_is_dense_attention_with_the_rest_masked(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter, pages = case
    sparse = PruningState.sparse
    compared = []

    def check(self: PruningState, call: Call, fixation: Fixation) -> Tensor:
        out = sparse(self, call, fixation)
        for row, length in enumerate(call.lengths.tolist()):
            attended = torch.ones(length, dtype=torch.bool)
            patches = self.tokens.patches[row]
            attended[patches[patches >= 0]] = False
            chosen = fixation.ordinals[row]
            attended[patches[chosen[chosen >= 0]]] = True
            expected = masked(call, row, attended)
            torch.testing.assert_close(out[row], expected, atol=2e-5, rtol=2e-5)
            compared.append(int((~attended).sum()))
        return out

    monkeypatch.setattr(PruningState, "sparse", check)
    generate(adapter, pages, policy=pruning_policy(adapter), max_tokens=STEPS)
    assert max(compared) > 0


def test_a_page_reads_alike_alone_and_in_a_batch(case: Case) -> None:
    adapter, pages = case
    together = generate(adapter, pages, policy=pruning_policy(adapter, 1), max_tokens=STEPS)
    for page, one in zip(pages, together, strict=True):
        [alone] = generate(adapter, [page], policy=pruning_policy(adapter, 1), max_tokens=STEPS)
        assert alone.token_ids == one.token_ids
        assert alone.stats.kv_bytes_read == one.stats.kv_bytes_read
        assert alone.stats.kv_share <= 1
        assert alone.stats.keep_sparse_layers <= 1
    assert min(one.stats.kv_share for one in together) < 1
    assert min(one.stats.keep_sparse_layers for one in together) < 1
    has_boxes = any(page.layout.boxes.isfinite().any() for page in pages)
    assert has_boxes == any(place is not None for one in together for place in one.places)


def test_pruning_leaves_the_cache_as_it_was(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and values of the prompt are bit-identical before and after every attend."""
    adapter, pages = case
    attend = PruningState.attend

    def check(self: PruningState, layer: int, query: Tensor, *caches: Tensor, **rest: Tensor):  # type: ignore[no-untyped-def]
        before = [cache.clone() for cache in caches[:2]]
        out = attend(self, layer, query, *caches, **rest)
        assert all(map(torch.equal, before, caches[:2]))
        return out

    monkeypatch.setattr(PruningState, "attend", check)
    generate(adapter, pages[:1], policy=pruning_policy(adapter), max_tokens=4)


def test_layers_are_found_on_the_first_page_of_a_model_never_seen(case: Case) -> None:
    adapter, pages = case
    policy = make_policy("fastocr", 0.25, minimum=1, probe_steps=3, heads="chosen")
    assert isinstance(policy, FastOCRPolicy)
    told = []
    for page in pages[-2:]:
        [one] = generate(adapter, [page], policy=policy, max_tokens=STEPS)
        told.append(one.stats.extra["focal_layers"])
    assert policy.finder.choice is not None
    assert told == [list(policy.finder.choice.layers)] * 2
    assert len(policy.finder.choice.heads[0]) >= 1

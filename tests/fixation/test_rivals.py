"""What every method owes: text and structure always attended, sorted sets, honest arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from fastocr_cli.fixation import METHODS, make_policy
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.fixation.selection import budget
from fastocr_cli.fixation.state import Call, Fixation, PruningState
from tests.fixation.scene import Page, Scene

PAGES = [Page(5, 8), Page(9, 6, before=1, after=4, row_ends=True)]
OPTIONS = {
    "quest": {"page": 4, "dense": 1},
    "fastocr": {"focal_layers": (1, 2)},
}
PRUNING = [method for method in METHODS if method != "dense"]
KEEP = 0.25

Recorded = list[tuple[Call, Fixation, Tensor]]


def policy(method: str, keep: float = KEEP) -> object:
    return make_policy(method, keep, minimum=4, **OPTIONS.get(method, {}))


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    """Every sparse call of the states under test: its arguments, fixation and output."""
    calls: Recorded = []
    sparse, scored = PruningState.sparse, PruningState.sparse_scored

    def spy(self: PruningState, call: Call, fixation: Fixation) -> Tensor:
        calls.append((call, fixation, sparse(self, call, fixation)))
        return calls[-1][2]

    def scored_spy(self: PruningState, call: Call, fixation: Fixation) -> tuple[Tensor, Tensor]:
        out, weights = scored(self, call, fixation)
        calls.append((call, fixation, out))
        return out, weights

    monkeypatch.setattr(PruningState, "sparse", spy)
    monkeypatch.setattr(PruningState, "sparse_scored", scored_spy)
    return calls


@pytest.mark.parametrize("method", PRUNING)
def test_sparse_layers_equal_masked_dense_attention(method: str, recorded: Recorded) -> None:
    scene = Scene(PAGES, steps=5)
    scene.run(policy(method))
    assert recorded
    for call, fixation, out in recorded:
        step = int(call.lengths[0]) - int(scene.lengths(0)[0])
        for row, layout in enumerate(scene.layouts):
            chosen = fixation.ordinals[row][fixation.ordinals[row] >= 0]
            patches = layout.positions[~layout.structural]
            attended = torch.ones(int(call.lengths[row]), dtype=torch.bool)
            attended[patches] = False
            attended[patches[chosen]] = True
            expected = scene.masked(step, call.layer, row, attended)
            torch.testing.assert_close(out[row], expected, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("method", PRUNING)
def test_sets_are_sorted_within_budget_and_never_lose_text_or_structure(
    method: str, recorded: Recorded
) -> None:
    scene = Scene(PAGES, steps=8)
    scene.run(policy(method))
    for call, fixation, _ in recorded:
        step = int(call.lengths[0]) - int(scene.lengths(0)[0])
        for row, layout in enumerate(scene.layouts):
            positions = fixation.positions[row]
            count = int((positions >= 0).sum())
            kept = positions[:count].tolist()
            assert (positions[count:] == -1).all()
            assert kept == sorted(set(kept))
            tail = int(layout.positions[-1]) + 1
            text = set(range(tail)) - set(layout.positions[~layout.structural].tolist())
            assert text <= set(kept)
            patches = count - len(text)
            assert patches == int(fixation.counts[row])
            limit = budget(KEEP, layout.num_patches, 4)
            if method == "h2o":
                limit = max(limit, layout.num_patches // 2 ** max(step, 0))
            assert patches <= limit
            if method != "quest":  # whose budget is whole pages
                assert patches == limit


@pytest.mark.parametrize("method", PRUNING)
def test_keep_one_is_dense_to_the_bit(method: str, recorded: Recorded) -> None:
    scene = Scene(PAGES)
    for one, two in zip(scene.run(policy(method, 1.0)), scene.run(DensePolicy()), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize("method", [method for method in PRUNING if method != "random"])
def test_a_row_of_a_batch_is_the_batch_of_one(method: str) -> None:
    scene = Scene(PAGES, steps=6)
    together = scene.run(policy(method))
    for row in range(len(PAGES)):
        alone = scene.only(row).run(policy(method))
        for step in range(scene.steps):
            torch.testing.assert_close(
                together[step][:, row], alone[step][:, 0], atol=2e-5, rtol=2e-5
            )


@pytest.mark.parametrize("method", METHODS)
def test_rows_leave_and_all_pages_are_accounted_for(method: str) -> None:
    scene = Scene([*PAGES, Page(3, 3)], steps=4)
    made = make_policy("dense") if method == "dense" else policy(method)
    state = scene.start(made)
    whole = scene.run(made)
    scene.step(state, 0)
    rows = torch.tensor([1, 2])
    state.select_rows(rows)
    output = scene.step(state, 1, rows)
    if method != "random":
        torch.testing.assert_close(output, whole[1][:, rows], atol=2e-5, rtol=2e-5)
    state.select_rows(rows[:0])
    stats = state.finish()
    assert len(stats) == 3
    for own in stats:
        assert 0 < own.keep_sparse_layers <= 1
        assert own.keep_sparse_layers <= own.keep_all_layers <= 1


def test_the_oracle_keeps_what_scored_highest_in_every_layer(recorded: Recorded) -> None:
    scene = Scene(PAGES, steps=2)
    scene.run(policy("oracle"))
    assert len(recorded) == scene.steps * scene.shape.num_layers
    for call, fixation, _ in recorded:
        step = int(call.lengths[0]) - int(scene.lengths(0)[0])
        for row, layout in enumerate(scene.layouts):
            patches = layout.positions[~layout.structural]
            scores = scene.weights(step, call.layer, row).mean(dim=0)[patches]
            chosen = fixation.ordinals[row][fixation.ordinals[row] >= 0]
            others = torch.ones(len(patches), dtype=torch.bool)
            others[chosen] = False
            assert scores[chosen].min() >= scores[others].max()


def test_quest_bounds_are_never_below_a_product_of_their_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fastocr_cli.fixation.quest import KeyBounds, QuestState

    scene = Scene(PAGES, steps=1)
    seen = []
    best = QuestState._best_pages

    def spy(self: QuestState, query: Tensor, bounds: KeyBounds, scale: float) -> Tensor:
        seen.append(bounds)
        return best(self, query, bounds, scale)

    monkeypatch.setattr(QuestState, "_best_pages", spy)
    scene.run(policy("quest"))
    for layer, bounds in zip(range(1, 4), seen, strict=True):
        for row, layout in enumerate(scene.layouts):
            patches = layout.positions[~layout.structural]
            query = scene.queries[0, layer, row].view(2, 2, 16)
            for ordinal, position in enumerate(patches.tolist()):
                low, high = bounds.low[row, ordinal // 4], bounds.high[row, ordinal // 4]
                bound = torch.maximum(query * low[:, None], query * high[:, None]).sum(-1)
                product = (query * scene.keys[layer, row, position][:, None]).sum(-1)
                assert (bound >= product - 1e-4).all()


def test_evicting_methods_never_look_at_what_they_evicted(recorded: Recorded) -> None:
    for method in ("snapkv", "h2o"):
        recorded.clear()
        Scene(PAGES, steps=8).run(policy(method))
        held: dict[tuple[int, int], set[int]] = {}
        for call, fixation, _ in recorded:
            for row in range(len(PAGES)):
                chosen = set(fixation.ordinals[row].tolist()) - {-1}
                assert chosen <= held.get((call.layer, row), chosen)
                held[call.layer, row] = chosen

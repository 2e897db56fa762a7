"""Focal layers: the greedy choice on hand-made masses, the measurement, and who remembers it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from fastocr_cli.fixation import make_policy
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.fixation.focal import (
    Masses,
    TaughtGaze,
    choose_heads,
    choose_layers,
    focal_count,
)
from fastocr_cli.fixation.probe import Probe
from fastocr_cli.fixation.settings import FixationSettings
from tests.fixation.scene import Page, Scene


def masses(within: list[list[float]], across: list[list[float]] | None = None) -> Masses:
    table = torch.tensor(within)
    last = torch.zeros_like(table) if across is None else torch.tensor(across)
    return Masses(table, last, torch.ones(len(table)), torch.zeros(len(table), 1, len(table)))


def test_a_later_layer_is_covered_by_the_nearest_focal_layer_before_it() -> None:
    table = masses([[1, 0.9, 0.2, 0.1], [0, 1, 0.3, 0.2], [0, 0, 1, 0.8], [0, 0, 0, 1]])
    assert table.recovered([0], reuse=False) == pytest.approx((1 + 0.9 + 0.2 + 0.1) / 4)
    assert table.recovered([2, 0], reuse=False) == pytest.approx((1 + 0.9 + 1 + 0.8) / 4)
    assert choose_layers(table, 1, reuse=False) == [0]
    assert choose_layers(table, 2, reuse=False) == [0, 2]


def test_early_layers_count_what_the_last_fixation_of_the_step_before_gives_them() -> None:
    within = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.9], [0.0, 0.0, 1.0]]
    across = [[0.2, 0.0, 0.0], [0.7, 0.0, 0.0], [0.9, 0.9, 0.0]]
    table = masses(within, across)
    assert table.recovered([1], reuse=True) == pytest.approx((0.7 + 1 + 0.9) / 3)
    assert table.recovered([2], reuse=True) == pytest.approx((0.9 + 0.9 + 1) / 3)
    assert table.recovered([1, 2], reuse=True) == pytest.approx((0.9 + 1 + 1) / 3)
    assert choose_layers(table, 1, reuse=True) == [2]
    assert table.recovered([2], reuse=False) == pytest.approx(1 / 3)  # dense layers save nothing
    assert choose_layers(table, 1, reuse=False) == [1]


def test_a_focal_layer_that_looks_everywhere_gains_nothing_by_being_dense() -> None:
    within = torch.tensor([[0.3, 0.5, 0.0], [0.0, 0.9, 0.2], [0.0, 0.0, 0.2]])
    table = Masses(within, torch.zeros(3, 3), torch.ones(3), torch.zeros(3, 1, 3))
    assert table.recovered([0], reuse=False) == pytest.approx((0.3 + 0.5) / 3)
    assert choose_layers(table, 1, reuse=False) == [1]


def test_a_layer_that_hardly_looks_at_the_page_weighs_little() -> None:
    within = torch.tensor([[1.0, 0.0, 0.04], [0.0, 1.0, 0.0], [0.0, 0.0, 0.05]])
    across = torch.zeros(3, 3)
    across[1, 0] = 0.9
    total = torch.tensor([1.0, 1.0, 0.05])
    table = Masses(within, across, total, torch.zeros(3, 1, 3))
    assert choose_layers(table, 1, reuse=True) == [1]


def test_ties_go_to_the_earliest_layer() -> None:
    assert choose_layers(masses([[1.0, 1.0], [1.0, 1.0]]), 1, reuse=False) == [0]


def test_heads_are_those_that_recover_most_of_what_their_layer_covers() -> None:
    by_head = torch.zeros(4, 8, 4)
    by_head[1, 5, 1:3] = torch.tensor([0.5, 0.9])
    by_head[1, 6, 1:3] = torch.tensor([0.9, 0.4])
    by_head[1, 7, 3] = 9.0  # layer 3 is covered by itself
    by_head[3, :, 3] = torch.arange(8) / 8
    table = Masses(torch.eye(4), torch.eye(4), torch.ones(4), by_head)
    assert choose_heads(table, [1, 3]) == [(5, 6), (6, 7)]


def test_a_share_of_the_layers_is_one_at_least() -> None:
    assert [focal_count(0.1, layers) for layers in (2, 6, 16, 28)] == [1, 1, 2, 3]


def test_the_probe_measures_masses_by_the_definition() -> None:
    layers, heads, patches, size = 3, 2, 20, 4
    draw = torch.Generator().manual_seed(0)
    steps = torch.rand(4, layers, heads, patches, generator=draw) ** 4
    probe = Probe("mean")
    probe.start_page(size)
    for step in steps:
        for weights in step:
            probe.observe(weights)
        probe.end_step()
    measured = probe.masses()

    def on_top(scores: Tensor, weights: Tensor) -> float:
        return float(weights.mean(dim=0)[scores.topk(size).indices].sum())

    for i in range(layers):
        for j in range(layers):
            within = [on_top(step[i].mean(dim=0), step[j]) for step in steps]
            assert measured.within[i, j] == pytest.approx(sum(within) / 4, abs=1e-5)
            before = [steps[0], *steps[:-1]]
            across = [
                on_top(old[i].mean(dim=0), new[j]) for old, new in zip(before, steps, strict=True)
            ]
            assert measured.across[i, j] == pytest.approx(sum(across) / 4, abs=1e-5)
            for head in range(heads):
                alone = [on_top(step[i, head], step[j]) for step in steps]
                assert measured.by_head[i, head, j] == pytest.approx(sum(alone) / 4, abs=1e-5)
    assert torch.allclose(measured.total, steps.mean(dim=(0, 2)).sum(dim=-1), atol=1e-5)


PAGES = [Page(6, 6), Page(7, 9)]


def test_the_first_page_finds_the_layers_in_dense_steps() -> None:
    scene = Scene(PAGES, steps=5)
    policy = make_policy("fastocr", 0.2, probe_steps=3)
    pruned, dense = scene.run(policy), scene.run(DensePolicy())
    for step in range(5):
        is_dense = torch.allclose(pruned[step], dense[step], atol=2e-5)
        assert is_dense == (step < 3)
    assert policy.finder.choice is not None
    assert policy.finder.choice.source == "first page"
    again = scene.run(policy)
    assert not torch.allclose(again[0], dense[0], atol=1e-3)


def test_the_choice_depends_on_the_first_page_alone() -> None:
    scene = Scene(PAGES, steps=4)
    chosen = []
    for batch in (scene, scene.only(0)):
        policy = make_policy("fastocr", 0.2, probe_steps=4, focal_fraction=0.5)
        state = batch.start(policy)
        for step in range(4):
            batch.step(state, step)
        state.finish()
        chosen.append(policy.finder.choice)
    assert chosen[0] == chosen[1]


def test_a_short_page_leaves_its_steps_to_the_next() -> None:
    scene = Scene(PAGES, steps=4)
    policy = make_policy("fastocr", 0.2, probe_steps=6)
    state = scene.start(policy)
    for step in range(2):
        scene.step(state, step)
    state.select_rows(torch.tensor([1]))  # the measured page ends, its neighbour takes over
    for step in range(2, 4):
        scene.step(state, step, torch.tensor([1]))
    state.finish()
    assert policy.finder.choice is None
    assert policy.finder.steps == 4
    scene.only(1).run(policy)
    assert policy.finder.choice is not None


def test_chosen_heads_alone_decide_the_fixation() -> None:
    """Only head 3 of layer 1 looks where the other layers look."""
    scene = Scene([Page(8, 8)], layers=3, steps=4, sharpness=0.1)
    scene.queries[:] *= 0.1
    for step in range(4):
        for layer, heads in ((0, range(4)), (1, [3]), (2, range(4))):
            for head in heads:
                target = scene.keys[layer, 0, 3 + 10 + step, head // 2]
                scene.queries[step, layer, 0, head] = 400 * target / target.norm()
    policy = make_policy(
        "fastocr", 0.05, minimum=2, probe_steps=2, heads="chosen", focal_output="sparse"
    )
    state = scene.start(policy)
    for step in range(4):
        scene.step(state, step)
    stats = state.finish()[0]
    choice = policy.finder.choice
    assert choice is not None
    if choice.layers == (1,):
        assert choice.heads == ((3,),)
    assert stats.gaze is not None
    assert stats.gaze.tolist() == [-1, -1, 12, 13]


def test_a_taught_gaze_reads_the_keys_of_its_heads_alone() -> None:
    scene = Scene([Page(8, 8)], steps=2)
    policy = make_policy("fastocr", 0.1, minimum=2, calibration=TaughtGaze(1, (2, 3)))
    expected = scene.run(policy)
    lengths = scene.lengths(0)
    state = scene.start(policy)
    state.begin_step(int(lengths[0]))
    poisoned = scene.keys[1].clone()
    patches = scene.layouts[0].positions
    scores = scene.weights(0, 1, 0)[2:].mean(dim=0)[patches]
    left = patches[scores.topk(len(patches) - 7, largest=False).indices]
    poisoned[0, left, 0] = torch.nan
    out = state.attend(1, scene.queries[0, 1], poisoned, scene.values[1], lengths, scene.scale)
    torch.testing.assert_close(out, expected[0][1], atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize(
    ("options", "choosing"),
    [({}, [0, 3]), ({"focal_stride": 2}, [0, 2]), ({"reuse": False}, [0, 1, 2, 3])],
    ids=str,
)
def test_a_taught_gaze_is_asked_in_every_so_many_steps(
    options: dict[str, Any], choosing: list[int]
) -> None:
    scene = Scene([Page(8, 8)], steps=4)
    taught = TaughtGaze(1, (2,), stride=3)
    plain = scene.start(make_policy("fastocr", 0.1, calibration=taught, **options))
    traced = scene.start(make_policy("fastocr", 0.1, calibration=taught, trace=2, **options))
    for step in range(4):
        torch.testing.assert_close(scene.step(traced, step), scene.step(plain, step))
    gaze = plain.finish()[0].gaze
    assert gaze is not None
    assert [step for step, place in enumerate(gaze.tolist()) if place >= 0] == choosing
    stats = traced.finish()[0]
    patches = scene.layouts[0].positions
    sharpest = [int(scene.weights(step, 1, 0)[2, patches].argmax()) for step in range(4)]
    assert stats.gaze is not None
    assert stats.gaze.tolist() == sharpest, "a trace tells every step's look"
    masses = stats.extra["trace"]["masses"]
    held = scene.weights(1, 1, 0)[2, patches]
    if 1 not in choosing:  # the fixation of step 0 still holds
        chosen = scene.weights(0, 1, 0)[2, patches].topk(16).indices
        assert masses[1][-1] == pytest.approx(float(held[chosen].sum() / held.sum()), abs=1e-3)


def test_settings_reach_the_choice() -> None:
    table = masses([[1, 0.9, 0.2, 0.1], [0, 1, 0.3, 0.2], [0, 0, 1, 0.8], [0, 0, 0, 1]])
    from fastocr_cli.fixation.focal import choose

    found = choose(table, [2, 5, 7, 8], FixationSettings(focal_fraction=0.5, reuse=False), "given")
    assert found.layers == (2, 7)
    assert found.heads == ()
    assert found.recovered == pytest.approx((1 + 0.9 + 1 + 0.8) / 4)

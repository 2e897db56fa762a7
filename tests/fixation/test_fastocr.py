"""The method against its definition, written out over masks, on random queries and caches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fastocr_cli.errors import UsageError
from fastocr_cli.fixation import make_policy
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.fixation.selection import budget
from tests.fixation.scene import Page, Scene

PAGES = [Page(5, 8), Page(9, 6, before=1, after=4, row_ends=True), Page(2, 3, before=0)]


def fastocr(keep: float, **options: Any) -> Any:
    options = {"focal_layers": (1, 2), "minimum": 4, **options}
    return make_policy("fastocr", keep, **options)


def expected_sets(
    scene: Scene,
    row: int,
    keep: float,
    focal: tuple[int, ...],
    *,
    reuse: bool = True,
    stride: int = 1,
    output: str = "sparse",
) -> dict[tuple[int, int], Tensor]:
    """What [step, layer] attends to by the definition: BoolTensor [length]."""
    layout = scene.layouts[row]
    patches = layout.positions[~layout.structural]
    size = budget(keep, len(patches), 4)
    sets = {}
    fixation = None
    for step in range(scene.steps):
        length = int(scene.lengths(step)[row])
        fixation = fixation if reuse else None
        for layer in range(scene.shape.num_layers):
            attended = torch.ones(length, dtype=torch.bool)
            chooses = layer in focal and step % stride == 0
            if chooses:
                scores = scene.weights(step, layer, row).mean(dim=0)[patches]
                fixation = patches[scores.topk(size).indices]
            if fixation is not None and not (chooses and output == "dense"):
                attended[patches] = False
                attended[fixation] = True
            sets[step, layer] = attended
    return sets


@settings(deadline=None, max_examples=40)
@given(
    pages=st.lists(
        st.builds(
            Page,
            rows=st.integers(1, 9),
            columns=st.integers(1, 9),
            before=st.integers(0, 3),
            after=st.integers(1, 4),
            row_ends=st.booleans(),
        ),
        min_size=1,
        max_size=3,
    ),
    groups=st.sampled_from([(1, 1), (2, 1), (4, 2), (8, 1), (6, 3)]),
    dim=st.sampled_from([8, 20]),
    keep=st.sampled_from([0.0, 0.05, 0.3, 0.9]),
    focal=st.sampled_from([(0,), (1,), (1, 2), (3,), (0, 3)]),
    reuse=st.booleans(),
    output=st.sampled_from(["sparse", "dense"]),
    seed=st.integers(0, 2**16),
)
def test_a_pruned_step_is_dense_attention_with_the_rest_masked(
    pages: list[Page],
    groups: tuple[int, int],
    dim: int,
    keep: float,
    focal: tuple[int, ...],
    reuse: bool,
    output: str,
    seed: int,
) -> None:
    scene = Scene(pages, heads=groups[0], kv_heads=groups[1], dim=dim, seed=seed)
    outputs = scene.run(fastocr(keep, focal_layers=focal, reuse=reuse, focal_output=output))
    for row in range(len(pages)):
        sets = expected_sets(scene, row, keep, focal, reuse=reuse, output=output)
        for (step, layer), attended in sets.items():
            expected = scene.masked(step, layer, row, attended)
            torch.testing.assert_close(outputs[step][layer, row], expected, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("keep", [0.0, 0.15, 0.95])
def test_the_rest_is_one_more_token_of_mean_key_and_value(keep: float) -> None:
    scene = Scene(PAGES, steps=3)
    outputs = scene.run(fastocr(keep, rest="mean"))
    for row, layout in enumerate(scene.layouts):
        patches = layout.positions[~layout.structural]
        for (step, layer), attended in expected_sets(scene, row, keep, (1, 2)).items():
            keys, values = (
                cache[layer, row, : len(attended)].repeat_interleave(2, dim=1)
                for cache in (scene.keys, scene.values)
            )
            near = torch.cat([keys[attended], keys[patches].mean(dim=0, keepdim=True)])
            seen = torch.cat([values[attended], values[patches].mean(dim=0, keepdim=True)])
            count = torch.ones(len(near))
            count[-1] = (~attended).sum()
            query = scene.queries[step, layer, row]
            logits = torch.einsum("hd,lhd->hl", query, near) * scene.scale + count.log()
            expected = torch.einsum("hl,lhd->hd", logits.softmax(dim=-1), seen)
            torch.testing.assert_close(outputs[step][layer, row], expected, atol=2e-5, rtol=2e-5)


def test_the_mean_answers_exactly_for_patches_that_are_alike() -> None:
    """A blank page: all patches have one key and one value, so nothing is lost by pruning."""
    scene = Scene([Page(9, 9), Page(5, 7)], steps=3)
    for row, layout in enumerate(scene.layouts):
        places = layout.positions
        scene.keys[:, row, places] = scene.keys[:, row, places[:1]]
        scene.values[:, row, places] = scene.values[:, row, places[:1]]
    pruned, dense = scene.run(fastocr(0.1, rest="mean")), scene.run(DensePolicy())
    for step in range(3):
        torch.testing.assert_close(pruned[step], dense[step], atol=2e-5, rtol=2e-5)


def test_between_strides_focal_layers_reuse_too() -> None:
    scene = Scene(PAGES, steps=5)
    outputs = scene.run(fastocr(0.15, focal_stride=3))
    for row in range(len(PAGES)):
        for (step, layer), attended in expected_sets(scene, row, 0.15, (1, 2), stride=3).items():
            expected = scene.masked(step, layer, row, attended)
            torch.testing.assert_close(outputs[step][layer, row], expected, atol=2e-5, rtol=2e-5)


def test_a_fixation_is_widened_once_however_long_it_is_reused() -> None:
    scene = Scene([Page(9, 9)], layers=2, steps=4)
    policy = fastocr(0.05, focal_layers=(1,), focal_stride=4, dilation=1, focal_output="dense")
    skipped = []
    for steps in (2, 4):
        state = scene.start(policy)
        for step in range(steps):
            scene.step(state, step)
        skipped.append(state.finish()[0].kv_rows_skipped)
    assert skipped[1] == 3 * skipped[0]  # one pruned step against three


def test_keep_one_is_dense_to_the_bit() -> None:
    scene = Scene(PAGES)
    for pruned, dense in zip(scene.run(fastocr(1.0)), scene.run(DensePolicy()), strict=True):
        assert torch.equal(pruned, dense)


def test_the_cache_is_the_same_to_the_bit_whatever_was_attended() -> None:
    scene = Scene(PAGES)
    keys, values = scene.keys.clone(), scene.values.clone()
    scene.run(fastocr(0.1, dilation=1, min_mass=0.9))
    assert torch.equal(scene.keys.nan_to_num(), keys.nan_to_num())
    assert torch.equal(scene.values.nan_to_num(), values.nan_to_num())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dilation": 1},
        {"min_mass": 0.8},
        {"focal_output": "dense"},
        {"heads": "max"},
        {"refresh": 2},
        {"focal_stride": 2, "dilation": 1},
        {"rest": "mean"},
    ],
    ids=str,
)
def test_a_row_of_a_batch_is_the_batch_of_one(options: dict[str, Any]) -> None:
    scene = Scene(PAGES, steps=4)
    together = scene.run(fastocr(0.15, **options))
    for row in range(len(PAGES)):
        alone = scene.only(row).run(fastocr(0.15, **options))
        for step in range(scene.steps):
            torch.testing.assert_close(
                together[step][:, row], alone[step][:, 0], atol=2e-5, rtol=2e-5
            )


@pytest.mark.parametrize("rest", ["drop", "mean"])
def test_rows_that_leave_change_nothing_for_those_that_stay(rest: str) -> None:
    scene = Scene(PAGES, steps=4)
    whole = scene.run(fastocr(0.15, dilation=1, rest=rest))
    state = scene.start(fastocr(0.15, dilation=1, rest=rest))
    scene.step(state, 0)
    state.select_rows(torch.tensor([1, 2]))
    rest = scene.step(state, 1, torch.tensor([1, 2]))
    torch.testing.assert_close(rest, whole[1][:, [1, 2]])
    state.select_rows(torch.tensor([1]))
    for step in (2, 3):
        torch.testing.assert_close(scene.step(state, step, torch.tensor([2])), whole[step][:, 2:])
    gazes = [stats.gaze for stats in state.finish()]
    assert [len(gaze) for gaze in gazes if gaze is not None] == [1, 2, 4]


def test_unchosen_patches_are_never_read() -> None:
    """Values of all patches outside the first step's fixation are NaN: reuse must not see them."""
    scene = Scene([Page(6, 6)], layers=2, steps=2)
    state = scene.start(fastocr(0.15, focal_layers=(1,)))
    scene.step(state, 0)
    fixation = expected_sets(scene, 0, 0.15, (1,))[1, 0]
    poisoned = scene.values[0, 0]
    poisoned[: len(fixation)][~fixation] = torch.nan
    lengths = scene.lengths(1)
    state.begin_step(int(lengths[0]))
    output = state.attend(
        0, scene.queries[1, 0], scene.keys[0], scene.values[0], lengths, scene.scale
    )
    assert output.isfinite().all()


def test_a_refreshed_step_is_dense() -> None:
    scene = Scene(PAGES, steps=4)
    pruned, dense = scene.run(fastocr(0.1, refresh=2)), scene.run(DensePolicy())
    for step in range(4):
        is_dense = torch.allclose(pruned[step], dense[step], atol=2e-5)
        assert is_dense == (step % 2 == 0)


def test_dense_layers_attend_to_everything() -> None:
    scene = Scene(PAGES, steps=3)
    pruned = scene.run(fastocr(0.1, dense_layers=(0, 3)))
    dense = scene.run(DensePolicy())
    for step in range(3):
        torch.testing.assert_close(pruned[step][[0, 3]], dense[step][[0, 3]])


def test_a_fixation_that_holds_too_little_falls_back_to_everything() -> None:
    """Keys of no size spread attention evenly over page 0; page 1 looks at one patch only."""
    scene = Scene([Page(6, 6), Page(6, 6)], steps=1)
    scene.keys[:, 0] = torch.where(scene.keys[:, 0].isnan(), torch.nan, 0.0)
    scene.keys[:, 1, 7] = 50 * scene.queries[0, :, 1].view(4, 2, 2, 16).sum(dim=2)
    output = scene.run(fastocr(0.2, min_mass=0.9))[0][3]
    dense = scene.run(DensePolicy())[0][3]
    assert torch.allclose(output[0], dense[0], atol=2e-5)
    bare = scene.run(fastocr(0.2))[0][3]
    assert not torch.allclose(bare[0], dense[0], atol=1e-3)
    assert torch.equal(output[1], bare[1])


def test_dilation_widens_the_reused_fixation_only() -> None:
    scene = Scene([Page(9, 9)], steps=2, layers=3)
    shares = {}
    for radius in (0, 1):
        state = scene.start(fastocr(0.05, focal_layers=(1,), dilation=radius))
        scene.step(state, 0)
        scene.step(state, 1)
        shares[radius] = state.finish()[0].keep_sparse_layers
    # Step 0 prunes layer 2, step 1 layers 0 and 2; layer 0 is the one that reuses.
    size = budget(0.05, 81, 4)
    assert shares[0] == pytest.approx(size / 81)
    widened = shares[1] * 3 * 81 - 2 * size
    assert size < widened <= 9 * size


def test_statistics_count_what_was_read() -> None:
    scene = Scene([Page(10, 10, row_ends=True)], layers=4, steps=3)
    state = scene.start(fastocr(0.1, focal_layers=(1,), trace=2, focal_output="dense"))
    for step in range(3):
        scene.step(state, step)
    stats = state.finish()[0]
    visual, kept = 110, 10 + 10
    sparse, all_layers = 2 + 3 + 3, 4 * 3  # in the first step layer 0 has nothing to reuse
    assert stats.keep_sparse_layers == pytest.approx(kept / visual)
    assert stats.keep_all_layers == pytest.approx(
        1 - sparse * (visual - kept) / all_layers / visual
    )
    assert stats.kv_rows_skipped == sparse * (100 - 10)
    assert stats.extra["focal_layers"] == [1]
    gaze = stats.gaze
    assert gaze is not None
    layout = scene.layouts[0]
    for step in range(3):
        scores = scene.weights(step, 1, 0).mean(dim=0)[layout.positions]
        scores[layout.structural] = 0
        best = scores.topk(2).indices
        assert gaze[step] == best[0]
        assert stats.extra["trace"]["tokens"][step] == best.tolist()
        shares = scores / scores.sum()
        masses = stats.extra["trace"]["masses"][step]
        assert masses[:2] == pytest.approx(shares[best].tolist(), abs=1e-4)
        assert masses[2] == pytest.approx(shares.topk(10).values.sum().item(), abs=1e-4)


def test_scoring_without_attending_is_counted_as_keys_read() -> None:
    scene = Scene([Page(10, 10)], layers=2, steps=1)
    state = scene.start(fastocr(0.1, focal_layers=(0,)))
    scene.step(state, 0)
    assert state.finish()[0].kv_rows_skipped == 2 * 90 - 50


def test_keep_one_with_a_trace_still_says_where_it_looked() -> None:
    scene = Scene(PAGES)
    state = scene.start(fastocr(1.0, trace=1))
    dense = scene.run(DensePolicy())
    for step in range(scene.steps):
        torch.testing.assert_close(scene.step(state, step), dense[step], atol=2e-5, rtol=2e-5)
    for stats in state.finish():
        assert stats.keep_all_layers == 1
        assert stats.gaze is not None
        assert (stats.gaze >= 0).all()


def test_a_page_without_patches_beside_one_with() -> None:
    blank = Page(0, 4)
    scene = Scene([blank, Page(6, 6)])
    outputs = scene.run(fastocr(0.2))
    dense = scene.run(DensePolicy())
    for step in range(scene.steps):
        torch.testing.assert_close(outputs[step][:, 0], dense[step][:, 0], atol=2e-5, rtol=2e-5)
    alone = Scene([blank])
    assert torch.equal(alone.run(fastocr(0.2))[0], alone.run(DensePolicy())[0])


def test_focal_layers_the_model_has_not_are_refused() -> None:
    scene = Scene(PAGES)
    windowed = replace(scene.shape, windowed_layers=frozenset({1}))
    with pytest.raises(UsageError, match=r"no layer 1 .* 0, 2-3"):
        fastocr(0.1).start(scene.layouts, windowed, torch.device("cpu"))
    with pytest.raises(UsageError, match=r"no layer 9 .* 0-3"):
        scene.start(fastocr(0.1, focal_layers=(1, 9)))

"""Focal decode attention and gaze scores, CPU path and Triton kernel, against the plain formula."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_kernels import (
    VisualSet,
    cpu_products,
    focal_decode,
    gaze_scores,
    use_implementation,
)
from fastocr_kernels.launch import INTERPRETER_BLOCK as BLOCK
from tests.kernels.cases import (
    COMPILED,
    Batch,
    Heads,
    assert_as_close,
    random_batch,
    random_visual,
)
from tests.kernels.test_sparse import FAST, HEADS


def attend(implementation: str, batch: Batch, visual: VisualSet, **options):
    with use_implementation(implementation):
        return focal_decode(
            batch.query, batch.keys, batch.values, visual, batch.lengths, batch.scale, **options
        )


def gaze(implementation: str, batch: Batch, visual: VisualSet, **options):
    with use_implementation(implementation):
        return gaze_scores(batch.query, batch.keys, visual, batch.lengths, batch.scale, **options)


def check(implementation: str, batch: Batch, visual: VisualSet, **options) -> torch.Tensor:
    plain_out, plain_scores = attend("reference", batch, visual, **options)
    exact_out, exact_scores = attend("reference", batch.double(), visual, **options)
    out, scores = attend(implementation, batch, visual, **options)
    assert scores.dtype == torch.float32
    assert_as_close(out, plain_out, exact_out)
    assert_as_close(scores, plain_scores, exact_scores)
    assert_as_close(gaze(implementation, batch, visual, **options), plain_scores, exact_scores)
    return scores


@pytest.mark.parametrize(("implementation", "device"), FAST)
@pytest.mark.parametrize("length", [1, BLOCK - 1, BLOCK, BLOCK + 1, 63, 1000])
def test_every_length(implementation, device, length):
    batch = random_batch([length], Heads(4, 2, 64), device=device)
    check(implementation, batch, random_visual([max(0, length * 3 // 4 - 2)], device=device))


@pytest.mark.parametrize(("implementation", "device"), FAST)
@pytest.mark.parametrize("heads", HEADS, ids=str)
def test_every_head_layout_on_a_ragged_batch(implementation, device, heads):
    batch = random_batch([90, 1, BLOCK + 1], heads, device=device)
    check(implementation, batch, random_visual([60, 0, 7], device=device))


@pytest.mark.parametrize(("implementation", "device"), FAST)
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"reduction": "max"}, id="max"),
        pytest.param({"reduction": "none"}, id="by-head"),
        pytest.param({"heads": [2]}, id="one-head"),
        pytest.param({"heads": [0, 1]}, id="one-group"),
        pytest.param({"heads": [3, 0, 1], "reduction": "max"}, id="out-of-order-max"),
        pytest.param({"heads": [3, 0, 1], "reduction": "none"}, id="out-of-order-by-head"),
    ],
)
@pytest.mark.parametrize("gaps", [False, True], ids=["one-run", "gaps"])
def test_every_reduction(implementation, device, options, gaps):
    batch = random_batch([90, 40], Heads(4, 2, 64), device=device)
    visual = random_visual([35, 9], gaps=gaps, device=device)
    check(implementation, batch, visual, **options)


@pytest.mark.parametrize(("implementation", "device"), FAST)
def test_no_visual_token_at_all(implementation, device):
    batch = random_batch([40], Heads(4, 2, 64), device=device)
    visual = VisualSet(torch.empty(1, 0, dtype=torch.int64, device=device))
    assert check(implementation, batch, visual).shape == (1, 0)


@pytest.mark.parametrize(("implementation", "device"), FAST)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision(implementation, device, dtype):
    if implementation == "triton" and not COMPILED and dtype == torch.bfloat16:
        pytest.skip("Triton's interpreter multiplies bfloat16 as integers")
    batch = random_batch([100, 40], Heads(4, 1, 64), dtype, device=device)
    check(implementation, batch, random_visual([70, 30], device=device))


@pytest.mark.parametrize(("implementation", "device"), FAST)
@pytest.mark.parametrize("heads", [[4, 5], [7, 4, 5, 6]], ids=str)
def test_gaze_reads_only_the_keys_of_its_heads(implementation, device, heads):
    batch = random_batch([90, 40], Heads(12, 3, 64), device=device)
    visual = random_visual([35, 9], device=device)
    expected = gaze("reference", batch, visual, heads=heads)
    batch.keys[:, :, [0, 2]] = float("nan")
    torch.testing.assert_close(gaze(implementation, batch, visual, heads=heads), expected)


@pytest.mark.parametrize(("implementation", "device"), FAST)
def test_all_visual_weights_sum_to_one(implementation, device):
    batch = random_batch([70], Heads(4, 2, 64), device=device)
    everything = VisualSet(torch.arange(70, device=device).unsqueeze(0))
    scores = check(implementation, batch, everything, reduction="none")
    torch.testing.assert_close(scores.sum(-1), torch.ones(1, 4, device=device))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_cpu_path_on_any_batch(data):
    lengths = data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=4))
    counts = [data.draw(st.integers(0, max(0, (length - 5) // 2))) for length in lengths]
    group, kv, width = data.draw(
        st.tuples(st.integers(1, 8), st.integers(1, 3), st.sampled_from([8, 24, 64]))
    )
    heads = data.draw(st.none() | st.lists(st.integers(0, group * kv - 1), min_size=1, unique=True))
    check(
        "cpu",
        random_batch(lengths, Heads(group * kv, kv, width), seed=data.draw(st.integers(0, 99))),
        random_visual(counts, gaps=data.draw(st.booleans())),
        heads=heads,
        reduction=data.draw(st.sampled_from(["mean", "max", "none"])),
    )


@pytest.mark.parametrize("has_avx512", [False, True], ids=["narrow", "wide"])
@pytest.mark.parametrize("heads", [Heads(4, 2, 64), Heads(8, 2, 64), Heads(4, 4, 16)], ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"heads": [1]}, {"heads": [1, 0]}, {"heads": [2, 0, 1]}], ids=str
)
def test_every_cpu_product(monkeypatch, has_avx512, heads, options):
    monkeypatch.setattr(cpu_products, "_has_avx512", lambda: has_avx512)
    check("cpu", random_batch([2100, 300], heads), random_visual([900, 120]), **options)


@pytest.mark.parametrize("implementation", ["reference", "cpu", "triton"])
def test_what_does_not_fit_is_refused_whatever_serves(implementation):
    batch = random_batch([40], Heads(4, 2, 64))
    visual = random_visual([9])
    with pytest.raises(ValueError, match="2 rows do not fit"):
        gaze(implementation, batch, random_visual([9, 9]))
    with pytest.raises(ValueError, match=r"lengths must be \[1\]"):
        attend(implementation, replace(batch, lengths=torch.tensor([40, 40])), visual)
    with pytest.raises(ValueError, match=r"got \[\]"):
        attend(implementation, batch, visual, heads=[])


def test_a_head_that_is_not_there_is_named():
    batch = random_batch([40], Heads(4, 2, 64))
    with pytest.raises(ValueError, match=r"0\.\.3, got \[4\]"):
        gaze("cpu", batch, random_visual([9]), heads=[4])
    with pytest.raises(ValueError, match="median"):
        gaze("cpu", batch, random_visual([9]), reduction="median")

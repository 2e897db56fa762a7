"""Sparse decode attention, CPU path and Triton kernel, against the plain formula."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_kernels import AttendedSet, loops, sparse_decode, use_implementation
from fastocr_kernels.launch import INTERPRETER_BLOCK as BLOCK
from tests.kernels.cases import (
    COMPILED,
    DEVICE,
    Batch,
    Heads,
    assert_as_close,
    poisoned_outside,
    random_attended,
    random_batch,
)

FAST = [pytest.param("cpu", "cpu"), pytest.param("triton", DEVICE)]
HEADS = [
    Heads(1, 1, 64),
    Heads(4, 2, 64),
    Heads(6, 2, 80),
    Heads(8, 2, 96),
    Heads(7, 1, 128),
    Heads(8, 1, 128),
]


def run(implementation: str, batch: Batch, attended: AttendedSet) -> torch.Tensor:
    with use_implementation(implementation):
        return sparse_decode(batch.query, batch.keys, batch.values, attended, batch.scale)


def check(implementation: str, batch: Batch, attended: AttendedSet) -> torch.Tensor:
    batch = poisoned_outside(batch, attended)
    actual = run(implementation, batch, attended)
    exact = run("reference", batch.double(), attended)
    assert_as_close(actual, run("reference", batch, attended), exact)
    return actual


@pytest.mark.parametrize(("implementation", "device"), FAST)
@pytest.mark.parametrize("length", [1, BLOCK - 1, BLOCK, BLOCK + 1, 63, 1000])
def test_every_length(implementation, device, length):
    batch = random_batch([length], Heads(4, 2, 64), device=device)
    text_start = length * 3 // 4
    check(implementation, batch, random_attended(batch, [text_start], [text_start // 3]))


@pytest.mark.parametrize(("implementation", "device"), FAST)
@pytest.mark.parametrize("heads", HEADS, ids=str)
def test_every_head_layout_on_a_ragged_batch(implementation, device, heads):
    batch = random_batch([90, 1, BLOCK + 1], heads, device=device)
    check(implementation, batch, random_attended(batch, [70, 0, 20], [40, 0, 3]))


@pytest.mark.parametrize(("implementation", "device"), FAST)
@pytest.mark.parametrize(
    ("text_start", "count"),
    [
        pytest.param(40, 0, id="nothing-selected"),
        pytest.param(0, 0, id="text-only"),
        pytest.param(40, 40, id="everything-selected"),
        pytest.param(BLOCK, BLOCK, id="selection-ends-with-a-block"),
        pytest.param(70, 5, id="text-is-the-newest-token"),
    ],
)
def test_every_selection(implementation, device, text_start, count):
    batch = random_batch([71], Heads(4, 2, 64), device=device)
    check(implementation, batch, random_attended(batch, [text_start], [count]))


@pytest.mark.parametrize(("implementation", "device"), FAST)
def test_no_index_column_at_all(implementation, device):
    batch = random_batch([50, 9], Heads(4, 2, 64), device=device)
    check(implementation, batch, random_attended(batch, [10, 3], [0, 0], spare=0))


@pytest.mark.parametrize(("implementation", "device"), FAST)
def test_padding_is_ignored_wherever_it_stands(implementation, device):
    batch = random_batch([50], Heads(4, 2, 64), device=device)
    indices = torch.tensor([[-1, 3, -1, 5, 8, *[-1] * 2 * BLOCK, 20]], device=device)
    check(
        implementation,
        batch,
        AttendedSet(indices.int(), torch.tensor([45], device=device), batch.lengths),
    )


@pytest.mark.parametrize(("implementation", "device"), FAST)
def test_nothing_attended_gives_zeros(implementation, device):
    batch = random_batch([20], Heads(4, 2, 64), device=device)
    attended = random_attended(batch, [20], [0])
    assert torch.equal(check(implementation, batch, attended), torch.zeros_like(batch.query))


@pytest.mark.parametrize(("implementation", "device"), FAST)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision(implementation, device, dtype):
    if implementation == "triton" and not COMPILED and dtype == torch.bfloat16:
        pytest.skip("Triton's interpreter multiplies bfloat16 as integers")
    batch = random_batch([100, 40], Heads(4, 1, 64), dtype, device=device)
    check(implementation, batch, random_attended(batch, [80, 20], [30, 4]))


@pytest.mark.parametrize(("implementation", "device"), FAST)
def test_full_selection_is_dense_attention(implementation, device):
    batch = random_batch([66], Heads(4, 2, 64), device=device)
    attended = random_attended(batch, [50], [50])
    dense = torch.nn.functional.scaled_dot_product_attention(
        batch.query[:, :, None],
        batch.keys[:, :66].transpose(1, 2),
        batch.values[:, :66].transpose(1, 2),
        scale=batch.scale,
        enable_gqa=True,
    )[:, :, 0]
    torch.testing.assert_close(run(implementation, batch, attended), dense)


@pytest.mark.parametrize(("implementation", "device"), FAST)
def test_a_row_of_a_batch_equals_the_batch_of_one(implementation, device):
    batch = random_batch([90, 33], Heads(4, 2, 64), device=device)
    attended = random_attended(batch, [70, 20], [40, 3])
    together = run(implementation, batch, attended)
    for row in range(2):
        one = slice(row, row + 1)
        alone = AttendedSet(attended.indices[one], attended.text_start[one], attended.lengths[one])
        torch.testing.assert_close(run(implementation, batch.row(row), alone), together[one])


@pytest.mark.parametrize(("implementation", "device"), FAST)
def test_a_set_serves_layers_of_different_geometry(implementation, device):
    batch = random_batch([90], Heads(4, 2, 64), device=device)
    attended = random_attended(batch, [70], [40])
    for heads in (Heads(4, 2, 64), Heads(2, 1, 80)):
        check(implementation, random_batch([90], heads, device=device), attended)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_cpu_path_on_any_batch(data):
    lengths = data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=4))
    starts = [data.draw(st.integers(0, length)) for length in lengths]
    counts = [data.draw(st.integers(0, start)) for start in starts]
    group, kv, width = data.draw(
        st.tuples(st.integers(1, 8), st.integers(1, 3), st.sampled_from([8, 24, 64]))
    )
    dtype = data.draw(st.sampled_from([torch.float32, torch.bfloat16, torch.float64]))
    seed = data.draw(st.integers(0, 99))
    batch = random_batch(lengths, Heads(group * kv, kv, width), dtype, seed=seed)
    check("cpu", batch, random_attended(batch, starts, counts, seed=seed))


@pytest.mark.parametrize(("implementation", "device"), FAST)
def test_a_choice_serves_later_steps(implementation, device):
    """The text grows, and each step reads all of it that is there."""
    batch = random_batch([60, 41], Heads(4, 2, 64), device=device)
    attended = random_attended(batch, [40, 20], [12, 3])
    for back in (2, 1, 0):
        now = AttendedSet(attended.indices, attended.text_start, batch.lengths - back)
        first, again = check(implementation, batch, now), run(implementation, batch, now)
        assert torch.equal(first, again)


@pytest.mark.parametrize("heads", [Heads(4, 2, 64), Heads(8, 2, 64), Heads(4, 4, 16)], ids=str)
@pytest.mark.parametrize("count", [30, 2100])
def test_few_and_many_positions_on_a_cpu(heads, count):
    batch = random_batch([count + 90, 50], heads)
    check("cpu", batch, random_attended(batch, [count + 60, 20], [count, 9]))


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_rows_are_shared_among_threads(monkeypatch, threads):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    lengths = [90, 1, 41, 60, 17]
    batch = random_batch(lengths, Heads(4, 2, 64))
    check("cpu", batch, random_attended(batch, [70, 0, 20, 60, 3], [40, 0, 3, 60, 0]))


def test_a_fault_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)

    def fails_on_the_last_row(rows):
        if rows.stop == 3:
            raise MemoryError

    with pytest.raises(MemoryError):
        loops.share_rows(3, fails_on_the_last_row)


def test_loops_are_compiled_where_nothing_can_be_kept(monkeypatch):
    def njit(function, *, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return function, options

    monkeypatch.setattr(loops, "njit", njit)
    function, options = loops._compiled(abs)
    assert function is abs
    assert options["nogil"]


def test_a_broken_value_is_not_hidden():
    """A NaN that is attended shows in the result, and in its own row and head alone."""
    batch = random_batch([50, 50], Heads(4, 2, 64))
    attended = random_attended(batch, [40, 40], [10, 10])
    batch.keys[1, 45, 0, 7] = float("nan")
    broken = run("cpu", batch, attended).isnan().all(dim=-1)
    assert broken.tolist() == [[False] * 4, [True, True, False, False]]


@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4])
def test_weights_far_apart(shift):
    """e^x as the loops compute it, from weights that vanish to one that is all."""
    logits = torch.tensor([0.0, -1e-3, -0.5, -1, -10, -80, -90, -1000]) + shift
    keys = torch.zeros(1, 8, 1, 8)
    keys[0, :, 0, 0] = logits
    values = torch.eye(8)[None, :, None]
    attended = AttendedSet(torch.arange(8)[None], torch.tensor([8]), torch.tensor([8]))
    query = torch.zeros(1, 1, 8)
    query[..., 0] = 1
    with use_implementation("cpu"):
        weights = sparse_decode(query, keys, values, attended, 1.0)[0, 0]
    torch.testing.assert_close(weights, logits.softmax(0))


def test_mismatched_shapes_name_both():
    batch = random_batch([9], Heads(4, 2, 64))
    attended = random_attended(batch, [5], [2])
    with pytest.raises(ValueError, match=r"\(1, 3, 64\), \(1, 16, 2, 64\)"):
        sparse_decode(batch.query[:, :3], batch.keys, batch.values, attended, 1.0)
    with pytest.raises(ValueError, match=r"float64.*float32"):
        sparse_decode(batch.query.double(), batch.keys, batch.values, attended, 1.0)
    turned = batch.keys.transpose(1, 2).contiguous().transpose(1, 2)
    with pytest.raises(ValueError, match="contiguous"):
        sparse_decode(batch.query, turned, batch.values, attended, 1.0)
    with pytest.raises(ValueError, match=r"lengths must be \[1\]"):
        AttendedSet(attended.indices, attended.text_start, torch.tensor([1, 2]))

"""Dense attention against the formula: ragged rows, windows, poison beyond each row's end."""

from __future__ import annotations

import pytest
import torch

from fastocr_cli.fixation import dense
from fastocr_cli.fixation.dense import dense_attention

LENGTHS = {"short": [1, 63, 64, 65], "long": [1023, 1024, 1025, 1500]}


def formula(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, start: int, end: int
) -> torch.Tensor:
    """One row in fp64. query: [Hq, D]; keys, values: [L_max, Hkv, D]. Returns [Hq, D]."""
    group = query.shape[0] // keys.shape[1]
    keys, values = (x[start:end].double().repeat_interleave(group, 1) for x in (keys, values))
    scores = torch.einsum("hd,thd->ht", query.double(), keys) * 0.3
    return torch.einsum("ht,thd->hd", scores.softmax(-1), values)


def case(
    heads: int, kv_heads: int, lengths: list[int]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Query and cache; slots from each row's length on hold NaN, so reading one is fatal."""
    generator = torch.Generator().manual_seed(heads)
    query = torch.randn(len(lengths), heads, 24, generator=generator)
    keys, values = torch.randn(2, len(lengths), 1600, kv_heads, 24, generator=generator)
    for row, length in enumerate(lengths):
        keys[row, length:] = values[row, length:] = torch.nan
    return query, keys, values


@pytest.mark.parametrize("window", [None, 1, 50, 1300])
@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 2), (3, 3), (12, 2), (2, 1)])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
def test_equals_the_formula(
    heads: int, kv_heads: int, lengths: list[int], window: int | None
) -> None:
    query, keys, values = case(heads, kv_heads, lengths)
    visible = torch.tensor(lengths)
    ours = dense_attention(query, keys, values, visible, 0.3, max(lengths), window=window)
    for row, end in enumerate(lengths):
        start = 0 if window is None else max(0, end - window)
        expected = formula(query[row], keys[row], values[row], start, end)
        torch.testing.assert_close(ours[row].double(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("window", [None, 50])
def test_the_padded_form_is_the_same(window: int | None) -> None:
    """The form for other devices: one masked launch; unwritten slots are finite there."""
    lengths = [3, 200, 77]
    query, keys, values = case(4, 2, lengths)
    visible = torch.tensor(lengths)
    ours = dense_attention(query, keys, values, visible, 0.3, 200, window=window)
    padded = dense._attend_padded(
        query.view(3, 2, 2, 24), keys.nan_to_num(9), values.nan_to_num(9), visible, 0.3, 200, window
    )
    torch.testing.assert_close(padded.reshape(3, 4, 24), ours, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_number_formats(dtype: torch.dtype) -> None:
    """At most twice the error that the plain formula itself makes in the format."""
    query, keys, values = (x.nan_to_num(0).to(dtype) for x in case(4, 2, [1500]))
    ours = dense_attention(query, keys, values, torch.tensor([1500]), 0.3, 1500)
    exact = formula(query[0], keys[0], values[0], 0, 1500)
    weights = torch.softmax(
        torch.einsum("hd,thd->ht", query[0], keys[0].repeat_interleave(2, 1)) * 0.3, -1
    )
    plain = torch.einsum("ht,thd->hd", weights, values[0].repeat_interleave(2, 1))
    limit = 2 * float((plain.double() - exact).abs().max()) + 1e-12
    assert ours.dtype is dtype
    assert float((ours[0].double() - exact).abs().max()) <= limit

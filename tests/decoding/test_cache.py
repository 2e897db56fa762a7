"""The cache: what is written where, and that no row ever reads another's slots."""

from __future__ import annotations

import pytest
import torch

from fastocr_cli.decoding.cache import KVCache, Timeline
from fastocr_cli.errors import UsageError

CPU = torch.device("cpu")
HEADS, WIDTH = 2, 3


def states(value: float, rows: int, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values [rows, heads, tokens, width], each token its own number."""
    numbers = value + torch.arange(rows * tokens, dtype=torch.float).view(rows, 1, tokens, 1)
    keys = numbers.expand(rows, HEADS, tokens, WIDTH)
    return keys, -keys


def filled(prompts: list[int], capacity: int = 10, **settings: object) -> KVCache:
    cache = KVCache(2, len(prompts), capacity, CPU, **settings)  # type: ignore[arg-type]
    for row, length in enumerate(prompts):
        for layer in range(2):
            with cache.prefilling(row):
                keys, values = states(100 * (row + 1), 1, length)
                got, _ = cache.update(keys, values, layer)
                assert got is keys
    cache.set_prompt_lengths(prompts)
    return cache


def row_numbers(cache: KVCache, layer: int, row: int) -> list[float]:
    """The visible slots of a row, by their number."""
    length = int(cache.visible(layer)[row])
    keys, values = cache.layers[layer].keys, cache.layers[layer].values
    assert torch.equal(keys[row, :, :length], -values[row, :, :length])
    return keys[row, 0, :length, 0].tolist()


def test_prefill_then_decode_in_place() -> None:
    cache = filled([2, 4])
    before = cache.layers[0].keys.data_ptr()
    for step in range(3):
        cache.advance()
        for layer in range(2):
            keys, values = cache.update(*states(1000 + 10 * step, 2, 1), layer)
            assert keys.shape == values.shape == (2, HEADS, 10, WIDTH)
            assert keys.data_ptr() == before or layer == 1
    assert row_numbers(cache, 1, 0) == [100, 101, 1000, 1010, 1020]
    assert row_numbers(cache, 1, 1) == [200, 201, 202, 203, 1001, 1011, 1021]


def test_one_position_is_one_contiguous_row() -> None:
    cache = filled([2])
    storage = cache.layers[0].keys.transpose(1, 2)
    assert storage.is_contiguous()
    assert storage.shape == (1, 10, HEADS, WIDTH)
    assert cache.row_bytes == 2 * HEADS * WIDTH * 4


def test_rows_leave_and_the_rest_goes_on() -> None:
    cache = filled([2, 4, 1, 3])
    cache.advance()
    cache.update(*states(1000, 4, 1), 0)
    cache.select_rows([1, 3])
    cache.advance()
    cache.update(*states(2000, 2, 1), 0)
    assert row_numbers(cache, 0, 0) == [200, 201, 202, 203, 1001, 2000]
    assert row_numbers(cache, 0, 1) == [400, 401, 402, 1003, 2001]
    cache.select_rows([1])
    cache.advance()
    keys, _ = cache.update(*states(3000, 1, 1), 0)
    assert keys.shape[0] == 1
    assert row_numbers(cache, 0, 0) == [400, 401, 402, 1003, 2001, 3000]


def test_a_ring_forgets_old_text_and_keeps_the_prompt() -> None:
    cache = filled([2, 3], rings={1: 2})
    for step in range(5):
        cache.advance()
        for layer in range(2):
            cache.update(*states(1000 + 10 * step, 2, 1), layer)
    assert sorted(row_numbers(cache, 1, 0)) == [100, 101, 1030, 1040]
    assert sorted(row_numbers(cache, 1, 1)) == [200, 201, 202, 1031, 1041]
    assert len(row_numbers(cache, 0, 0)) == 7
    assert cache.longest == 8


def test_timelines_agree_with_their_host_twins() -> None:
    timeline = Timeline([3, 5, 4], CPU, ring=None)
    for _ in range(4):
        timeline.advance()
    assert timeline.visible.tolist() == timeline.used == [7, 9, 8]
    assert timeline.slots.flatten().tolist() == [6, 8, 7]
    timeline.select_rows([0, 2])
    assert timeline.visible.tolist() == timeline.used == [7, 8]
    assert timeline.longest == 8
    timeline.advance()
    assert timeline.slots.flatten().tolist() == [7, 8]


def test_no_room_for_a_single_token_is_an_error() -> None:
    cache = KVCache(1, 1, 4, CPU)
    with pytest.raises(UsageError, match="no room"):
        cache.set_prompt_lengths([4])


def test_the_library_sees_an_empty_cache_at_prefill() -> None:
    cache = filled([2, 4])
    with cache.prefilling(0):
        assert cache.get_seq_length() == 0
        assert cache.get_mask_sizes(7, 0) == (7, 0)
    cache.advance()
    assert cache.get_seq_length() == 4

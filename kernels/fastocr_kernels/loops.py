"""One token's attention on a CPU as plain loops, compiled for the processor at hand by Numba.

A few hundred scattered rows of a cache are too few for matrix products: fetching them costs a
copy, and each call into a library more than its arithmetic. Here every row is read where it lies,
once, and a layer is one call. Measured on one Zen 3 core in fp32, 5,100 positions of 2 KV heads of
64 with two query heads each: to attend to 730 of them takes 80 us (by products 360), one head's
weights over all of them 500 us (by products 570), for eight pages 3.9 ms (5.8). Over whole pages
products are as fast, so dense attention stays with `cpu_products`.

Importing this module imports Numba, which takes half a second; compiling takes seconds, once a
head size, and is kept on disk. fp32 only.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import njit

_BLOCK = 32
"""Positions whose rows are read for all heads before the next ones are: they stay in the core's
first cache."""

_LOG2_E = np.float32(1.44269504)
_LN_2_HIGH, _LN_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_LEAST = np.float32(-87)  # below this e^x is no normal number
_TAYLOR = tuple(map(np.float32, (1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1, 1)))


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` by Numba, kept on disk where there is a place for it. Sums may be taken in any
    order; a NaN stays a NaN."""
    options = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "error_model": "numpy"}
    try:
        return njit(function, nogil=True, cache=True, **options)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written to
        return njit(function, nogil=True, **options)


class Loops(NamedTuple):
    """The compiled functions for one head size D; all arrays C-contiguous.

    sparse(query, keys, values, indices, starts, stops, scale, out): query and out fp32
        [B, Hq, D], keys and values fp32 [B, L_max, Hkv, D], indices int64 [B, K] (negative ones
        are skipped), starts and stops int64 [B]. Fills out.
    weights(query, keys, kv_heads, scale, out): query fp32 [H, D], keys fp32 [L, Hkv, D], kv_heads
        int64 [H], which KV head each query reads. Fills out, fp32 [H, L].
    """

    sparse: Callable[..., None]
    weights: Callable[..., None]


def share_rows(count: int, run: Callable[[slice], None]) -> None:
    """Call `run` with slices that cover the rows of a batch, on as many threads as torch may use.

    `run` must spend its time in compiled loops, which do not hold Python's lock.
    """
    parts = min(count, torch.get_num_threads())
    if parts == 1:
        run(slice(None))
        return
    bounds = [count * part // parts for part in range(parts + 1)]
    own, *others = map(slice, bounds, bounds[1:])
    started = [_threads().submit(run, rows) for rows in others]
    run(own)
    for one in started:
        one.result()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="fastocr-attention")


@cache
def loops(width: int) -> Loops:
    """For head size `width`, which the compiler must know to keep a row in registers."""

    # Neither calls a function of its own kind: such a thing has no name to be found by on disk.
    @_compiled
    def sparse(query, keys, values, indices, starts, stops, scale, out):  # type: ignore[no-untyped-def]
        batch, heads, _ = query.shape
        group = heads // keys.shape[2]
        out[:] = 0
        for row in range(batch):
            places = _places(indices[row], starts[row], stops[row])
            count = len(places)
            weights = np.empty((heads, count), np.float32)
            for first in range(0, count, _BLOCK):
                stop = min(first + _BLOCK, count)
                for h in range(heads):
                    kv_head = h // group
                    for t in range(first, stop):
                        at, total = places[t], np.float32(0)
                        for i in range(width):
                            total += query[row, h, i] * keys[row, at, kv_head, i]
                        weights[h, t] = total * scale
            for h in range(heads):
                _softmax(weights[h])
            for first in range(0, count, _BLOCK):
                stop = min(first + _BLOCK, count)
                for h in range(heads):
                    kv_head = h // group
                    for t in range(first, stop):
                        at, weight = places[t], weights[h, t]
                        for i in range(width):
                            out[row, h, i] += weight * values[row, at, kv_head, i]

    @_compiled
    def weights(query, keys, kv_heads, scale, out):  # type: ignore[no-untyped-def]
        heads, count = out.shape
        for first in range(0, count, _BLOCK):
            stop = min(first + _BLOCK, count)
            for h in range(heads):
                kv_head = kv_heads[h]
                for t in range(first, stop):
                    total = np.float32(0)
                    for i in range(width):
                        total += query[h, i] * keys[t, kv_head, i]
                    out[h, t] = total * scale
        for h in range(heads):
            _softmax(out[h])

    return Loops(sparse, weights)


@_compiled
def _places(indices, start, stop):  # type: ignore[no-untyped-def]
    """The positions a row attends to: those of `indices` that are no padding, then the span."""
    places = np.empty(len(indices) + max(stop - start, 0), np.int64)
    count = 0
    for index in indices:
        if index >= 0:
            places[count] = index
            count += 1
    for position in range(start, stop):
        places[count] = position
        count += 1
    return places[:count]


@_compiled
def _softmax(row):  # type: ignore[no-untyped-def]
    """In place. e^x is 2^n e^r with |r| <= ln 2 / 2, e^r a polynomial and 2^n set bit by bit: the
    processor then works on many values at once, which it does not in the library's exp."""
    count = len(row)
    top = np.float32(-np.inf)
    for t in range(count):
        top = max(top, row[t])
    bits = np.empty(count, np.int32)
    for t in range(count):
        x = max(row[t] - top, _LEAST)
        n = np.floor(x * _LOG2_E + np.float32(0.5))
        bits[t] = (np.int32(n) + np.int32(127)) << np.int32(23)
        x = x - n * _LN_2_HIGH - n * _LN_2_LOW
        e = _TAYLOR[0]
        for factor in _TAYLOR[1:]:
            e = e * x + factor
        row[t] = e
    powers, total = bits.view(np.float32), np.float32(0)
    for t in range(count):
        row[t] *= powers[t]
        total += row[t]
    for t in range(count):
        row[t] /= total

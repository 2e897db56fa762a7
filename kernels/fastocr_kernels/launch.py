"""How many programs a decode kernel gets, of what size, and the launch itself.

Knows devices and Triton's configurations; the kernels know neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import log2
from typing import Any

import torch
import triton
from torch import Tensor
from triton.runtime.jit import JITFunction

LOG2E = log2(2.718281828459045)

MOST_SPLITS = 64
# Programs on one multiprocessor hide each other's memory latency.
_PROGRAMS_PER_MULTIPROCESSOR = 4
# Tensor cores multiply no fewer rows than this.
_LEAST_GROUP = 16

# (positions per block, warps, pipeline stages)
_CONFIGS = [(32, 2, 4), (32, 4, 3), (64, 4, 2), (64, 4, 3), (64, 4, 4), (128, 4, 2), (128, 8, 3)]
INTERPRETER_BLOCK = 32
_INTERPRETER_PROCESSORS = 2


@dataclass(frozen=True)
class Grid:
    """Programs are (splits, visited KV heads, sequences); sizes are compile-time constants."""

    splits: int
    visited: int
    sequences: int
    sizes: tuple[tuple[str, int], ...]


def plan(query: Tensor, keys: Tensor, longest: int, visited: int | None = None) -> Grid:
    """Enough splits to fill the device, none of them smaller than a block.

    query [B, Hq, D], keys [B, L_max, Hkv, D]; longest: upper bound of the positions read;
    visited: KV heads that get a program, all of them when None.
    """
    sequences, heads, width = query.shape
    visited = keys.shape[2] if visited is None else visited
    processors = _PROGRAMS_PER_MULTIPROCESSOR * _multiprocessors(query.device)
    wanted = triton.cdiv(processors, max(1, sequences * visited))
    splits = max(1, min(wanted, MOST_SPLITS, triton.cdiv(longest, INTERPRETER_BLOCK)))
    constants = sizes(heads, keys.shape[2], width, splits)
    return Grid(splits, visited, sequences, tuple(constants.items()))


def sizes(heads: int, kv_heads: int, width: int, splits: int) -> dict[str, int]:
    """The compile-time sizes of a decode kernel; BG and BD are padded to what `tl.dot` takes."""
    group = heads // kv_heads
    return {
        "HKV": kv_heads,
        "G": group,
        "D": width,
        "BG": max(_LEAST_GROUP, triton.next_power_of_2(group)),
        "BD": max(_LEAST_GROUP, triton.next_power_of_2(width)),
        "S": splits,
    }


def launch(kernel: Any, grid: Grid, *args: Any, **constants: Any) -> None:
    """Run `kernel` on the grid, with the fastest configuration that fits the device."""
    programs = (grid.splits, grid.visited, grid.sequences)
    constants = {**dict(grid.sizes), **constants}
    if isinstance(kernel, JITFunction):
        tensor = args[0]
        shared = _shared_memory(tensor.device)
        _tuned(kernel, dict(grid.sizes)["BD"], tensor.element_size(), shared)[programs](
            *args, **constants
        )
    else:  # Triton's interpreter, where there is nothing to tune
        kernel[programs](*args, **constants, BLOCK=INTERPRETER_BLOCK)


def fitting_configs(width: int, itemsize: int, shared: int) -> list[triton.Config]:
    """Configurations whose pipelined key and value blocks fit in `shared` bytes.

    width: padded head size; itemsize: bytes of a cache element.
    """
    fitting = [
        triton.Config({"BLOCK": block}, num_warps=warps, num_stages=stages)
        for block, warps, stages in _CONFIGS
        if 2 * stages * block * width * itemsize <= shared
    ]
    return fitting or [triton.Config({"BLOCK": 16}, num_warps=4, num_stages=1)]


@cache
def _tuned(kernel: Any, width: int, itemsize: int, shared: int) -> Any:
    configs = fitting_configs(width, itemsize, shared)
    return triton.autotune(configs, key=["HKV", "G", "D", "S"])(kernel)


@cache
def _multiprocessors(device: torch.device) -> int:
    if device.type != "cuda":
        return _INTERPRETER_PROCESSORS
    return torch.cuda.get_device_properties(device).multi_processor_count


@cache
def _shared_memory(device: torch.device) -> int:
    """Bytes of shared memory one program may use."""
    index = torch.cuda.current_device() if device.index is None else device.index
    utils = triton.runtime.driver.active.utils
    return int(utils.get_device_properties(index)["max_shared_mem"])

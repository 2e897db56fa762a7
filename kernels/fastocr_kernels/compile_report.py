"""`python -m fastocr_kernels.compile_report`: compile every kernel for named GPUs, without one.

Prints registers, spilled bytes and shared memory per kernel, head size and launch configuration,
and exits with 1 if a configuration needs more shared memory than its target has. Needs Triton and
no device; must not run under TRITON_INTERPRET.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from fastocr_kernels.focal.scores import visual_scores_kernel
from fastocr_kernels.focal.triton_kernel import focal_decode_kernel
from fastocr_kernels.launch import fitting_configs, sizes
from fastocr_kernels.partials import combine_kernel
from fastocr_kernels.sparse.triton_kernel import sparse_decode_kernel


@dataclass(frozen=True)
class Target:
    """A GPU to compile for and the bytes of shared memory one program may use on it."""

    name: str
    gpu: GPUTarget
    shared: int


TARGETS = {
    target.name: target
    for target in (
        Target("sm_80", GPUTarget("cuda", 80, 32), 163 * 1024),
        Target("sm_90", GPUTarget("cuda", 90, 32), 227 * 1024),
        Target("gfx942", GPUTarget("hip", "gfx942", 64), 64 * 1024),
    )
}
_ITEMSIZES = {"fp16": 2, "bf16": 2, "fp32": 4}
# Integer arguments that are multiples of 16 in every call: strides and the scratch width.
_ALIGNED = re.compile(r"p_.*|s_[kv][blh]|capacity")
_INDEX_POINTERS = {"p_indices", "p_text_start", "p_lengths", "p_positions"}
_INT_POINTERS = {"p_kv_heads", "p_slots", "p_heads"}
_CACHE_POINTERS = {"p_query", "p_keys", "p_values", "p_out"}


@dataclass(frozen=True)
class Compiled:
    """What one compilation took; `spilled` is stack bytes for CUDA, registers for ROCm."""

    kernel: str
    target: str
    dtype: str
    head_dim: int
    config: str
    registers: int
    spilled: int
    shared: int
    shared_limit: int

    @property
    def fits(self) -> bool:
        return self.shared <= self.shared_limit


def compile_all(
    targets: list[str], dtypes: list[str], head_dims: list[int], heads: int, kv_heads: int
) -> Iterator[Compiled]:
    """Every kernel for every target, dtype and head size, in all configurations that fit."""
    for name in targets:
        for dtype in dtypes:
            for head_dim in head_dims:
                yield from _compile_for(TARGETS[name], dtype, head_dim, heads, kv_heads)


def _compile_for(
    target: Target, dtype: str, head_dim: int, heads: int, kv_heads: int
) -> Iterator[Compiled]:
    constants = sizes(heads, kv_heads, head_dim, splits=16)
    for config in fitting_configs(constants["BD"], _ITEMSIZES[dtype], target.shared):
        tuned = {**constants, **config.kwargs}
        options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
        for kernel, extra in (
            (sparse_decode_kernel, {}),
            (focal_decode_kernel, {"WITH_VALUES": True}),
            (focal_decode_kernel, {"WITH_VALUES": False}),
        ):
            yield _compile(target, kernel, dtype, {**tuned, **extra}, options)
    combine = {"D": head_dim, "BD": constants["BD"], "S": 16, "BS": 16}
    yield _compile(target, combine_kernel, dtype, combine, {"num_warps": 4})
    scores = {"HQ": heads, "HEADS": heads, "S": 16, "BS": 16, "REDUCTION": 0, "BLOCK": 256}
    yield _compile(target, visual_scores_kernel, dtype, scores, {"num_warps": 4})


def _compile(
    target: Target, kernel: Any, dtype: str, constants: dict[str, int], options: dict[str, int]
) -> Compiled:
    names = kernel.arg_names
    signature = {name: _type_of(name, dtype, constants) for name in names}
    aligned = {
        (index,): [["tt.divisibility", 16]]
        for index, name in enumerate(names)
        if name not in constants and _ALIGNED.fullmatch(name)
    }
    fixed = {(names.index(name),): value for name, value in constants.items()}
    source = ASTSource(kernel, signature, fixed, aligned)
    binary = triton.compile(source, target=target.gpu, options=options)
    registers, spilled = _resources(binary, target)
    shown = {key: value for key, value in constants.items() if key in ("BLOCK", "WITH_VALUES")}
    shown.update(options)
    return Compiled(
        kernel=kernel.__name__.removesuffix("_kernel"),
        target=target.name,
        dtype=dtype,
        head_dim=constants.get("D", 0),
        config=" ".join(f"{key}={value}" for key, value in shown.items()),
        registers=registers,
        spilled=spilled,
        shared=binary.metadata.shared,
        shared_limit=target.shared,
    )


def _type_of(name: str, dtype: str, constants: dict[str, int]) -> str:
    if name in constants:
        return "constexpr"
    if name in _INDEX_POINTERS:
        return "*i64"
    if name in _INT_POINTERS:
        return "*i32"
    if name in _CACHE_POINTERS:
        return f"*{dtype}"
    if name.startswith("p_"):
        return "*fp32"
    return "fp32" if name == "scale" else "i32"


def _resources(binary: Any, target: Target) -> tuple[int, int]:
    """Registers per thread and what did not fit into them."""
    if target.gpu.backend == "hip":
        text = binary.asm["amdgcn"]
        registers = _number(r"\.vgpr_count:\s+(\d+)", text)
        return registers, _number(r"\.vgpr_spill_count:\s+(\d+)", text)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary.asm["cubin"])
        file.flush()
        command = [triton.knobs.nvidia.cuobjdump.path, "--dump-resource-usage", file.name]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return _number(r"REG:(\d+)", said), _number(r"STACK:(\d+)", said)


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found is not None, f"{pattern} not in the compiler's output"
    return int(found[1])


def _table(rows: list[Compiled]) -> str:
    head = ("kernel", "target", "dtype", "D", "configuration", "regs", "spilled", "shared", "limit")
    cells: list[tuple[object, ...]] = [head]
    for r in rows:
        limit = f"{r.shared_limit}{'' if r.fits else ' EXCEEDED'}"
        sizes_used = (r.registers, r.spilled, r.shared, limit)
        cells.append((r.kernel, r.target, r.dtype, r.head_dim or "", r.config, *sizes_used))
    widths = [max(len(str(row[column])) for row in cells) for column in range(len(head))]
    lines = (
        "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fastocr_kernels.compile_report", description=__doc__)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--dtypes", nargs="+", choices=_ITEMSIZES, default=["bf16"])
    parser.add_argument("--head-dims", nargs="+", type=int, default=[64, 80, 96, 128])
    parser.add_argument("--heads", type=int, default=28)
    parser.add_argument("--kv-heads", type=int, default=4)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    rows = list(
        compile_all(given.targets, given.dtypes, given.head_dims, given.heads, given.kv_heads)
    )
    print(json.dumps([asdict(row) for row in rows]) if given.json else _table(rows))
    return 0 if all(row.fits for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

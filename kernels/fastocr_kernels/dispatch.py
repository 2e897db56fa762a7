"""The one switch: which implementation serves a call, and why.

Triton serves CUDA and ROCm devices, loops compiled by Numba and matrix products in `cpu.py` serve
CPUs, and the plain reference serves everything else. `use_implementation` overrides the choice
inside a scope.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from fastocr_kernels.layouts import require

Implementation = Literal["triton", "cpu", "reference"]

OLDEST_TRITON = (3, 2)
OLDEST_COMPUTE_CAPABILITY = (8, 0)
_TRITON_DTYPES = (torch.float16, torch.bfloat16, torch.float32)
_MODULES = {"triton": "triton_kernel", "cpu": "cpu", "reference": "reference"}

_forced: ContextVar[Implementation | None] = ContextVar("fastocr_kernels_forced", default=None)
_log = logging.getLogger("fastocr_kernels")


@contextmanager
def use_implementation(name: Implementation) -> Iterator[None]:
    """Within this scope every call is served by `name`, whatever the device."""
    require(name in get_args(Implementation), "unknown implementation:", name)
    token = _forced.set(name)
    try:
        yield
    finally:
        _forced.reset(token)


def implementation_for(device: torch.device, dtype: torch.dtype) -> Implementation:
    """The implementation that serves tensors of this device and dtype now."""
    forced = _forced.get()
    if forced is not None:
        return forced
    return _choose(device, dtype)[0]


def call(kernel: str, name: str, query: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Run function `name` of folder `kernel` with the implementation that suits `query`."""
    chosen = implementation_for(query.device, query.dtype)
    return getattr(_module(kernel, chosen), name)(query, *args, **kwargs)


@cache
def _module(kernel: str, chosen: Implementation) -> ModuleType:
    return import_module(f"fastocr_kernels.{kernel}.{_MODULES[chosen]}")


@cache
def _choose(device: torch.device, dtype: torch.dtype) -> tuple[Implementation, str]:
    """The choice and its reason; cached, so that the reason is logged once a device and dtype."""
    chosen, reason = explain(device, dtype)
    _log.info("%s %s: %s (%s)", device, str(dtype).removeprefix("torch."), chosen, reason)
    return chosen, reason


def explain(device: torch.device, dtype: torch.dtype) -> tuple[Implementation, str]:
    """What would serve this device and dtype outside any scope, and why."""
    if device.type == "cpu":
        is_fast = dtype == torch.float32
        return "cpu", f"{'compiled loops' if is_fast else 'plain torch'} and matrix products"
    if device.type != "cuda":
        return "reference", f"no kernel for device type {device.type}"
    obstacle = _triton_obstacle(device, dtype)
    return ("reference", obstacle) if obstacle else ("triton", f"Triton {version('triton')}")


def _triton_obstacle(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why Triton cannot serve, or None."""
    if dtype not in _TRITON_DTYPES:
        return f"no kernel for {dtype}"
    try:
        found = version("triton")
    except PackageNotFoundError:
        return "Triton is not installed"
    if tuple(int(part) for part in found.split(".")[:2]) < OLDEST_TRITON:
        return f"Triton {found} is older than {'.'.join(map(str, OLDEST_TRITON))}"
    capability = torch.cuda.get_device_capability(device)
    if torch.version.hip is None and capability < OLDEST_COMPUTE_CAPABILITY:
        return f"compute capability {capability} is below {OLDEST_COMPUTE_CAPABILITY}"
    return None

"""Facts about this installation, for people who ask for help and for those who give it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fastocr_cli.config import find_project_file, user_file
from fastocr_cli.errors import ExitCode, FastocrError
from fastocr_cli.machine.selftest import SelfTest, run_self_test
from fastocr_cli.options import Options
from fastocr_cli.version import __version__

PACKAGES = (
    "torch", "transformers", "safetensors", "huggingface_hub", "pymupdf", "pillow", "numpy",
    "numba", "triton", "pillow-heif",
)  # fmt: skip


@dataclass(frozen=True)
class Health:
    """What was found. versions: None where a package is not installed."""

    versions: dict[str, str | None]
    system: str
    processors: int
    devices: list[str]
    model_cache: str
    free_disk_gb: float
    settings_files: list[str]
    test: SelfTest | None = None
    failure: FastocrError | None = None

    @property
    def exit_code(self) -> ExitCode:
        if self.failure is not None:
            return self.failure.exit_code
        return self.test.exit_code if self.test else ExitCode.OK

    def lines(self) -> Iterator[str]:
        yield f"fastocr {__version__}, Python {platform.python_version()}, {self.system}"
        yield "packages: " + ", ".join(f"{n} {v or 'absent'}" for n, v in self.versions.items())
        yield f"devices: {', '.join(self.devices)}; {self.processors} processors"
        yield f"model cache: {self.model_cache}, {self.free_disk_gb:.0f} GB free"
        yield f"settings: {', '.join(self.settings_files) or 'no files'}"
        if self.test is not None:
            yield f"self-test: {self.test.line()}"
        elif self.failure is not None:
            yield f"self-test: {self.failure}"

    def as_json(self) -> dict[str, Any]:
        values = {name: value for name, value in vars(self).items() if name != "failure"}
        test = {**asdict(self.test), "is_good": self.test.is_good} if self.test else None
        failure = str(self.failure) if self.failure else None
        tool = {"name": "fastocr", "version": __version__, "python": sys.version.split()[0]}
        return {"tool": tool, **values, "test": test, "failure": failure}


def examine(model: str, device: str, *, is_tested: bool = True) -> Health:
    """Look at everything; a self-test that cannot run is a finding, not an error."""
    test, failure = None, None
    if is_tested:
        try:
            test = run_self_test(Options(model=model, device=device, offline=True))
        except FastocrError as error:
            failure = error
    cache, files = _model_cache(), (find_project_file(Path.cwd()), user_file())
    return Health(
        versions={name: _version(name) for name in PACKAGES},
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processors=os.cpu_count() or 1,
        devices=_devices(),
        model_cache=str(cache),
        free_disk_gb=shutil.disk_usage(_nearest(cache)).free / 1e9,
        settings_files=[str(file) for file in files if file is not None and file.is_file()],
        test=test,
        failure=failure,
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _devices() -> list[str]:
    import torch

    found = [f"cpu ({torch.get_num_threads()} threads)"]
    for index in range(torch.cuda.device_count()):
        memory = torch.cuda.get_device_properties(index).total_memory / 1e9
        found.append(f"cuda:{index} ({torch.cuda.get_device_name(index)}, {memory:.0f} GB)")
    if torch.backends.mps.is_available():
        found.append("mps")
    return found


def _model_cache() -> Path:
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)


def _nearest(path: Path) -> Path:
    """The path, or its nearest parent that exists."""
    return next(place for place in (path, *path.parents) if place.exists())

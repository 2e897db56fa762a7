"""What the package may import, what it may not shadow, and that its kernels compile for GPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
    )


def test_the_kernels_folder_is_no_package():
    assert not (ROOT / "kernels" / "__init__.py").exists()


def test_an_installed_package_called_kernels_is_not_shadowed(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "__init__.py").write_text("origin = 'hub'\n")
    done = python("-c", "import kernels; print(kernels.origin)", PYTHONPATH=str(tmp_path))
    assert done.stdout.strip() == "hub", done.stderr


def test_importing_needs_neither_triton_nor_the_command_line():
    done = python(
        "-c",
        "import sys, fastocr_kernels;"
        "print([n for n in ('triton', 'transformers', 'fastocr_cli') if n in sys.modules])",
    )
    assert done.stdout.strip() == "[]", done.stderr


def compiled(*arguments: str) -> list[dict]:
    done = python("-m", "fastocr_kernels.compile_report", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_fits(rows: list[dict]) -> None:
    for row in rows:
        print(*(f"{key}={value}" for key, value in row.items()))
    assert all(row["shared"] <= row["shared_limit"] for row in rows)
    assert all(row["spilled"] == 0 for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "dtype"),
    [("sm_80", "bf16"), ("sm_90", "bf16"), ("gfx942", "bf16"), ("gfx942", "fp32")],
)
def test_every_configuration_compiles_and_fits(target, dtype):
    rows = compiled("--targets", target, "--dtypes", dtype, "--head-dims", "80")
    for row in rows:
        print(*(f"{key}={value}" for key, value in row.items()))
    assert all(row["shared"] <= row["shared_limit"] for row in rows)
    assert all(row["spilled"] == 0 for row in rows)

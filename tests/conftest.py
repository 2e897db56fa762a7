"""What every test shares: Triton kernels run in Triton's interpreter unless told otherwise.

The variable must be set before anything imports Triton (transformers does). On a machine with a
GPU, `TRITON_INTERPRET=0 pytest tests/kernels` runs the compiled kernels.
"""

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny tensors: more threads only wait on each other
os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture
def all_legible(monkeypatch: pytest.MonkeyPatch) -> None:
    """To a tiny random reader no page is legible, and none would be read."""
    monkeypatch.setattr("fastocr_cli.reader.evidence._LEGIBLE_SHARE", -1.0)

"""The switch: what it chooses, what it says, and that an override ends with its scope."""

from __future__ import annotations

import logging

import pytest
import torch

from fastocr_kernels import dispatch, explain, implementation_for, use_implementation

CPU = torch.device("cpu")
CUDA = torch.device("cuda", 0)


@pytest.fixture
def recent_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))


def test_cpu_tensors_take_the_cpu_path():
    assert explain(CPU, torch.float32)[0] == "cpu"


def test_gpus_take_triton(recent_gpu):
    assert explain(CUDA, torch.bfloat16)[0] == "triton"


def test_other_devices_take_the_reference_and_say_why():
    chosen, reason = explain(torch.device("mps"), torch.float16)
    assert chosen == "reference"
    assert "mps" in reason


def test_old_gpus_take_the_reference_and_say_why(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    chosen, reason = explain(CUDA, torch.float16)
    assert chosen == "reference"
    assert "(7, 5)" in reason


def test_unknown_types_take_the_reference_and_say_why(recent_gpu):
    chosen, reason = explain(CUDA, torch.float64)
    assert chosen == "reference"
    assert "float64" in reason


def test_old_and_missing_triton_take_the_reference_and_say_why(recent_gpu, monkeypatch):
    monkeypatch.setattr(dispatch, "version", lambda name: "2.1.0")
    assert "2.1.0" in explain(CUDA, torch.float16)[1]

    def missing(name):
        raise dispatch.PackageNotFoundError(name)

    monkeypatch.setattr(dispatch, "version", missing)
    assert explain(CUDA, torch.float16) == ("reference", "Triton is not installed")


def fail_inside(name):
    with use_implementation(name):
        assert implementation_for(CPU, torch.float32) == name
        raise RuntimeError


def test_an_override_ends_with_its_scope():
    with use_implementation("reference"):
        with pytest.raises(RuntimeError):
            fail_inside("triton")
        assert implementation_for(CPU, torch.float32) == "reference"
    assert implementation_for(CPU, torch.float32) == "cpu"


def test_an_unknown_override_is_refused():
    with pytest.raises(ValueError, match="cuda-graphs"), use_implementation("cuda-graphs"):
        pass


def test_the_reason_is_logged_once(caplog):
    dispatch._choose.cache_clear()
    with caplog.at_level(logging.INFO, "fastocr_kernels"):
        for _ in range(3):
            implementation_for(CPU, torch.float32)
    assert [record.getMessage() for record in caplog.records] == [
        "cpu float32: cpu (compiled loops and matrix products)"
    ]

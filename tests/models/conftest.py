"""Tiny checkpoints and loaded adapters, one of each family per test session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from fastocr_cli.models.base import ModelAdapter, PromptInputs
from fastocr_cli.models.loading import load_adapter
from tests.models.families import FAMILIES
from tests.models.tiny import page


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Family name -> folder of a tiny checkpoint."""

    @cache
    def build(name: str) -> Path:
        return FAMILIES[name].build(tmp_path_factory.mktemp(name))

    return build


@pytest.fixture(scope="session")
def adapter(checkpoint: Callable[[str], Path]) -> Callable[[str], ModelAdapter]:
    """Family name -> adapter loaded from disk by the real loading path."""

    @cache
    def load(name: str) -> ModelAdapter:
        return load_adapter(str(checkpoint(name)), device="cpu", offline=True)

    return load


@pytest.fixture(scope="session")
def prompts(adapter: Callable[[str], ModelAdapter]) -> Callable[[str], list[PromptInputs]]:
    """Family name -> its pages of different sizes, prepared."""

    @cache
    def prepare(name: str) -> list[PromptInputs]:
        pages = (page(*size, seed=seed) for seed, size in enumerate(FAMILIES[name].pages))
        return [adapter(name).prepare(one) for one in pages]

    return prepare

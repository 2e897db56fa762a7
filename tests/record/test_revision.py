"""A model's revision: another one whenever the model is another, the same one otherwise."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from fastocr_cli.record.revision import BESIDE_MODEL, revision_of


def adapter(source: str, revision: str | None = None) -> SimpleNamespace:
    config = SimpleNamespace(_name_or_path=source)
    return SimpleNamespace(revision=revision, model=SimpleNamespace(config=config))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache with two commits of one model."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--owner--name"
    for commit in ("a" * 40, "b" * 40):
        (repository / "snapshots" / commit).mkdir(parents=True)
        (repository / "snapshots" / commit / "config.json").write_text("{}")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("a" * 40)
    (repository / "refs" / "v2").write_text("b" * 40)
    return repository


def test_a_hub_model_is_known_by_its_commit(cache: Path) -> None:
    assert revision_of(adapter("owner/name")) == "a" * 40
    assert revision_of(adapter("owner/name", "v2")) == "b" * 40
    (cache / "refs" / "main").write_text("b" * 40)
    assert revision_of(adapter("owner/name")) == "b" * 40


def test_what_is_not_in_the_cache_is_known_as_it_was_asked_for(cache: Path) -> None:
    assert revision_of(adapter("owner/other", "v2")) == "v2"
    assert revision_of(adapter("no such name: at all")) is None
    assert revision_of(SimpleNamespace(revision="r1")) == "r1"


def test_a_folder_is_known_by_what_lies_in_it(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    first = revision_of(adapter(str(tmp_path), "v2"))
    assert first not in (None, "v2")
    (tmp_path / BESIDE_MODEL).write_text("{}")
    assert revision_of(adapter(str(tmp_path))) == first, "a calibration is no part of the model"
    (tmp_path / "model.safetensors").write_bytes(b"changed")
    assert revision_of(adapter(str(tmp_path))) != first

"""A model is known by the same name and revision before it is loaded and after."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from fastocr_cli.errors import MissingModelError
from fastocr_cli.options import Options
from fastocr_cli.record.identity import identify, identity_of


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache, holding owner/name in two commits; no network."""
    cache = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    repo = cache / "models--owner--name"
    for commit, reference in (("a" * 40, "main"), ("b" * 40, "v2")):
        (repo / "snapshots" / commit).mkdir(parents=True)
        (repo / "snapshots" / commit / "config.json").write_text("{}")
        (repo / "refs").mkdir(exist_ok=True)
        (repo / "refs" / reference).write_text(commit)

    def refuse(*arguments: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return cache


def loaded(name: str, revision: str | None, source: str) -> SimpleNamespace:
    config = SimpleNamespace(_name_or_path=source)
    return SimpleNamespace(name=name, revision=revision, model=SimpleNamespace(config=config))


@pytest.mark.parametrize(("asked", "commit"), [(None, "a" * 40), ("v2", "b" * 40)])
def test_a_model_of_the_hub(hub: Path, asked: str | None, commit: str) -> None:
    model = f"owner/name@{asked}" if asked else "owner/name"
    found = identify(Options(model=model, offline=True))
    assert found is not None
    assert (found.name, found.revision) == ("owner/name", commit)
    assert found == identity_of(loaded("owner/name", asked, "owner/name"))


def test_what_is_not_here_is_not_known_and_not_asked_for(hub: Path) -> None:
    assert identify(Options(model="owner/other")) is None
    with pytest.raises(MissingModelError, match="hub id looks like owner/name"):
        identify(Options(model="nosuch"))


def test_a_folder_and_the_embedded_reader(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    folder = str(tmp_path)
    found = identify(Options(model=folder))
    assert found == identity_of(loaded(folder, None, folder))
    embedded = identify(Options())
    assert embedded is not None
    assert str(embedded).startswith("embedded@")
    assert embedded.revision

"""Choosing and loading a model: what a user sees when something is not there."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from fastocr_cli.errors import ExitCode, FastocrError, MissingModelError, UsageError
from fastocr_cli.machine.health import examine
from fastocr_cli.models import loading, names
from fastocr_cli.models.generic import GenericAdapter
from fastocr_cli.models.loading import FAMILIES, choose_device, choose_dtype, load_adapter
from tests.models.tiny_reader import tiny_reader

Checkpoint = Callable[[str], Path]


def failure(name: str | Path, **settings: object) -> FastocrError:
    with pytest.raises(FastocrError) as caught:
        load_adapter(str(name), device="cpu", **settings)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    return caught.value


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def empty_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


def test_loading_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tiny_reader(tmp_path)
    capfd.readouterr()
    load_adapter(str(folder), device="cpu")
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("no_network", "empty_hub")
def test_offline_a_missing_model_comes_with_the_command_that_fetches_it() -> None:
    error = failure("somebody/nothing-like-this", offline=True, revision="v2")
    assert error.exit_code is ExitCode.MISSING_DEPENDENCY
    assert "fastocr models download somebody/nothing-like-this@v2" in str(error)


@pytest.mark.usefixtures("empty_hub")
def test_the_reason_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("You are trying to access a gated repo.\nMake sure to have access to it.")

    monkeypatch.setattr(loading.PreTrainedConfig, "get_config_dict", refuse)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    message = str(failure("owner/name"))
    assert "owner/name cannot be loaded: You are trying to access a gated repo; fetch" in message
    assert message.endswith("fastocr models download owner/name")


@pytest.mark.usefixtures("no_network", "empty_hub")
def test_the_hubs_own_switch_means_offline_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "not in the local cache" in str(failure("somebody/nothing-like-this"))


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("name", ["qwen2_5_vl", "got_ocr2", "llava"])
def test_a_local_folder_needs_no_network(checkpoint: Checkpoint, name: str) -> None:
    adapter = load_adapter(str(checkpoint(name)), device="cpu")
    assert adapter.name == str(checkpoint(name))


@pytest.mark.parametrize("name", ["nonsense", "./no/such/folder", "a/b/c"])
@pytest.mark.usefixtures("no_network", "empty_hub")
def test_a_name_that_can_be_nothing(name: str) -> None:
    error = failure(name, offline=True)
    assert isinstance(error, MissingModelError)
    assert "owner/name" in str(error)


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    assert "no config.json" in str(failure(tmp_path))


def test_a_kind_of_model_that_cannot_read_pages(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    error = failure(tmp_path)
    assert isinstance(error, UsageError)
    assert "'bert'" in str(error)


def test_a_kind_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "from_the_future"}))
    error = failure(tmp_path)
    assert isinstance(error, MissingModelError)
    assert "'from_the_future'" in str(error)
    assert "pip install --upgrade transformers" in str(error)


def test_classes_that_an_older_library_lacks(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """transformers 5.17 is allowed and has no Unlimited-OCR, on which version 1 runs."""
    folder = checkpoint("deepseek_vl_v2")
    monkeypatch.setitem(sys.modules, "transformers.models.unlimited_ocr", None)
    error = failure(folder)
    assert isinstance(error, MissingModelError)
    assert "pip install --upgrade transformers" in str(error)
    assert "\n" not in str(error)


def test_pickled_weights_are_not_loaded(checkpoint: Checkpoint, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(checkpoint("lighton_ocr"), folder)
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    assert isinstance(failure(folder), MissingModelError)


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def test_weights_cut_short_are_damaged(checkpoint: Checkpoint, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(checkpoint("lighton_ocr"), folder)
    cut_short(folder / "model.safetensors")
    error = failure(folder)
    assert error.exit_code is ExitCode.MISSING_DEPENDENCY
    assert f"the weights of {folder} are damaged" in str(error)
    assert examine(str(folder), "cpu").exit_code is ExitCode.MISSING_DEPENDENCY


@pytest.mark.usefixtures("no_network", "empty_hub")
def test_damaged_weights_in_the_hubs_cache_come_with_the_command_that_mends_them(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    repository = tmp_path / "hub" / "models--owner--name"
    snapshot = repository / "snapshots" / ("a" * 40)
    shutil.copytree(checkpoint("lighton_ocr"), snapshot)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("a" * 40)
    cut_short(snapshot / "model.safetensors")
    message = str(failure("owner/name", offline=True))
    assert "the weights of owner/name are damaged" in message
    assert message.endswith("fastocr models download owner/name")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"\xff\xfe"),
        ("config.json", b'{"model_type": "lighton_ocr", "vision_config": 3}'),
        ("tokenizer.json", b"{"),
        ("preprocessor_config.json", b""),
        ("chat_template.jinja", b"{% for x in y %}"),
    ],
)
def test_other_files_that_are_damaged(
    checkpoint: Checkpoint, tmp_path: Path, name: str, content: bytes
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(checkpoint("lighton_ocr"), folder)
    (folder / name).write_bytes(content)
    assert isinstance(failure(folder), MissingModelError)


def test_remote_code_is_not_run_unasked(tmp_path: Path) -> None:
    config = {"model_type": "from_afar", "auto_map": {"AutoConfig": "configuration.Config"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "configuration.py").write_text("raise SystemExit('remote code ran')")
    assert isinstance(failure(tmp_path), MissingModelError)


def test_the_packages_own_weights_may_be_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(names, "__file__", str(tmp_path / "models" / "names.py"))
    assert "reinstall" in str(failure("embedded"))


def test_every_family_named_exists_and_answers_to_its_type() -> None:
    for model_type in FAMILIES:
        assert model_type in loading._family_class(model_type).model_types
    assert loading._family_class("never_heard_of") is GenericAdapter


def test_every_type_that_a_family_answers_to_is_named() -> None:
    families = {loading._family_class(model_type) for model_type in FAMILIES}
    assert {kind for family in families for kind in family.model_types} == set(FAMILIES)


def test_devices() -> None:
    assert choose_device("cpu").type == "cpu"
    with pytest.raises(UsageError, match="unknown device"):
        choose_device("gpu")
    if not torch.cuda.is_available():
        with pytest.raises(MissingModelError, match="--device cpu"):
            choose_device("cuda")
        assert choose_device("auto").type != "cuda"
    else:
        with pytest.raises(MissingModelError, match="fewer"):
            choose_device("cuda:99")


def test_dtypes() -> None:
    cpu = torch.device("cpu")
    assert choose_dtype("auto", cpu) is torch.float32
    assert choose_dtype("bf16", cpu) is choose_dtype("bfloat16", cpu) is torch.bfloat16
    with pytest.raises(UsageError, match="int8"):
        choose_dtype("int8", cpu)


def test_the_number_format_is_the_models(checkpoint: Checkpoint) -> None:
    adapter = load_adapter(str(checkpoint("lighton_ocr")), device="cpu", dtype="bf16")
    assert adapter.dtype is torch.bfloat16

"""The command with a real, tiny model loaded from disk, and the network out of reach."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from fastocr_cli import api
from fastocr_cli.errors import ExitCode
from fastocr_cli.record.identity import identify
from tests.cli.fakes import make_pdf
from tests.models.tiny_reader import tiny_reader

pytestmark = pytest.mark.usefixtures("all_legible")

ROOT = Path(__file__).parents[2]
LOAD = api.load_reader


@pytest.fixture
def no_network(fastocr, monkeypatch):
    """The real reader again, and an error for whoever opens a connection."""

    def refuse(*arguments):
        raise AssertionError(f"the network was used: {arguments}")

    monkeypatch.setattr("fastocr_cli.api.load_reader", LOAD)
    monkeypatch.setattr("fastocr_cli.api.identify", identify)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    return tiny_reader(tmp_path_factory.mktemp("reader"))


def test_offline_run_reaches_no_network(fastocr, no_network, checkpoint):
    make_pdf(Path("a.pdf"), 2)
    arguments = ["--model", str(checkpoint), "--offline", "--max-tokens", "5", "--dpi", "72"]
    result = fastocr("parse", "a.pdf", "-o", "out/", "-f", "json", *arguments)
    assert result.code in (ExitCode.OK, ExitCode.PARTIAL), result.err
    first = Path("out/a.json").read_bytes()
    document = json.loads(first)
    assert [page["number"] for page in document["pages"]] == [1, 2]
    assert document["model"]["revision"]
    assert document["pages"][0]["stats"]["visual_tokens"] > 0
    fastocr("parse", "a.pdf", "-o", "out/", "-f", "json", *arguments)
    assert Path("out/a.json").read_bytes() == first


def test_a_name_that_is_no_model_s_is_refused_at_once(fastocr, no_network):
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("parse", "a.pdf", "--model", "nosuch")
    assert result.code == ExitCode.MISSING_DEPENDENCY
    assert result.err == (
        "error: there is no model 'nosuch': not a folder, and a hub id looks like owner/name\n"
    )


def test_only_our_own_words_reach_stderr(checkpoint, tmp_path):
    """In a process of its own, for the libraries' bars and logs are set up when they load."""
    model = shutil.copytree(checkpoint, tmp_path / "model")
    weights = load_file(model / "model.safetensors")
    save_file(
        {**weights, "stray": torch.zeros(1)}, model / "model.safetensors", metadata={"format": "pt"}
    )
    make_pdf(tmp_path / "a.pdf", 1)
    done = subprocess.run(
        [sys.executable, "-m", "fastocr_cli", "parse", "a.pdf", "--max-tokens", "3", "--dpi", "72",
         "--model", str(model), "--rtprune", "0.25", "-o", "a.md"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if "page" not in line]
    assert said == [
        "warning: rtprune: published for DeepSeek-OCR; with this model it is experimental"
    ]


def test_bars_are_off_where_the_libraries_are_loaded_already(fastocr, no_network, checkpoint):
    from transformers.utils import logging

    logging.enable_progress_bar()
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("parse", "a.pdf", "--model", str(checkpoint), "--max-tokens", "3", "--dpi=72")
    assert "Loading weights" not in result.err


@pytest.mark.parametrize("model", ["owner/missing", "./no-such-folder", "nothing"])
def test_missing_model_offline(fastocr, no_network, model):
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("parse", "a.pdf", "-o", "a.md", "--model", model, "--offline")
    assert result.code == ExitCode.MISSING_DEPENDENCY
    assert len(result.err.splitlines()) == 1
    assert model in result.err
    assert not Path("a.md").exists()


def test_a_resumed_run_goes_on_with_the_focal_layers_it_found(fastocr, no_network, checkpoint):
    """Without them it would look for layers on its own first page and read the rest otherwise."""
    make_pdf(Path("a.pdf"), 3)
    arguments = [
        "--model", str(checkpoint), "--max-tokens", "24", "--dpi", "72", "-b", "1", "-f", "json",
        "--keep", "0.1", "--fixation", "probe_steps=4", "--fixation", "minimum=1",
        "--fixation", "heads=mean",
    ]  # fmt: skip
    fastocr("parse", "a.pdf", "-o", "whole/", *arguments)
    shutil.copytree("whole/.fastocr", "cut/.fastocr")
    journal = Path("cut/.fastocr/journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]))
    resumed = fastocr("parse", "a.pdf", "-o", "cut/", *arguments)
    assert "1 already read" in resumed.err
    whole, cut = (json.loads(Path(f, "a.json").read_bytes())["pages"] for f in ("whole", "cut"))
    assert [page["markdown"] for page in cut] == [page["markdown"] for page in whole]
    shares = [[page["stats"]["keep_all_layers"] for page in pages] for pages in (whole, cut)]
    assert shares[0] == shares[1]
    assert shares[0][1] < shares[0][0]

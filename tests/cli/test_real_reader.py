"""The command with a real, tiny model loaded from disk, and the network out of reach."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from fastocr_cli import api
from fastocr_cli.errors import ExitCode
from tests.cli.fakes import make_pdf
from tests.models.test_reader_identity import tiny_reader

LOAD = api.load_reader


@pytest.fixture
def no_network(fastocr, monkeypatch):
    """The real reader again, and an error for whoever opens a connection."""

    def refuse(*arguments):
        raise AssertionError(f"the network was used: {arguments}")

    monkeypatch.setattr("fastocr_cli.api.load_reader", LOAD)
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


@pytest.mark.parametrize("model", ["owner/missing", "./no-such-folder", "nothing"])
def test_missing_model_offline(fastocr, no_network, model):
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("parse", "a.pdf", "-o", "a.md", "--model", model, "--offline")
    assert result.code == ExitCode.MISSING_DEPENDENCY
    assert len(result.err.splitlines()) == 1
    assert model in result.err
    assert not Path("a.md").exists()

"""Runs the command in this process, with its streams apart, on a reader that needs no model."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import fastocr_cli.api
from fastocr_cli.__main__ import run
from fastocr_cli.record.identity import Identity
from tests.cli.fakes import FakeReader


@dataclass
class Outcome:
    code: int
    out: bytes
    err: str


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> FakeReader:
    """The reader that the command will use; tests may change its behaviour."""
    fake = FakeReader()
    monkeypatch.setattr(fastocr_cli.api, "load_reader", lambda options: _set(fake, options))
    monkeypatch.setattr(fastocr_cli.api, "identify", lambda options: Identity("fake", "r1"))
    return fake


def _set(fake: FakeReader, options) -> FakeReader:
    fake.keep = options.keep
    return fake


@pytest.fixture
def fastocr(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reader: FakeReader
) -> Callable[..., Outcome]:
    """`fastocr("parse", "x.pdf", stdin=b"...")` in a folder of its own, without settings files."""
    for name in ("FASTOCR_DEBUG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def call(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        streams = [io.TextIOWrapper(io.BytesIO(data), "utf-8") for data in (stdin, b"", b"")]
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            monkeypatch.setattr(f"sys.{name}", stream)
        code = run([str(argument) for argument in arguments])
        for stream in streams[1:]:
            stream.flush()
        out, err = (stream.buffer.getvalue() for stream in streams[1:])
        return Outcome(code, out, err.decode())

    return call

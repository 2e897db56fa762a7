"""What reaches the terminal: the product alone on stdout, everything else, well said, on stderr."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import jsonschema

from fastocr_cli.results import PageStatus
from fastocr_cli.schemas import load_schema
from tests.cli.fakes import make_pdf

ROOT = Path(__file__).parents[2]
PRODUCT = b"# page 1"


def run_command(arguments: list[str], folder: Path, **environment: str) -> tuple[bytes, bytes]:
    """The command on a fake reader in a process of its own, its streams pipes."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.fakes", *arguments],
        cwd=folder,
        env={**os.environ, **_FAKE, **environment},
        capture_output=True,
        check=True,
    )
    return done.stdout, done.stderr


def run_on_terminal(arguments: list[str], folder: Path) -> tuple[bytes, bytes]:
    """The same with standard error a terminal, and standard output a pipe."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.fakes", *arguments],
        cwd=folder,
        env={**os.environ, **_FAKE, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=follower,
    )
    os.close(follower)
    assert process.stdout is not None
    out = process.stdout.read()
    screen = b""
    while chunk := _read(leader):
        screen += chunk
    assert process.wait() == 0
    return out, screen


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how Linux says that the other end has closed
        return b""


_FAKE = {"FAKE_LOG": os.devnull, "FAKE_SECONDS": "0", "FAKE_NOISE": "1", "PYTHONPATH": str(ROOT)}


def test_stdout_is_the_product_whatever_the_terminal_and_the_verbosity(tmp_path):
    make_pdf(tmp_path / "a.pdf", 2)
    plain, messages = run_command(["parse", "a.pdf"], tmp_path)
    assert plain.startswith(PRODUCT)
    assert plain.count(b"# page") == 2
    assert b"noise" in messages
    for arguments in (["-q"], ["-vv"]):
        assert run_command(["parse", "a.pdf", *arguments], tmp_path)[0] == plain
    assert run_command(["parse", "a.pdf"], tmp_path, FORCE_COLOR="1")[0] == plain
    on_screen, screen = run_on_terminal(["parse", "a.pdf"], tmp_path)
    assert on_screen == plain
    assert b"\x1b[" in screen
    assert b"a.pdf: 2 pages ok" in screen


def test_no_control_codes_reach_a_pipe_even_with_a_forced_bar(tmp_path):
    make_pdf(tmp_path / "a.pdf", 2)
    assert b"\x1b" not in run_command(["parse", "a.pdf"], tmp_path)[1]
    assert b"\x1b" not in run_command(["parse", "a.pdf"], tmp_path, TERM="dumb")[1]


def test_closed_pipe_ends_quietly(tmp_path):
    make_pdf(tmp_path / "a.pdf", 30)
    command = f"{sys.executable} -m tests.cli.fakes parse a.pdf -q -b 1; echo code $? >&2"
    environment = {**os.environ, **_FAKE, "FAKE_NOISE": ""}
    done = subprocess.run(
        ["bash", "-c", f"({command}) | head -c 20"],
        cwd=tmp_path, env=environment, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(PRODUCT)
    assert done.stderr == b"code 0\n"


def test_json_progress_is_one_object_an_event(fastocr):
    make_pdf(Path("a.pdf"), 2)
    result = fastocr("parse", "a.pdf", "-o", "a.md", "--progress", "json", "-q")
    events = [json.loads(line) for line in result.err.splitlines()]
    assert [event["event"] for event in events] == ["opened", "page", "page", "done"]
    assert events[-1]["pages_done"] == 2


def test_report_follows_its_schema_and_tells_every_input(fastocr, reader):
    reader.behave = lambda page, keep: PageStatus.LOOPED if page.number == 2 else PageStatus.OK
    make_pdf(Path("a.pdf"), 3, blank=(3,))
    fastocr("parse", "a.pdf", "missing.pdf", "-o", "out/", "-f", "md,json", "--report", "run.json")
    report = json.loads(Path("run.json").read_text())
    jsonschema.validate(report, load_schema("report"))
    read, missing = report["documents"]
    assert read["status"] == "partial"
    assert read["outputs"] == ["out/a.md", "out/a.json"]
    assert [page["status"] for page in read["pages"]] == ["ok", "looped", "blank"]
    assert missing["status"] == "failed"
    assert report["totals"]["statuses"]["looped"] == 1
    assert report["model"] == {"name": "fake", "revision": "r1"}


def test_inputs_that_were_not_reached_are_in_the_report(fastocr):
    make_pdf(Path("b.pdf"), 1)
    fastocr("parse", "missing.pdf", "b.pdf", "-o", "out/", "--fail-fast", "--report", "run.json")
    report = json.loads(Path("run.json").read_text())
    assert [document["status"] for document in report["documents"]] == ["failed", "unread"]


def test_traceback_only_on_request(fastocr, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("fastocr_cli.run.plan", broken)
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("parse", "a.pdf")
    assert result.code == 1
    assert result.err == "error: ZeroDivisionError: oh; a fault of fastocr's, -vv shows where\n"
    assert "Traceback" in fastocr("parse", "a.pdf", "-vv").err
    monkeypatch.setenv("FASTOCR_DEBUG", "1")
    assert "Traceback" in fastocr("parse", "a.pdf").err

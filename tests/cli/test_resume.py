"""A run that goes on where another ended: nothing lost, read twice or changed by the resume."""

from __future__ import annotations

import io
import json
import os
import pty
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from PIL import Image

from fastocr_cli.errors import ExitCode
from fastocr_cli.record.calibrations import calibration_path
from fastocr_cli.results import PageStatus
from fastocr_cli.schemas import load_schema
from tests.cli.fakes import interrupted_at, make_pdf

ROOT = Path(__file__).parents[2]


def test_finished_folder_is_not_read_again(fastocr, reader):
    make_pdf(Path("a.pdf"), 3)
    assert fastocr("parse", "a.pdf", "-o", "out/").code == 0
    first = Path("out/a.md").read_bytes()
    result = fastocr("parse", "a.pdf", "-o", "out/", "-f", "md,html")
    assert reader.pages_read == [1, 2, 3]
    assert "3 already read" in result.err
    assert Path("out/a.md").read_bytes() == first
    assert Path("out/a.html").read_text().count("data:image/jpeg") == 3
    fastocr("parse", "a.pdf", "-o", "out/", "--no-resume")
    assert len(reader.pages_read) == 6
    fastocr("parse", "a.pdf", "-o", "out/", "--keep", "0.5")
    assert len(reader.pages_read) == 9


def test_single_file_leaves_no_record_once_all_is_well(fastocr, reader):
    make_pdf(Path("a.pdf"), 2)
    fastocr("parse", "a.pdf", "-o", "a.md")
    fastocr("parse", "a.pdf", "-o", "a.md")
    assert reader.pages_read == [1, 2, 1, 2]
    assert {p.name for p in Path(".fastocr").iterdir()} == {".gitignore", "outputs.jsonl"}


@pytest.mark.parametrize("name", ["outputs", "journal"])
def test_an_output_may_be_called_like_a_record_of_ours(fastocr, reader, name):
    make_pdf(Path("a.pdf"), 1)
    for output in ("other", "./", name, name, "other", "./"):
        assert fastocr("parse", "a.pdf", "-o", output).code == 0
    assert reader.pages_read == [1] * 5, "what the folder's journal holds is not read again"


def test_changed_file_is_read_anew(fastocr, reader):
    make_pdf(Path("a.pdf"), 1)
    fastocr("parse", "a.pdf", "-o", "out/")
    make_pdf(Path("a.pdf"), 2)
    fastocr("parse", "a.pdf", "-o", "out/")
    assert reader.pages_read == [1, 1, 2]


def test_another_version_of_the_program_reads_anew(fastocr, reader, monkeypatch):
    make_pdf(Path("a.pdf"), 1)
    fastocr("parse", "a.pdf", "-o", "out/")
    monkeypatch.setattr("fastocr_cli.pipeline.__version__", "99.0")
    fastocr("parse", "a.pdf", "-o", "out/")
    assert reader.pages_read == [1, 1]


def test_a_calibration_is_a_reason_to_read_anew(fastocr, reader, monkeypatch):
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: Path("cache") / name)
    calibration = calibration_path("fake", "r1")
    calibration.parent.mkdir(parents=True)
    make_pdf(Path("a.pdf"), 1)
    one, two = ({"revision": "r1", "layers": [layer]} for layer in (5, 6))
    for facts in (None, {**one, "revision": "of other weights"}, one, one, two):
        calibration.write_text(json.dumps(facts)) if facts else None
        fastocr("parse", "a.pdf", "-o", "out/", "--keep", "0.5")
    assert reader.pages_read == [1, 1, 1]
    fastocr("parse", "a.pdf", "-o", "dense/")
    calibration.write_text(json.dumps(one))
    fastocr("parse", "a.pdf", "-o", "dense/")
    assert reader.pages_read == [1, 1, 1, 1], "nothing pruned, nothing changed"


def test_nothing_to_read_is_no_reason_to_load_the_model(fastocr, reader, monkeypatch):
    """Not even torch, which takes seconds."""
    make_pdf(Path("a.pdf"), 2)
    Path("broken.png").write_bytes(damaged_png())
    Path("out").mkdir()
    assert fastocr("parse", "a.pdf", "-o", "out/", "--report", "first.json").code == 0
    monkeypatch.setattr("fastocr_cli.api.load_reader", _refuse)
    again = fastocr("parse", "a.pdf", "-o", "out/", "-f", "md,json,html", "--report", "again.json")
    assert (again.code, "2 already read" in again.err) == (0, True), again.err
    models = [json.loads(Path(f"{name}.json").read_text())["model"] for name in ("first", "again")]
    assert models[0] == models[1] == {"name": "fake", "revision": "r1"}
    for more in ([], ["-j", "auto", "-b", "auto"], ["-f", "json"], ["--keep", "0.5"]):
        assert fastocr("parse", "broken.png", *more).code == ExitCode.INPUT_UNREADABLE
    code = (
        "import sys\n"
        "from fastocr_cli.__main__ import run\n"
        "assert run(sys.argv[1:]) == 4\n"
        "heavy = {'torch', 'transformers'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code, "parse", "broken.png", "-q"], check=True, cwd=".")


def _refuse(options):
    raise AssertionError("the model was loaded")


def damaged_png() -> bytes:
    """Opens, as its head is whole, but cannot be drawn."""
    buffer = io.BytesIO()
    Image.effect_noise((200, 200), 90).save(buffer, "png")
    return buffer.getvalue()[:-300]


def test_incomplete_pages_wait_for_retry_failed(fastocr, reader):
    trouble = {2: PageStatus.LOOPED}
    reader.behave = lambda page, keep: trouble.get(page.number, PageStatus.OK)
    make_pdf(Path("a.pdf"), 3)
    first = fastocr("parse", "a.pdf", "-o", "out/", "--max-retries", "0")
    again = fastocr("parse", "a.pdf", "-o", "out/", "--max-retries", "0")
    assert (first.code, again.code) == (ExitCode.PARTIAL, ExitCode.PARTIAL)
    assert reader.pages_read == [1, 2, 3]
    trouble.clear()
    healed = fastocr("parse", "a.pdf", "-o", "out/", "--max-retries", "0", "--retry-failed")
    assert healed.code == 0
    assert reader.pages_read == [1, 2, 3, 2]


def test_a_page_that_failed_is_always_tried_again(fastocr, reader):
    hiccups = [RuntimeError("a hiccup")]

    def behave(page, keep):
        if page.number == 2 and hiccups:
            raise hiccups.pop()
        return PageStatus.OK

    reader.behave = behave
    make_pdf(Path("a.pdf"), 3)
    arguments = ("parse", "a.pdf", "-o", "out/", "--max-retries", "0", "-b", "1")
    assert fastocr(*arguments).code == ExitCode.PARTIAL
    assert fastocr(*arguments).code == 0
    assert reader.pages_read == [1, 3, 2]


@pytest.mark.parametrize("batch", [1, 3])
def test_interrupt_finishes_the_record_and_says_how_to_go_on(fastocr, reader, batch):
    patient, reader.behave = reader.behave, interrupted_at(6)
    make_pdf(Path("a.pdf"), 8)
    arguments = ("parse", "a.pdf", "-o", "a.md", "--batch-size", str(batch))
    result = fastocr(*arguments)
    assert result.code == ExitCode.INTERRUPTED
    recorded = 5 // batch * batch
    assert f"{recorded} page(s) are on record; run the same command again" in result.err
    assert not Path("a.md").exists()
    reader.behave = patient
    assert fastocr(*arguments).code == 0
    assert Path("a.md").read_text().count("# page") == 8
    assert reader.pages_read[-(8 - recorded) :] == list(range(recorded + 1, 9))


@pytest.fixture
def heeded_hangups():
    """As in a terminal, though the tests may run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("heeded_hangups")
@pytest.mark.parametrize(
    ("by", "code"),
    [(signal.SIGTERM, ExitCode.TERMINATED), (signal.SIGHUP, ExitCode.HUNG_UP)],
)
def test_a_signal_to_end_is_an_interrupt_with_its_own_code(fastocr, reader, by, code):
    before = signal.getsignal(by)
    reader.behave = interrupted_at(3, by)
    make_pdf(Path("a.pdf"), 4)
    result = fastocr("parse", "a.pdf", "-o", "out/a.md", "-b", "1", "--report", "run.json")
    assert result.code == code == 128 + by
    assert "interrupted: 2 page(s) are on record; run the same command again" in result.err
    assert {path.name for path in Path("out").iterdir()} == {".fastocr"}, "no part of a file"
    jsonschema.validate(json.loads(Path("run.json").read_text()), load_schema("report"))
    assert signal.getsignal(by) == before


@pytest.mark.usefixtures("heeded_hangups")
def test_a_closed_terminal_ends_the_run_in_order(tmp_path):
    make_pdf(tmp_path / "a.pdf", 50)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.environ |= {"FAKE_LOG": "log", "FAKE_SECONDS": "0.05", "PYTHONPATH": str(ROOT)}
        arguments = ["parse", "a.pdf", "-o", "a.md", "-b", "1", "--report", "run.json"]
        os.execv(sys.executable, [sys.executable, "-m", "tests.cli.fakes", *arguments])
    deadline = time.monotonic() + 60
    while not (tmp_path / "log").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == ExitCode.HUNG_UP
    assert json.loads((tmp_path / "run.json").read_text())["exit_code"] == ExitCode.HUNG_UP
    assert not list(tmp_path.glob("*.part"))


def test_nohup_is_respected(fastocr, reader):
    reader.behave = interrupted_at(1, signal.SIGHUP)
    make_pdf(Path("a.pdf"), 2)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert fastocr("parse", "a.pdf", "-o", "a.md").code == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_summary_of_a_run_that_stopped_is_true(fastocr, reader):
    reader.behave = interrupted_at(2)
    for name in ("one.pdf", "two.pdf"):
        make_pdf(Path(name), 1)
    make_pdf(Path("five.pdf"), 5)
    stopped = fastocr("parse", "five.pdf", "-o", "out/", "-b", "1").err.splitlines()[0]
    assert stopped.startswith("five.pdf: 1 of 5 pages ok in ")
    assert "out/" not in stopped, "nothing is there yet"
    some = fastocr("parse", "one.pdf", "five.pdf", "two.pdf", "-o", "more/", "-b", "1").err
    assert some.startswith("3 files: 2 of 6 pages ok, 1 not reached in ")
    assert some.splitlines()[0].endswith("-> more/")
    failed = fastocr("parse", "no.pdf", "one.pdf", "two.pdf", "-o", "out/", "--fail-fast").err
    assert "3 files: 0 pages, 1 unreadable, 2 not reached in " in failed


def run_slowly(arguments: list[str], log: Path, seconds: float = 0.02) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "FAKE_LOG": str(log),
        "FAKE_SECONDS": str(seconds),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "tests.cli.fakes", *arguments]
    return subprocess.Popen(
        command, env=environment, cwd=log.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def kill_at(process: subprocess.Popen[bytes], log: Path, pages: int) -> None:
    """kill -9 once that many pages have begun, at some moment after."""
    while process.poll() is None:
        if log.exists() and log.read_text().count("\n") >= pages:
            time.sleep(random.random() * 0.03)
            process.kill()
            break
        time.sleep(0.002)
    process.wait()


@pytest.mark.parametrize(
    ("pages", "moments"), [(12, 2), pytest.param(40, 50, marks=pytest.mark.slow)]
)
def test_kill_9_loses_at_most_the_page_in_flight(tmp_path, pages, moments):
    """Killed again and again until it is done: same bytes, and each kill costs at most one page."""
    random.seed(moments)
    make_pdf(tmp_path / "a.pdf", pages, blank=(7,))
    arguments = ["parse", "a.pdf", "-b", "1", "-f", "md,json,jsonl,html", "-q"]
    assert run_slowly([*arguments, "-o", "whole/"], tmp_path / "whole.log", 0).wait() == 0
    log = tmp_path / "killed.log"
    kills = 0
    for kill in range(moments):
        begun = log.read_text().count("\n") if log.exists() else 0
        process = run_slowly([*arguments, "-o", "killed/"], log)
        kill_at(process, log, begun + 1 + (pages - kill) // (2 * moments))
        kills += process.returncode == -signal.SIGKILL
    assert run_slowly([*arguments, "-o", "killed/"], log).wait() == 0
    assert kills > moments // 2
    begun_pages = [int(line) for line in log.read_text().split()]
    assert set(begun_pages) == set(range(1, pages + 1)) - {7}
    assert len(begun_pages) <= pages - 1 + kills
    for name in ("a.md", "a.json", "a.jsonl", "a.html"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not list((tmp_path / "killed").glob("*.part"))

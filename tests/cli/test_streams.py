"""What reaches the terminal: the product alone on stdout, everything else, well said, on stderr."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from PIL import Image

from fastocr_cli.errors import ExitCode, MissingModelError
from fastocr_cli.results import PageStatus
from fastocr_cli.schemas import load_schema
from tests.cli.fakes import interrupted_at, make_pdf

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


def damaged_image(name: str) -> None:
    """Opens, as its head is whole, but cannot be drawn."""
    Image.effect_noise((200, 200), 90).save(name)
    Path(name).write_bytes(Path(name).read_bytes()[:-300])


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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [("parse a.pdf -q -f json", ""), ("schema", ""), ("config show", "1"), ("--help", "")],
)
def test_a_full_disk_behind_stdout_is_an_output_error(tmp_path, command, unbuffered):
    make_pdf(tmp_path / "a.pdf", 2)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tests.cli.fakes", *command.split()],
            cwd=tmp_path,
            env={**os.environ, **_FAKE, "FAKE_NOISE": "", "PYTHONUNBUFFERED": unbuffered},
            stdout=full, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    told = b"error: standard output: no space left; free some or choose another place\n"
    assert (done.returncode, done.stderr) == (ExitCode.OUTPUT_NOT_WRITABLE, told)


def test_json_progress_is_one_object_an_event(fastocr):
    make_pdf(Path("a.pdf"), 2)
    result = fastocr("parse", "a.pdf", "-o", "a.md", "--progress", "json", "-q")
    events = [json.loads(line) for line in result.err.splitlines()]
    assert [event["event"] for event in events] == ["opened", "page", "page", "done"]
    assert events[-1]["pages_done"] == 2


def test_json_progress_is_json_whatever_happens(fastocr, reader, monkeypatch):
    def events(*arguments):
        err = fastocr("parse", *arguments, "--progress", "json").err
        return [json.loads(line) for line in err.splitlines()]

    reader.behave = lambda page, keep: PageStatus.LOOPED if page.number == 2 else PageStatus.OK
    reader.warning = "a caution"
    make_pdf(Path("a.pdf"), 2)
    make_pdf(Path("b.pdf"), 1)
    damaged_image("cut.png")
    found = events("a.pdf", "no\udcff.pdf", "cut.png", "b.pdf", "-o", "out/", "-b", "1")
    kinds = [event["event"] for event in found]
    assert kinds.count("failed") == 1
    assert kinds[-2:] == ["summary", "hint"]
    assert "error" not in kinds, "each failure is told once"
    assert found[-2]["exit_code"] == ExitCode.PARTIAL
    assert found[-2]["totals"]["statuses"]["looped"] == 1
    pages = {(e["source"], e["page"]): e for e in found if e["event"] == "page"}
    assert "repeated itself" in pages["a.pdf", 2]["reason"]
    assert pages["cut.png", 1]["reason"].startswith("cut.png")
    assert pages["b.pdf", 1]["reason"] is None
    assert "a caution" in [event.get("message") for event in found]
    estimates = [event["pages_estimated"] for event in found if "pages_estimated" in event]
    assert estimates[0]
    assert not estimates[-1]
    assert [e["event"] for e in events("cut.png")][-1] == "summary"
    for arguments in (["--keep", "7"], ["--no-such-flag"], ["-vv", "--keep", "7"]):
        assert events("a.pdf", *arguments)[-1]["event"] == "error"
    monkeypatch.setenv("FASTOCR_PROGRESS", "json")
    for arguments in (["--keep", "7"], ["--no-such-flag"]):
        result = fastocr("parse", "a.pdf", *arguments)
        assert json.loads(result.err)["event"] == "error"
    assert not fastocr("doctor", "--no-such-flag").err.startswith("{"), "it shows no progress"


@pytest.mark.parametrize("is_loaded", [True, False])
def test_the_hub_s_further_attempts_are_not_told(is_loaded):
    loading = ["import huggingface_hub", "quiet_libraries()"]
    code = [
        "import logging",
        "from fastocr_cli.delivery.stdio import quiet_libraries",
        *(loading if is_loaded else reversed(loading)),
        "from huggingface_hub.utils import _http",
        "assert not _http.logger.isEnabledFor(logging.WARNING)",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(code)], check=True, cwd=ROOT)


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


def test_a_document_that_the_run_stopped_in_is_partial(fastocr, reader):
    reader.behave = lambda page, keep: PageStatus.LOOPED if page.number == 2 else PageStatus.OK
    make_pdf(Path("a.pdf"), 4)
    make_pdf(Path("b.pdf"), 1)
    arguments = ["parse", "a.pdf", "b.pdf", "-o", "out/", "--fail-fast", "--report", "run.json"]
    assert fastocr(*arguments, "-b", "1").code == ExitCode.PARTIAL
    report = json.loads(Path("run.json").read_text())
    jsonschema.validate(report, load_schema("report"))
    assert [document["status"] for document in report["documents"]] == ["partial", "unread"]
    assert [page["number"] for page in report["documents"][0]["pages"]] == [1, 2]


def test_fail_fast_gives_the_failure_the_code_that_it_has_otherwise(fastocr):
    damaged_image("cut.png")
    for more in ([], ["--fail-fast"]):
        result = fastocr("parse", "cut.png", "-o", "a.md", "--report", "run.json", *more)
        assert result.code == ExitCode.INPUT_UNREADABLE
        report = json.loads(Path("run.json").read_text())
        assert report["totals"]["failed_documents"] == 1
        assert report["documents"][0]["status"] == "failed"


@pytest.fixture
def broken(monkeypatch) -> None:
    """A command that meets a fault of ours."""

    def fail(*arguments):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("fastocr_cli.run.plan", fail)
    make_pdf(Path("a.pdf"), 1)


def test_no_traceback_without_request(fastocr, broken):
    result = fastocr("parse", "a.pdf", "-ovv.md")
    assert result.code == 1
    assert result.err == "error: ZeroDivisionError: oh; a fault of fastocr's, -vv shows where\n"


@pytest.mark.parametrize("place", ["flag", "FASTOCR_VERBOSE", "FASTOCR_DEBUG", "file"])
def test_traceback_by_flag_environment_or_file(fastocr, broken, monkeypatch, place):
    if place.startswith("FASTOCR"):
        monkeypatch.setenv(place, "2")
    if place == "file":
        Path("fastocr.toml").write_text("verbose = 2")
    assert "Traceback" in fastocr("parse", "a.pdf", *["-vv"] * (place == "flag")).err


def test_traceback_of_an_error_in_the_settings(fastocr, monkeypatch):
    monkeypatch.setenv("FASTOCR_KEEP", "lots")
    assert "Traceback" in fastocr("parse", "a.pdf", "-vv").err
    assert "Traceback" not in fastocr("parse", "a.pdf").err


def test_traceback_of_a_page_s_fault(fastocr, reader, monkeypatch):
    def wrong(page, keep):
        raise RuntimeError("tensor of the wrong shape")

    reader.behave = wrong
    make_pdf(Path("a.pdf"), 1)
    assert "Traceback" not in fastocr("parse", "a.pdf", "-v").err
    assert "in wrong" in fastocr("parse", "a.pdf", "-vv").err

    def unforeseen(document):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("fastocr_cli.pipeline.file_digest", unforeseen)
    assert "in unforeseen" in fastocr("parse", "a.pdf", "-vv").err


@pytest.mark.parametrize("form", ["json", "html"])
@pytest.mark.parametrize("more", [[], ["--fail-fast"], ["-o", "/dev/stdout"]], ids=" ".join)
def test_a_stream_is_whole_without_one_drawn_page(fastocr, form, more):
    damaged_image("cut.png")
    out = fastocr("parse", "cut.png", "-f", form, *more).out.decode()
    if form == "json":
        (page,) = json.loads(out)["pages"]
        assert (page["status"], page["dpi"], set(page["size"].values())) == ("failed", 0, {0})
    else:
        assert out.endswith("</html>\n")
        assert "dpi" not in out, "there is no drawing to tell of"


@pytest.mark.parametrize("form", ["md", "txt"])
def test_without_one_drawn_page_there_is_no_text(fastocr, form):
    damaged_image("cut.png")
    result = fastocr("parse", "cut.png", "-f", form)
    assert (result.code, result.out) == (ExitCode.INPUT_UNREADABLE, b"")
    make_pdf(Path("a.pdf"), 1)
    mixed = fastocr("parse", "cut.png", "a.pdf", "-f", "jsonl").out.splitlines()
    assert [json.loads(line)["status"] for line in mixed] == ["failed", "ok"]


def test_a_model_that_cannot_be_loaded_leaves_the_stream_empty(fastocr, monkeypatch):
    def missing(options):
        raise MissingModelError("no such device")

    monkeypatch.setattr("fastocr_cli.api.load_reader", missing)
    make_pdf(Path("a.pdf"), 1)
    for form in ("json", "html"):
        result = fastocr("parse", "a.pdf", "-f", form)
        assert (result.code, result.out) == (ExitCode.MISSING_DEPENDENCY, b"")


def test_a_stream_is_whole_when_the_run_stops_half_way(fastocr, reader, monkeypatch):
    make_pdf(Path("a.pdf"), 4)
    reader.behave = lambda page, keep: PageStatus.LOOPED
    failing = fastocr("parse", "a.pdf", "-f", "json", "--fail-fast", "-b", "1")
    assert [page["number"] for page in json.loads(failing.out)["pages"]] == [1]
    files = fastocr("parse", "a.pdf", "-o", "a.json", "--fail-fast", "-b", "1")
    assert files.code == ExitCode.PARTIAL
    assert not Path("a.json").exists(), "a file is whole or not there"

    reader.behave = interrupted_at(3)
    stopped = fastocr("parse", "a.pdf", "-f", "json", "-b", "1")
    assert stopped.code == ExitCode.INTERRUPTED
    assert [page["number"] for page in json.loads(stopped.out)["pages"]] == [1, 2]


def test_a_device_or_a_pipe_gets_the_product_and_no_record_beside_it(tmp_path):
    make_pdf(tmp_path / "a.pdf", 2)
    before = set(Path("/dev").iterdir())
    for name in ("/dev/null", "/dev/stdout"):
        out, err = run_command(["parse", "a.pdf", "-o", name], tmp_path)
        assert out.count(b"# page") == (0 if name == "/dev/null" else 2)
        assert b"a.pdf: 2 pages ok" in err
    assert set(Path("/dev").iterdir()) == before
    command = f"{sys.executable} -m tests.cli.fakes parse a.pdf -q -f json -o >(cat > copy.json)"
    environment = {**os.environ, **_FAKE, "FAKE_NOISE": ""}
    subprocess.run(
        ["bash", "-c", f"{command}; wait $!; cat < copy.json"],
        cwd=tmp_path, env=environment, capture_output=True, check=True,
    )  # fmt: skip
    assert len(json.loads((tmp_path / "copy.json").read_text())["pages"]) == 2
    with (tmp_path / "log").open("wb") as log:
        log.write(b"before\n")
        log.flush()
        again = f"{command.partition(' -f')[0]} -o /dev/stderr"
        subprocess.run(["bash", "-c", again], cwd=tmp_path, env=environment, stderr=log, check=True)
    assert (tmp_path / "log").read_bytes().startswith(b"before\n# page 1")

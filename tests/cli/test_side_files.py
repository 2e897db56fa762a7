"""Reports, figures and pictures never cost a file, and cannot fail after the reading."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from fastocr_cli.delivery.side_files import (
    BENCH,
    CALIBRATION,
    PICTURE,
    TRACE,
    SideFile,
    check_side_files,
    report_kind,
)
from fastocr_cli.errors import ExitCode, OutputError
from fastocr_cli.figure import new_figure, save
from fastocr_cli.fixation.calibration import Calibration
from fastocr_cli.fixation.focal import Masses
from tests.cli.fakes import make_pdf
from tests.cli.test_parse import make_image

COMMANDS = {
    "report": ["parse", "a.png", "-o", "a.md", "--report"],
    "json": ["bench", "a.png", "--json"],
    "csv": ["bench", "a.png", "--csv"],
    "plot": ["bench", "a.png", "--plot"],
    "trace": ["trace", "a.png", "-o"],
    "calibration": ["calibrate", "a.png", "-o"],
    "picture": ["calibrate", "a.png", "--picture"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_lost_and_nothing_is_read_for_nothing(fastocr, reader, command):
    make_image(Path("a.png"))
    Path("link.png").symlink_to("a.png")
    make_image(Path("other.png"))
    Path("file").write_text("x")
    Path("folder.png").mkdir()
    files = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    cases = {
        **dict.fromkeys(["a.png", "link.png"], (ExitCode.USAGE, "that is an input")),
        "other.png": (ExitCode.OUTPUT_NOT_WRITABLE, "exists and is not an earlier"),
        "folder.png": (ExitCode.OUTPUT_NOT_WRITABLE, "is a folder"),
        "file/new.png": (ExitCode.OUTPUT_NOT_WRITABLE, "is a file, not a folder"),
    }
    for name, (code, words) in cases.items():
        result = fastocr(*COMMANDS[command], name)
        assert (result.code, len(result.err.splitlines())) == (code, 1), result.err
        assert words in result.err
    assert not reader.pages_read
    assert files == {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_without_permission_is_told_at_once(fastocr, reader, monkeypatch, command):
    make_image(Path("a.png"))
    monkeypatch.setattr("fastocr_cli.delivery.side_files.os.access", lambda *_: False)
    result = fastocr(*COMMANDS[command], "new.png")
    assert (result.code, "no permission" in result.err) == (ExitCode.OUTPUT_NOT_WRITABLE, True)
    assert not reader.pages_read


@pytest.mark.parametrize("command", COMMANDS)
def test_a_place_where_nothing_can_be_made_is_told_at_once(fastocr, reader, command):
    """Root may write everywhere by its permissions, yet makes no file in /proc."""
    make_image(Path("a.png"))
    for name in ("/proc/run.png", "/proc/new/run.png"):
        result = fastocr(*COMMANDS[command], name)
        assert (result.code, len(result.err.splitlines())) == (ExitCode.OUTPUT_NOT_WRITABLE, 1)
    assert not reader.pages_read


def test_looking_at_a_place_leaves_nothing_there(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("deep/er/run.json", "there/run.json"):
        check_side_files([SideFile("--report", tmp_path / name, report_kind(None))])
    assert list(tmp_path.rglob("*")) == [tmp_path / "there"]


def test_a_report_that_fails_in_the_end_costs_no_summary(fastocr, monkeypatch):
    def full(path, data):
        raise OutputError("run.json: no space left")

    monkeypatch.setattr("fastocr_cli.run.write_file", full)
    make_image(Path("a.png"))
    result = fastocr("parse", "a.png", "-o", "a.md", "--report", "run.json")
    assert result.code == ExitCode.OUTPUT_NOT_WRITABLE
    summary, error = result.err.splitlines()
    assert summary.startswith("a.png: 1 page ok")
    assert error == "error: run.json: no space left"


def test_two_outputs_in_one_file_are_refused(fastocr, reader):
    make_image(Path("a.png"))
    for arguments in (
        ["parse", "a.png", "-o", "b.json", "--report", "b.json"],
        ["parse", "a.png", "-o", "out/", "-f", "md,json", "--report", "out/a.json"],
        ["bench", "a.png", "--json", "b", "--csv", "./b"],
        ["calibrate", "a.png", "-o", "b.png", "--picture", "b.png"],
    ):
        assert fastocr(*arguments).code == ExitCode.USAGE, arguments
    assert not reader.pages_read


@pytest.mark.parametrize("command", ["plot", "trace", "picture"])
def test_an_unknown_picture_format_is_told_at_once(fastocr, reader, command):
    make_image(Path("a.png"))
    result = fastocr(*COMMANDS[command], "new.xyz")
    assert (result.code, "use .svg, .png or .pdf" in result.err) == (ExitCode.USAGE, True)


def test_a_report_replaces_its_own_kind_alone(fastocr):
    make_pdf(Path("a.pdf"), 1)
    arguments = ["parse", "a.pdf", "-o", "out/", "--report", "run.json"]
    assert [fastocr(*arguments).code for _ in range(2)] == [0, 0]
    assert not BENCH.holds(Path("run.json"))
    fastocr("parse", "a.pdf", "-o", "a.json")
    document = ["parse", "a.pdf", "-o", "out/", "--report", "a.json"]
    assert fastocr(*document).code == ExitCode.OUTPUT_NOT_WRITABLE
    assert fastocr(*document, "--overwrite").code == 0
    Path("empty.json").touch()
    for stands in ("empty.json", "/dev/null"):
        assert fastocr(*arguments[:-1], stands).code == 0


def test_a_shard_does_not_replace_another_s_report(fastocr):
    names = [str(make_pdf(Path(f"{stem}.pdf"), 1)) for stem in "ab"]
    codes = [
        fastocr("parse", *names, "-o", "out/", "--report", "run.json", "--shard", shard).code
        for shard in ("1/2", "1/2", "2/2")
    ]
    assert codes == [0, 0, ExitCode.OUTPUT_NOT_WRITABLE]
    assert json.loads(Path("run.json").read_text())["shard"] == "1/2"
    assert report_kind(None).holds(Path("run.json"))


def test_earlier_results_are_known(tmp_path):
    masses = Masses(*(torch.zeros(1, 1) for _ in Masses.__dataclass_fields__))
    found = Calibration("m", None, (0,), keep=0.1, pages=1, steps=1, masses=masses)
    assert CALIBRATION.holds(found.save(tmp_path / "calibration.json"))
    for suffix in ("svg", "png", "pdf"):
        picture = save(new_figure(1, 1), tmp_path / f"picture.{suffix}")
        assert PICTURE.holds(picture)
        assert not TRACE.holds(picture)
        new_figure(1, 1).savefig(picture)
        assert not PICTURE.holds(picture), "somebody's own"

"""`fastocr parse` with real arguments: what it writes, where, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from fastocr_cli.delivery.ownership import Ownership
from fastocr_cli.errors import ExitCode, MissingModelError, OutputError
from fastocr_cli.results import PageStatus
from tests.cli.fakes import make_pdf


def make_image(path: Path, text: str = "hello") -> Path:
    image = Image.new("RGB", (200, 200), "white")
    ImageDraw.Draw(image).text((30, 60), text, fill="black", font_size=24)
    image.save(path)
    return path


def test_first_minute(fastocr):
    make_pdf(Path("report.pdf"), 2)
    result = fastocr("parse", "report.pdf", "-o", "report.md")
    assert (result.code, result.out) == (0, b"")
    assert result.err.startswith("report.pdf: 2 pages ok in ")
    assert result.err.endswith(" pages/s) -> report.md\n")
    assert Path("report.md").read_text().startswith("# page 1 ")
    visible = {p.name for p in Path().iterdir() if not p.name.startswith(".")}
    assert visible == {"report.pdf", "report.md"}


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("out.docx", "choose one of them, or a format with -f"),
        ("out.CSV", "there are .md, .markdown, .json, "),
        ("out.jsn", "did you mean .json?"),
    ],
)
def test_a_suffix_that_no_format_has_is_refused(fastocr, reader, output, says):
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("parse", "a.pdf", "-o", output)
    assert result.code == ExitCode.USAGE
    assert result.err.startswith(f"error: -o {output}: no format has the suffix ")
    assert says in result.err
    assert not reader.pages_read
    assert list(Path().iterdir()) == [Path("a.pdf")]


@pytest.mark.parametrize("arguments", [["out.jsn", "-f", "md"], ["out"], [".out"]], ids=" ".join)
def test_a_name_that_leaves_the_format_to_others_may_be_any(fastocr, arguments):
    make_pdf(Path("a.pdf"), 1)
    assert fastocr("parse", "a.pdf", "-o", *arguments).code == ExitCode.OK
    assert Path(arguments[0]).read_text().startswith("# page 1 ")


def test_loading_the_model_is_no_part_of_the_pace(fastocr, reader, monkeypatch):
    def load(options):
        time.sleep(1)
        return reader

    monkeypatch.setattr("fastocr_cli.api.load_reader", load)
    make_pdf(Path("a.pdf"), 2)
    result = fastocr("parse", "a.pdf", "-o", "a.md", "-b", "1", "-j", "0", "--progress", "json")
    events = [json.loads(line) for line in result.err.splitlines()]
    first = next(event for event in events if event["event"] == "page")
    assert first["seconds_left"] < 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--keep", "5%"], "--keep 5%: give a share from 0 to 1, such as 0.05"),
        (["--keep", "5"], "--keep 5: give a share of the visual tokens from 0 to 1, such as 0.25"),
        (["--dpi", "high"], "--dpi high: give a whole number"),
        (["--max-tokens", "1.5"], "--max-tokens 1.5: give a whole number"),
        (["--rtprune", "2"], "--rtprune 2: give a share to drop, from 0 to less than 1, such as"),
        (["--pages", "9"], "a.pdf: pages 9: the document has only 1 page; give pages up to 1"),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_meant_is_told_with_what_can(fastocr, arguments, says):
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("parse", "a.pdf", *arguments)
    assert result.code == ExitCode.USAGE
    assert result.err.startswith(f"error: {says}")


def test_single_input_goes_to_stdout(fastocr):
    make_pdf(Path("a.pdf"), 2)
    result = fastocr("parse", "a.pdf")
    assert result.code == 0
    assert result.out.count(b"# page") == 2
    assert list(Path().iterdir()) == [Path("a.pdf")]


def test_dash_is_stdout_and_stdin(fastocr):
    make_pdf(Path("a.pdf"), 2)
    result = fastocr("parse", "-", "-o", "-", "-f", "txt", stdin=Path("a.pdf").read_bytes())
    assert result.code == 0
    assert result.out.startswith(b"page 1 ")
    assert result.err.startswith("-: 2 pages ok")


@pytest.mark.parametrize(
    "arguments",
    [[], ["-f", "json"], ["-f", "json", "-o", "-"], ["-f", "html", "-o", "/dev/stdout"]],
    ids=" ".join,
)
def test_several_inputs_that_one_stream_cannot_hold_are_refused(fastocr, reader, arguments):
    make_pdf(Path("a.pdf"), 1)
    make_pdf(Path("b.pdf"), 1)
    result = fastocr("parse", "a.pdf", "b.pdf", *arguments)
    assert result.code == ExitCode.USAGE
    assert "-o out/" in result.err
    assert not reader.pages_read


def test_running_text_of_several_inputs_to_stdout_if_asked(fastocr):
    make_pdf(Path("a.pdf"), 2)
    make_pdf(Path("b.pdf"), 1)
    assert fastocr("parse", "a.pdf", "b.pdf", "-o", "-").out.count(b"# page") == 3


def test_json_lines_of_several_inputs_to_stdout(fastocr):
    make_pdf(Path("a.pdf"), 2)
    make_pdf(Path("b.pdf"), 1)
    result = fastocr("parse", "a.pdf", "b.pdf", "-f", "jsonl")
    records = [json.loads(line) for line in result.out.splitlines()]
    assert [(r["source"], r["number"]) for r in records] == [
        ("a.pdf", 1),
        ("a.pdf", 2),
        ("b.pdf", 1),
    ]


def test_folder_is_mirrored_in_several_formats(fastocr):
    Path("in/deep").mkdir(parents=True)
    make_pdf(Path("in/a.pdf"), 1)
    make_image(Path("in/a.png"))
    make_pdf(Path("in/deep/文书 \U0001f600.pdf"), 1)
    result = fastocr("parse", "in", "-o", "out/", "-f", "md,json")
    assert result.code == 0
    written = {p.relative_to("out").as_posix() for p in Path("out").rglob("*.*") if p.is_file()}
    assert {w for w in written if not w.startswith(".fastocr")} == {
        "a.pdf.md",
        "a.pdf.json",
        "a.png.md",
        "a.png.json",
        "deep/文书 \U0001f600.md",
        "deep/文书 \U0001f600.json",
    }


def test_pages_in_order_through_uneven_batches(fastocr, reader):
    make_pdf(Path("a.pdf"), 5, blank=(2,))
    make_pdf(Path("b.pdf"), 2)
    fastocr("parse", "a.pdf", "b.pdf", "-o", "out/", "--batch-size", "4")
    assert reader.batches == [4, 2]
    marks = [line[2:8] for line in Path("out/a.md").read_text().splitlines() if line]
    assert marks == ["page 1", "page 3", "page 4", "page 5"]


def test_blank_page_costs_no_model_call(fastocr, reader):
    make_pdf(Path("a.pdf"), 2, blank=(1, 2))
    result = fastocr("parse", "a.pdf", "-f", "json")
    assert result.code == 0
    assert not reader.batches
    assert [page["status"] for page in json.loads(result.out)["pages"]] == ["blank", "blank"]
    assert "2 pages blank" in result.err


def test_page_selection(fastocr, reader):
    make_pdf(Path("a.pdf"), 9)
    assert fastocr("parse", "a.pdf", "--pages", "1,3-4,9-end").code == 0
    assert reader.pages_read == [1, 3, 4, 9]


BAD = {
    "missing": ("missing.pdf", ExitCode.INPUT_UNREADABLE),
    "empty folder": ("empty", ExitCode.INPUT_UNREADABLE),
    "truncated": ("truncated.pdf", ExitCode.INPUT_UNREADABLE),
    "zero bytes": ("zero.png", ExitCode.INPUT_UNREADABLE),
    "cut image": ("cut.png", ExitCode.INPUT_UNREADABLE),
    "unknown kind": ("notes.docx", ExitCode.INPUT_UNREADABLE),
    "encrypted": ("locked.pdf", ExitCode.ENCRYPTED),
}


@pytest.fixture
def bad_files(fastocr) -> None:
    Path("empty").mkdir()
    make_pdf(Path("whole.pdf"), 3)
    Path("truncated.pdf").write_bytes(Path("whole.pdf").read_bytes()[:300])
    Path("zero.png").write_bytes(b"")
    make_image(Path("cut.png"))
    Path("cut.png").write_bytes(Path("cut.png").read_bytes()[:-300])
    Path("notes.docx").write_bytes(b"PK\x03\x04 something")
    make_pdf(Path("locked.pdf"), 1, password="secret")
    Path("whole.pdf").unlink()


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_its_own_code(fastocr, bad_files, case):
    name, code = BAD[case]
    result = fastocr("parse", name, "-o", "out.md")
    assert result.code == code, result.err
    lines = [line for line in result.err.splitlines() if not line.startswith("warning:")]
    assert len(lines) == 1
    assert lines[0].startswith(f"error: {name}")
    assert "Traceback" not in result.err
    assert not Path("out.md").exists()


def test_bad_inputs_never_stop_the_others(fastocr, bad_files):
    make_pdf(Path("good.pdf"), 2)
    names = [name for name, _ in BAD.values()]
    result = fastocr("parse", *names, "good.pdf", "-o", "out/", "--report", "run.json")
    assert result.code == ExitCode.PARTIAL
    assert Path("out/good.md").read_text().count("# page") == 2
    report = json.loads(Path("run.json").read_text())
    assert report["exit_code"] == ExitCode.PARTIAL
    assert [(d["source"], d["status"]) for d in report["documents"]] == [
        *((name, "failed") for name in names),
        ("good.pdf", "ok"),
    ]


def test_password(fastocr, monkeypatch):
    make_pdf(Path("locked.pdf"), 1, password="secret")
    assert fastocr("parse", "locked.pdf", "--password", "wrong").code == ExitCode.ENCRYPTED
    assert fastocr("parse", "locked.pdf", "--password", "secret").code == 0
    monkeypatch.setenv("FASTOCR_PASSWORD", "secret")
    assert fastocr("parse", "locked.pdf").code == 0


IMPOSSIBLE = [
    ["--keep", "-0.1"],
    ["--keep", "1.01"],
    ["--keep", "lots"],
    ["--pages", "0"],
    ["--pages", "5-2"],
    ["--pages", "7"],
    ["--dpi", "-3"],
    ["--device", "toaster"],
    ["--dtype", "int3"],
    ["--batch-size", "0"],
    ["--shard", "3/2"],
    ["--format", "docx"],
    ["--format", "md,json"],
    ["--fixation", "refresh"],
    ["--rtprune", "2"],
    ["--rtprune-option", "strength=0.1"],
    ["--no-such-flag"],
    *([flag, ""] for flag in ("--pages", "-f", "-o", "--report", "--files-from", "--fixation")),
    *([flag, ""] for flag in ("--model", "--mode", "--rtprune", "--rtprune-option", "--shard")),
    *([flag, ","] for flag in ("--pages", "-f")),
    ["-o", "a.pdf"],
]


@pytest.mark.parametrize("arguments", IMPOSSIBLE, ids=" ".join)
def test_impossible_requests_are_usage_errors(fastocr, reader, arguments):
    make_pdf(Path("a.pdf"), 3)
    result = fastocr("parse", "a.pdf", *arguments)
    assert result.code == ExitCode.USAGE
    assert result.out == b""
    assert result.err.startswith("error: ")
    assert len(result.err.splitlines()) == 1
    assert not reader.pages_read


def test_incomplete_page_is_code_6_and_its_text_is_kept(fastocr, reader):
    reader.behave = lambda page, keep: PageStatus.LOOPED if page.number == 2 else PageStatus.OK
    make_pdf(Path("a.pdf"), 3)
    result = fastocr("parse", "a.pdf", "-o", "a.md")
    assert result.code == ExitCode.PARTIAL
    assert Path("a.md").read_text().count("# page") == 3
    assert "warning: a.pdf, page 2: looped" in result.err
    assert "3 pages (2 ok, 1 looped)" in result.err
    assert "--retry-failed" in result.err
    assert fastocr("parse", "a.pdf", "-o", "a.md", "--exit-zero").code == 0


def test_fault_in_the_model_is_the_page_s_alone(fastocr, reader):
    def behave(page, keep):
        if page.number == 1:
            raise RuntimeError("tensor of the wrong shape")
        return PageStatus.OK

    reader.behave = behave
    make_pdf(Path("a.pdf"), 3)
    result = fastocr("parse", "a.pdf", "-f", "json")
    statuses = [page["status"] for page in json.loads(result.out)["pages"]]
    assert (result.code, statuses) == (ExitCode.PARTIAL, ["failed", "ok", "ok"])
    assert "RuntimeError: tensor of the wrong shape" in result.err


def test_fail_fast_stops_at_the_first_failure(fastocr, reader):
    make_pdf(Path("b.pdf"), 1)
    result = fastocr("parse", "missing.pdf", "b.pdf", "-o", "out/", "--fail-fast")
    assert result.code == ExitCode.INPUT_UNREADABLE
    assert not reader.pages_read


def test_what_we_did_not_write_is_not_replaced(fastocr, reader):
    make_pdf(Path("a.pdf"), 1)
    Path("a.md").write_text("my notes")
    result = fastocr("parse", "a.pdf", "-o", "a.md")
    assert result.code == ExitCode.OUTPUT_NOT_WRITABLE
    assert "--overwrite" in result.err
    assert (Path("a.md").read_text(), reader.pages_read) == ("my notes", [])
    assert fastocr("parse", "a.pdf", "-o", "a.md", "--overwrite").code == 0
    assert fastocr("parse", "a.pdf", "-o", "a.md").code == 0
    Path("a.md").write_text("edited by hand")
    assert fastocr("parse", "a.pdf", "-o", "a.md").code == ExitCode.OUTPUT_NOT_WRITABLE


@pytest.mark.parametrize("output", ["out/", "out/a.md"])
def test_what_we_wrote_for_another_document_is_not_replaced(fastocr, reader, output):
    for folder in ("one", "two"):
        Path(folder).mkdir()
        make_pdf(Path(folder, "a.pdf"), 1 if folder == "one" else 2)
    assert fastocr("parse", "one/a.pdf", "-o", output).code == 0
    before = Path("out/a.md").read_bytes()
    refused = fastocr("parse", "two/a.pdf", "-o", output)
    assert refused.code == ExitCode.OUTPUT_NOT_WRITABLE
    assert refused.err.startswith("error: out/a.md: exists and was written for another document, ")
    assert f"{Path('one/a.pdf').resolve()}; move it away or use --overwrite" in refused.err
    assert (Path("out/a.md").read_bytes(), reader.pages_read) == (before, [1])
    data = Path("two/a.pdf").read_bytes()
    assert fastocr("parse", "-", "-o", "out/a.md", stdin=data).code == ExitCode.OUTPUT_NOT_WRITABLE
    Path("one/a.pdf").rename("moved.pdf")
    assert fastocr("parse", "moved.pdf", "-o", "out/a.md").code == 0, "the same under a new name"
    make_pdf(Path("moved.pdf"), 3)
    assert fastocr("parse", "moved.pdf", "-o", "out/a.md").code == 0, "a new version of it"
    assert fastocr("parse", "two/a.pdf", "-o", output, "--overwrite").code == 0
    assert fastocr("parse", "two/a.pdf", "-o", output).code == 0


def test_several_documents_in_one_file_are_replaced_together(fastocr):
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        make_pdf(Path(name), 1)
    assert fastocr("parse", "a.pdf", "b.pdf", "-o", "all.jsonl").code == 0
    refused = fastocr("parse", "b.pdf", "c.pdf", "-o", "all.jsonl")
    assert refused.code == ExitCode.OUTPUT_NOT_WRITABLE
    assert f"another document, {Path('a.pdf').resolve()};" in refused.err
    assert fastocr("parse", "a.pdf", "b.pdf", "c.pdf", "-o", "all.jsonl").code == 0


def test_one_output_in_the_way_costs_no_other_document(fastocr, reader):
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        make_pdf(Path(name), 1)
    arguments = ("parse", "a.pdf", "b.pdf", "c.pdf", "-o", "out/")
    assert fastocr("parse", "b.pdf", "-o", "out/").code == 0
    Path("out/b.md").write_text("edited by hand")
    result = fastocr(*arguments)
    assert result.code == ExitCode.PARTIAL
    assert result.err.count("out/b.md: exists and was not written by fastocr") == 1
    assert "3 files: 2 pages ok, 1 not written" in result.err
    assert Path("out/b.md").read_text() == "edited by hand"
    assert {path.name for path in Path("out").glob("*.md")} == {"a.md", "b.md", "c.md"}
    assert reader.pages_read == [1, 1, 1], "b.pdf was not read in vain"


def test_output_that_cannot_be(fastocr, reader):
    make_pdf(Path("a.pdf"), 1)
    Path("file").write_text("")
    Path("out/a.md").mkdir(parents=True)
    for arguments in (["-o", "file/a.md"], ["-o", "file/"], ["-o", "out/"]):
        result = fastocr("parse", "a.pdf", *arguments)
        assert result.code == ExitCode.OUTPUT_NOT_WRITABLE, arguments
        assert len(result.err.splitlines()) == 1
    assert not reader.pages_read


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder(fastocr):
    make_pdf(Path("a.pdf"), 1)
    Path("out").mkdir(mode=0o500)
    assert fastocr("parse", "a.pdf", "-o", "out/").code == ExitCode.OUTPUT_NOT_WRITABLE


def test_disk_full_while_writing_leaves_no_half_file(fastocr, monkeypatch):
    def full(self, data):
        raise OutputError("a.md: no space left; free some or choose another place with -o")

    monkeypatch.setattr("fastocr_cli.writers.output.FileOutput.write", full)
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("parse", "a.pdf", "-o", "a.md")
    assert result.code == ExitCode.OUTPUT_NOT_WRITABLE
    assert "no space left" in result.err
    assert not Path("a.md").exists()


def test_a_record_deleted_during_the_run_costs_no_document(fastocr, reader):
    def behave(page, keep):
        shutil.rmtree("out/.fastocr")
        return PageStatus.OK

    reader.behave = behave
    for name in ("a.pdf", "b.pdf"):
        make_pdf(Path(name), 1)
    assert fastocr("parse", "a.pdf", "b.pdf", "-o", "out/", "-b", "1").code == 0
    assert {path.name for path in Path("out").iterdir()} == {"a.md", "b.md", ".fastocr"}
    assert Ownership(Path("out")).is_ours(Path("out/b.md"))


def test_an_output_that_vanishes_before_it_is_noted_is_an_output_error(tmp_path):
    with pytest.raises(OutputError, match=r"gone\.md"):
        Ownership(tmp_path).note(tmp_path / "gone.md", [])


def test_name_of_255_bytes(fastocr):
    name = "é" * 125 + "x" + ".pdf"
    make_pdf(Path(name), 1)
    assert fastocr("parse", name, "-o", "out/", "-f", "json").code == 0
    (written,) = Path("out").glob("*.json")
    assert len(written.name.encode()) <= 255


def test_names_with_odd_characters_stay_on_one_line(fastocr):
    result = fastocr("parse", "no\nsuch\x1b[31m.pdf", "-o", "out/")
    assert result.code == ExitCode.INPUT_UNREADABLE
    assert len(result.err.splitlines()) == 1
    assert "\x1b[31m." not in result.err


def test_files_from_stdin(fastocr, reader):
    make_pdf(Path("a b.pdf"), 1)
    make_pdf(Path("c.pdf"), 1)
    result = fastocr("parse", "--files-from", "-", "-o", "out/", stdin=b"a b.pdf\0c.pdf\0")
    assert result.code == 0
    assert Path("out/a b.md").exists()
    assert Path("out/c.md").exists()


def test_shards_share_the_inputs(fastocr):
    names = [str(make_pdf(Path(f"{stem}.pdf"), 1)) for stem in "abcde"]
    for shard in ("1/2", "2/2"):
        assert fastocr("parse", *names, "-o", "out/", "--shard", shard).code == 0
    assert sorted(p.stem for p in Path("out").glob("*.md")) == list("abcde")


def test_shards_in_one_file_are_refused(fastocr, reader):
    names = [str(make_pdf(Path(f"{stem}.pdf"), 1)) for stem in "ab"]
    Path("all.jsonl").touch()
    for output in ("all.jsonl", "new.jsonl"):
        result = fastocr("parse", *names, "-o", output, "--shard", "1/2")
        assert (result.code, "-o out/" in result.err) == (ExitCode.USAGE, True)
    assert not reader.pages_read
    shards = [
        fastocr("parse", *names, "-f", "jsonl", *where, "--shard", "2/2").code
        for where in ([], ["-o", "/dev/null"])
    ]
    assert shards == [0, 0], "a stream is each shard's own"


def test_an_empty_shard_says_so(fastocr):
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("parse", "a.pdf", "-o", "out/", "--shard", "2/2")
    assert (result.code, result.err) == (0, "shard 2/2: no input for it, nothing read\n")


def test_missing_model_is_code_3(fastocr, monkeypatch):
    def missing(options):
        raise MissingModelError("owner/model is not in the local cache; fetch it by: ...")

    monkeypatch.setattr("fastocr_cli.api.load_reader", missing)
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("parse", "a.pdf", "-o", "a.md")
    assert result.code == ExitCode.MISSING_DEPENDENCY
    assert result.err == "error: owner/model is not in the local cache; fetch it by: ...\n"
    assert not Path("a.md").exists()


def test_command_with_workers_writes_the_same(fastocr):
    make_pdf(Path("a.pdf"), 4, blank=(3,))
    fastocr("parse", "a.pdf", "-o", "one/", "-f", "md,json,html", "-j", "0")
    result = fastocr("parse", "a.pdf", "missing.pdf", "-o", "two/", "-f", "md,json,html", "-j", "1")
    assert result.code == ExitCode.PARTIAL
    for name in ("a.md", "a.json", "a.html"):
        assert (Path("one") / name).read_bytes() == (Path("two") / name).read_bytes()


def test_turned_pages_are_other_pages(fastocr, reader):
    make_pdf(Path("a.pdf"), 1)
    texts = [
        fastocr("parse", "a.pdf", "-o", "out/", "--rotate", turn) and Path("out/a.md").read_text()
        for turn in ("off", "90", "off")
    ]
    assert texts[0] == texts[2] != texts[1]
    assert len(reader.pages_read) == 2, "each is on record for itself"


def test_strict_reads_nothing_that_was_repaired(fastocr, reader):
    whole = make_pdf(Path("whole.pdf"), 1).read_bytes()
    Path("broken.pdf").write_bytes(whole.replace(b"startxref", b"startxxxx"))
    arguments = ["parse", "whole.pdf", "broken.pdf", "-o", "out/"]
    assert fastocr(*arguments).code == 0
    strict = fastocr(*arguments, "--strict", "--overwrite")
    assert strict.code == ExitCode.PARTIAL
    assert "broken.pdf: the PDF is damaged and was repaired" in strict.err
    assert "whole.pdf: " not in strict.err


def test_strict_fails_a_page_that_was_scaled_down(fastocr, reader):
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("parse", "a.pdf", "-o", "a.md", "--strict", "--max-pixels", "10000")
    assert result.code == ExitCode.INPUT_UNREADABLE
    assert "a.pdf, page 1: a page of 3 x 3 inches: drawn at" in result.err
    assert not reader.pages_read

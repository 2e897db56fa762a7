"""Files appear whole or not at all; what is in the way and what fails is said with what to do."""

import errno
import io
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fastocr_cli.errors import ExitCode, OutputError, UsageError
from fastocr_cli.writers import FORMATS, Writer, open_writer
from fastocr_cli.writers import output as output_module
from fastocr_cli.writers.mark import carries_our_mark
from fastocr_cli.writers.output import temporary_name
from tests.writers.examples import PROVENANCE, page

PAGE = page(1, "text")


def open_md(target: Path, **options: Any) -> Writer:
    return open_writer("md", target, PROVENANCE, **options)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "out.md"
    with open_md(target) as writer:
        writer.write(PAGE)
        assert not target.exists()
    assert target.read_bytes() == b"text\n"
    assert names(target.parent) == ["out.md"]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    target.write_text("before")

    def write_until_interrupted() -> None:
        with open_md(target, overwrite=True) as writer:
            writer.write(PAGE)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_until_interrupted()
    assert target.read_text() == "before"
    assert names(tmp_path) == ["out.md"]


def test_what_a_killed_run_left_behind_is_used_up(tmp_path: Path) -> None:
    (tmp_path / temporary_name("out.md")).write_text("half a document, much longer than ours")
    with open_md(tmp_path / "out.md") as writer:
        writer.write(PAGE)
    assert (tmp_path / "out.md").read_bytes() == b"text\n"
    assert names(tmp_path) == ["out.md"]


def test_somebody_elses_file_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    target.write_text("a letter")
    with pytest.raises(OutputError, match="--overwrite"):
        open_md(target)
    assert target.read_text() == "a letter"
    assert names(tmp_path) == ["out.md"]
    with open_md(target, is_ours=lambda path: path == target) as writer:
        writer.write(PAGE)
    assert target.read_text() == "text\n"


@pytest.mark.parametrize("name", ["json", "jsonl", "html"])
def test_our_mark_is_found(name: str, tmp_path: Path) -> None:
    target = tmp_path / f"out.{name}"
    for _ in range(2):
        with open_writer(name, target, PROVENANCE) as writer:
            writer.write(PAGE)
    assert carries_our_mark(target)


@pytest.mark.parametrize(
    "text", ['{"schema_version": "1", "tool": {"name": "other"}}', "<!doctype html>\n<p>", "# A"]
)
def test_other_files_carry_no_mark(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    assert not carries_our_mark(path)
    assert not carries_our_mark(tmp_path / "absent")


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is a folder; give the name of a file") as caught:
        open_md(tmp_path, overwrite=True)
    assert caught.value.exit_code == ExitCode.OUTPUT_NOT_WRITABLE


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="a file, not a folder"):
        open_md(tmp_path / "file" / "out.md")


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="too long"):
        open_md(tmp_path / ("x" * 300))
    longest = tmp_path / ("x" * 252 + ".md")
    with open_md(longest) as writer:
        writer.write(PAGE)
    assert longest.read_bytes() == b"text\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="no permission; change that or choose another place"):
        open_md(tmp_path / "out.md")


def test_a_write_protected_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.md"
    target.write_text("protected")
    monkeypatch.setattr(output_module.os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="no permission"):
        open_md(target, overwrite=True)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "no space left; free some"),
        (errno.EROFS, "read-only"),
        (errno.EIO, "written"),
    ],
)
@pytest.mark.parametrize("when", ["write", "commit"])
def test_failures_of_the_disk(
    number: int, words: str, when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    def write() -> None:
        with open_md(tmp_path / "out.md") as writer:
            if when == "write":
                monkeypatch.setattr(writer._output, "_stream", FailingStream(fail))
            else:
                monkeypatch.setattr(output_module.os, "fsync", fail)
            writer.write(PAGE)

    with pytest.raises(OutputError, match=words) as caught:
        write()
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == ExitCode.OUTPUT_NOT_WRITABLE
    assert names(tmp_path) == []


class FailingStream(io.RawIOBase):
    def __init__(self, fail: Callable[..., None]) -> None:
        super().__init__()
        self._fail = fail

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._fail()
        return 0


def test_a_full_disk_for_real() -> None:
    """/dev/full is a disk without space that every Linux has."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(OutputError, match="no space left"), open_md(Path("/dev/full")) as writer:
        writer.write(PAGE)
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with open_md(fifo) as writer:
        writer.write(PAGE)
        assert os.read(reader, 100) == b"text\n"  # at once, not at the end
    os.close(reader)
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    with open_md(tmp_path / "link.md", overwrite=True) as writer:
        writer.write(PAGE)
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text() == "text\n"


def test_standard_output_gets_each_page_at_once_and_stays_open() -> None:
    stream = io.BytesIO()
    with open_writer("md", stream, PROVENANCE) as writer:
        writer.write(PAGE)
        assert stream.getvalue() == b"text\n"
    assert not stream.closed


def test_a_closed_pipe_is_no_output_error() -> None:
    reader, end = os.pipe()
    os.close(reader)
    with (
        pytest.raises(BrokenPipeError),
        os.fdopen(end, "wb", buffering=0) as stream,
        open_writer("md", stream, PROVENANCE) as writer,
    ):
        writer.write(PAGE)


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_are_utf8_with_plain_line_ends(name: str, tmp_path: Path) -> None:
    target = tmp_path / f"out.{name}"
    with open_writer(name, target, PROVENANCE) as writer:
        writer.write(page(1, "naïve\r\n中文 😀 \ud800"))
    data = target.read_bytes()
    assert "中文 😀 \ufffd" in data.decode("utf-8")
    assert b"\r" not in data
    assert data.endswith(b"\n")


@pytest.mark.parametrize("name", FORMATS)
def test_a_long_document_is_not_held_in_memory(name: str) -> None:
    """What has been written is gone from the writer: only counts and links grow."""

    class Counter(io.RawIOBase):
        written = 0

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.written += len(data)
            return len(data)

    import tracemalloc

    stream = Counter()
    text = "word " * 2000
    with open_writer(name, stream, PROVENANCE) as writer:  # type: ignore[arg-type]
        writer.write(page(1, text, is_read=False), b"x" * 10_000)
        tracemalloc.start()
        for number in range(2, 101):
            writer.write(page(number, text, is_read=False), b"x" * 10_000)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert stream.written > 900_000
    assert kept < 300_000


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="md, txt, json, jsonl, html"):
        open_writer("pdf", tmp_path / "x.pdf", PROVENANCE)

"""Inputs to documents: what is found, in which order, and what is said of the rest."""

import io
import os
from pathlib import Path, PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fastocr_cli.errors import ExitCode, FastocrError, InputError, UsageError
from fastocr_cli.inputs.documents import Document, document_from_bytes, printable
from fastocr_cli.inputs.sniff import SUFFIXES, Kind, describe, sniff
from fastocr_cli.inputs.sources import natural_key, resolve

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
PDF = b"%PDF-1.7\n"
ODD_NAMES = [
    "two words.png",
    'it\'s "quoted".png',
    "line\nbreak.png",
    "报告 第1页.png",
    "\N{SLIGHTLY SMILING FACE}.png",
    "tab\there.png",
    "-dash.png",
    "[brackets]*.png",
    "a" * 251 + ".png",
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, content: bytes = PNG) -> Path:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content)
    return Path(path)


def sources(*inputs: str, **options: object) -> list[str]:
    return [document.source for document in resolve(inputs, **options).documents]


def only_error(*inputs: str, **options: object) -> FastocrError:
    found = resolve(inputs, **options)
    assert not found.documents
    (failure,) = found.failures
    assert "\n" not in str(failure.error)
    return failure.error


def test_order_is_the_users_and_natural_within_folders(here: Path) -> None:
    for name in ("d/p10.png", "d/p2.png", "d/P1.png", "d/b/x.png", "z.png", "a.pdf"):
        write(name, PDF if name.endswith("pdf") else PNG)
    assert sources("z.png", "d", "a.pdf") == [
        "z.png", "d/b/x.png", "d/P1.png", "d/p2.png", "d/p10.png", "a.pdf",
    ]  # fmt: skip


def test_folder_tree_is_mirrored_by_relative_paths(here: Path) -> None:
    write("in/a/b/one.png")
    write("in/two.png")
    found = resolve(["in", "in/a/b/one.png"])
    assert [d.relative for d in found.documents] == [PurePath("a/b/one.png"), PurePath("two.png")]
    assert resolve(["in/a/b/one.png"]).documents[0].relative == PurePath("one.png")


def test_a_file_named_twice_is_taken_once(here: Path) -> None:
    path = write("a.png")
    assert sources("a.png", "./a.png", str(path.absolute())) == ["a.png"]


def test_recursion_can_be_switched_off(here: Path) -> None:
    write("in/deep/one.png")
    write("in/two.png")
    assert sources("in") == ["in/deep/one.png", "in/two.png"]
    assert sources("in", recursive=False) == ["in/two.png"]


def test_hidden_and_other_files_in_a_folder_are_passed_over(here: Path) -> None:
    write("in/.hidden.png")
    write("in/.git/x.png")
    write("in/notes.txt", b"head = b'%PDF-1.4'")
    write("in/data.csv", b"a,b,%PDF-1.4\n")
    write("in/page")
    assert sources("in") == ["in/page"]
    assert not resolve(["in"]).failures
    assert sources("in/.hidden.png") == ["in/.hidden.png"]


def test_kind_is_judged_by_content(here: Path) -> None:
    write("scan.jpg", PNG)
    write("in/fake.pdf", b"hello")
    assert resolve(["scan.jpg"]).documents[0].kind is Kind.PNG
    found = resolve(["in", "scan.jpg"])
    assert [d.source for d in found.documents] == ["scan.jpg"]
    assert str(found.failures[0].error).startswith("in/fake.pdf: plain text, not a PDF")


def test_globs(here: Path) -> None:
    for name in ("p10.png", "p9.png", "deep/p1.png", ".p0.png"):
        write(name)
    assert sources("p*.png") == ["p9.png", "p10.png"]
    assert sources("**/*.png") == ["deep/p1.png", "p9.png", "p10.png"]
    assert "no file has such a name" in str(only_error("q*.png"))


@pytest.mark.parametrize("name", ODD_NAMES, ids=range(len(ODD_NAMES)))
def test_odd_names(here: Path, name: str) -> None:
    write(name)
    (document,) = resolve([name]).documents
    assert (document.source, document.path) == (name, Path(name))
    assert printable(name).isprintable()
    assert resolve(["."]).documents[0].path == Path(name)
    (here / "list").write_bytes(os.fsencode(name) + b"\0")
    assert sources(files_from="list") == [name]


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX only")
def test_a_name_that_is_not_utf8_can_be_read_and_printed(here: Path) -> None:
    name = os.fsdecode(b"caf\xe9.png")
    write(name)
    (document,) = resolve(["."]).documents
    assert document.source == "caf\\udce9.png"
    assert document.open().read() == PNG
    assert document.source.encode("utf-8")


def test_lists_by_line_or_by_zero_byte(here: Path) -> None:
    for name in ("a.png", "b c.png", "[x].png"):
        write(name)
    write("lines", b"\xef\xbb\xbfa.png\r\nb c.png\n\n[x].png")
    write("zeros", b"a.png\0b c.png\0[x].png\0")
    for name in ("lines", "zeros"):
        assert sources(files_from=name) == ["a.png", "b c.png", "[x].png"]
    assert sources("[[]x].png", files_from="-", stdin=io.BytesIO(b"a.png\n")) == [
        "[x].png",
        "a.png",
    ]


def test_stdin(here: Path) -> None:
    (document,) = resolve(["-"], stdin=io.BytesIO(PDF)).documents
    assert (document.source, document.kind, document.relative) == ("-", Kind.PDF, PurePath("stdin"))
    assert document.open().read() == PDF
    with pytest.raises(UsageError, match="once"):
        resolve(["-", "-"], stdin=io.BytesIO(PDF))
    with pytest.raises(UsageError, match="once"):
        resolve(["-"], files_from="-", stdin=io.BytesIO(PDF))
    assert "nothing arrived" in str(only_error("-", stdin=io.BytesIO()))


def test_a_terminal_is_not_waited_for() -> None:
    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    error = only_error("-", stdin=Terminal(PDF))
    assert error.exit_code == ExitCode.USAGE
    assert "fastocr parse - < scan.pdf" in str(error)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: None, "no such file"),
        (lambda: write("x.pdf", b""), "empty"),
        (lambda: write("x.pdf", b"PK\x03\x04" + bytes(9)), "ZIP archive or an office document"),
        (lambda: write("x.pdf", bytes(99)), "zero bytes"),
        (lambda: write("x.pdf", b"\x97JB2\r\n\x1a\n"), "JBIG2"),
        (lambda: write("x.pdf", b"<!DOCTYPE html>"), "HTML"),
        (lambda: Path("x.pdf").mkdir(), "no PDF or image in this folder"),
        (lambda: Path("x.pdf").symlink_to("x.pdf"), "leads back to itself"),
        (lambda: Path("x.pdf").symlink_to("gone"), "no such file"),
        (lambda: os.mkfifo("x.pdf"), "a named pipe"),
    ],
    ids=["absent", "empty", "zip", "zeros", "jbig2", "html", "folder", "loop", "dangling", "fifo"],
)
def test_bad_inputs_are_told_apart_and_do_not_stop_others(here: Path, make, words: str) -> None:
    make()
    write("good.png")
    error = only_error("x.pdf")
    assert error.exit_code == ExitCode.INPUT_UNREADABLE
    assert words in str(error)
    assert str(error).startswith("x.pdf: ")
    found = resolve(["x.pdf", "good.png"])
    assert [d.source for d in found.documents] == ["good.png"]
    assert [f.source for f in found.failures] == ["x.pdf"]


def test_devices_and_impossible_names(here: Path) -> None:
    assert "a device" in str(only_error("/dev/zero"))
    assert "longer than" in str(only_error("n" * 300))
    assert "zero byte" in str(only_error("a\0b"))
    assert "empty name" in str(only_error(""))


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_no_permission(here: Path) -> None:
    write("secret.png").chmod(0)
    assert "chmod" in str(only_error("secret.png"))
    write("locked/a.png")
    Path("locked").chmod(0)
    try:
        assert "chmod" in str(resolve(["locked"]).failures[0].error)
    finally:
        Path("locked").chmod(0o700)


def test_an_error_of_the_file_system_is_reported(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("in/a.png")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("fastocr_cli.inputs.documents.read_head", refuse)
    assert "chmod" in str(only_error("in"))


def test_links_to_folders_are_followed_once(here: Path) -> None:
    write("in/real/a.png")
    Path("in/real/up").symlink_to("..")
    Path("in/real/self").symlink_to(".")
    Path("in/other").mkdir()
    Path("in/other/back").symlink_to("../real")
    Path("in/linked.png").symlink_to("real/a.png")
    assert sources("in") == ["in/linked.png", "in/other/back/a.png"]


def test_a_folder_with_the_name_of_a_document_is_reported(here: Path) -> None:
    Path("in/x.pdf").mkdir(parents=True)
    write("in/y.pdf/page.png")
    found = resolve(["in"])
    assert [d.source for d in found.documents] == ["in/y.pdf/page.png"]
    assert "in/x.pdf: a folder" in str(found.failures[0].error)


def test_document_from_bytes_checks_content() -> None:
    assert document_from_bytes(PNG, "mem.png").relative == PurePath("mem.png")
    with pytest.raises(InputError, match="plain text"):
        document_from_bytes(b"just words")


def test_a_file_that_has_gone_away_is_an_input_error(here: Path) -> None:
    (document,) = resolve([str(write("a.png"))]).documents
    Path("a.png").unlink()
    with pytest.raises(InputError, match=r"a\.png: no such file"):
        document.open()


@pytest.mark.parametrize(
    "format_", ["PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP", "PPM", "JPEG2000", "AVIF"]
)
def test_sniff_knows_what_pillow_writes(format_: str) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (20, 20)).save(buffer, format_)
    kind = sniff(buffer.getvalue()[:2048])
    assert kind is not None
    assert kind.upper().replace(" ", "") == {"PPM": "PNM"}.get(format_, format_)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"junk\r\n%PDF-1.4\n", Kind.PDF),
        (b"\xef\xbb\xbf%PDF-1.4\n", Kind.PDF),
        (b"a text about %PDF-1.4\n", None),
        (b"BM begins this text, too, and it goes on", None),
        (b"P5 is a chord\n", Kind.PNM),
        (b"MM\0+\0\x08", Kind.TIFF),
        (b"\0\0\0\x18ftypheic", Kind.HEIC),
        (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf", Kind.AVIF),
        (b"\0\0\0\x18ftypisom", None),
        (b"", None),
    ],
)
def test_sniff(head: bytes, kind: Kind | None) -> None:
    assert sniff(head) is kind


@given(st.binary(max_size=64))
def test_any_bytes_are_sniffed_or_described(head: bytes) -> None:
    assert sniff(head) is not None or describe(head)


@given(st.lists(st.text(max_size=6)))
def test_natural_keys_compare(names: list[str]) -> None:
    sorted(names, key=natural_key)


def test_natural_order() -> None:
    names = ["p10", "p9", "P1", "10", "9a", "p09"]
    assert sorted(names, key=natural_key) == ["9a", "10", "P1", "p09", "p9", "p10"]


def test_suffixes_are_lower_case() -> None:
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in SUFFIXES)


def test_documents_travel_between_processes() -> None:
    import pickle

    document = Document("a.png", Kind.PNG, PurePath("a.png"), Path("a.png"))
    assert pickle.loads(pickle.dumps(document)) == document

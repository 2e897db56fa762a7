"""`parse` as a library: lazy, in order, silent, with errors of its own."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import fastocr_cli
from fastocr_cli import parse
from fastocr_cli.errors import EncryptedError, InputError, UsageError
from fastocr_cli.models.names import EMBEDDED
from fastocr_cli.raster.base import DEFAULT_DPI, FINE_DPI
from fastocr_cli.results import PageStatus
from tests.cli.fakes import FakeReader, make_pdf


@pytest.fixture
def two(tmp_path) -> tuple[Path, Path]:
    return make_pdf(tmp_path / "a.pdf", 3), make_pdf(tmp_path / "b.pdf", 1)


def test_pages_come_in_order_with_markdown_and_stats(two):
    pages = list(parse(two, reader=FakeReader()))
    assert [(Path(p.source).name, p.number) for p in pages] == [
        ("a.pdf", 1),
        ("a.pdf", 2),
        ("a.pdf", 3),
        ("b.pdf", 1),
    ]
    assert all(page.markdown.startswith("# page") for page in pages)
    assert pages[0].stats.visual_tokens == 100
    assert pages[0].status is PageStatus.OK


def test_pages_are_read_as_they_are_asked_for(two):
    reader = FakeReader()
    pages = parse(two[0], reader=reader, batch_size=1)
    assert reader.pages_read == []
    next(pages)
    assert reader.pages_read == [1]
    pages.close()
    assert reader.pages_read == [1]


@pytest.mark.parametrize(
    "setting", [{"keep": 0.05}, {"model": "other"}, {"rtprune": "dynamic"}, {"method": "dense"}]
)
def test_a_loaded_reader_takes_no_settings_of_the_model(two, setting):
    with pytest.raises(UsageError, match=rf"{next(iter(setting))}=.*Reader\.from_pretrained"):
        parse(two[0], reader=FakeReader(), **setting)


@pytest.mark.parametrize(("model", "dpi"), [("fake", DEFAULT_DPI), (EMBEDDED, FINE_DPI)])
def test_pages_are_drawn_as_the_reader_likes_them(two, model, dpi):
    reader = FakeReader()
    reader.adapter.name = model
    assert next(parse(two[0], reader=reader)).dpi == dpi
    assert next(parse(two[0], reader=reader, dpi=100)).dpi == 100


def test_no_processes_are_started_unasked(two, monkeypatch):
    """Each would run the caller's script again."""
    reader = FakeReader()
    monkeypatch.setattr(reader.adapter, "device", SimpleNamespace(type="cuda"))
    pages = parse(two[0], reader=reader)
    next(pages)
    assert not multiprocessing.active_children()
    pages.close()


def test_one_path_or_text_is_one_input(two):
    assert len(list(parse(str(two[1]), reader=FakeReader()))) == 1


def test_impossible_settings_are_refused_at_once(two):
    with pytest.raises(UsageError, match="keep"):
        parse(two[0], keep=1.5)
    with pytest.raises(UsageError, match="pages"):
        parse(two[0], pages="0")
    with pytest.raises(TypeError):
        parse(two[0], kep=0.5)


@pytest.mark.parametrize("pages", ["1,3", [1, 3], (3, 1), range(1, 4, 2)], ids=repr)
def test_pages_may_be_text_or_numbers(two, pages):
    read = parse(two[0], pages=pages, reader=FakeReader())
    assert [page.number for page in read] == [1, 3]


def test_a_page_may_be_a_number(two):
    assert [page.number for page in parse(two[0], pages=2, reader=FakeReader())] == [2]


@pytest.mark.parametrize("pages", [0, -1, 1.5, [], [0], ["x"], {2}], ids=repr)
def test_pages_that_are_none_are_refused_at_once(two, pages):
    with pytest.raises(UsageError, match="pages"):
        parse(two[0], pages=pages)


def test_what_the_package_names_is_there():
    for name in fastocr_cli.__all__:
        assert getattr(fastocr_cli, name) is not None
    assert fastocr_cli.InputError is InputError


def test_errors_are_raised_or_told(two, tmp_path):
    locked = make_pdf(tmp_path / "locked.pdf", 1, password="x")
    with pytest.raises(InputError):
        list(parse(tmp_path / "missing.pdf", reader=FakeReader()))
    with pytest.raises(EncryptedError):
        list(parse([locked], reader=FakeReader()))
    told = []
    pages = parse([locked, two[1]], reader=FakeReader(), on_error=lambda *e: told.append(e))
    assert [page.number for page in pages] == [1]
    assert [(source, type(error)) for source, error in told] == [(str(locked), EncryptedError)]


def test_nothing_is_printed(two, capfd):
    list(parse(two, reader=FakeReader()))
    assert capfd.readouterr() == ("", "")


def test_help_and_version_load_neither_torch_nor_the_rasterisers():
    code = (
        "import sys\n"
        "from fastocr_cli.__main__ import run\n"
        "from fastocr_cli import InputError\n"
        "assert run(sys.argv[1:]) == 0\n"
        "heavy = {'torch', 'transformers', 'pymupdf', 'PIL', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    for argument in ("--help", "--version"):
        subprocess.run(
            [sys.executable, "-c", code, argument], check=True, stdout=subprocess.DEVNULL
        )

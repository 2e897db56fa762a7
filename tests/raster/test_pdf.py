"""PDF pages to pixels: rotation, resolution, encryption, and all the ways a file can be broken."""

import os
import re
from pathlib import Path

import numpy as np
import pymupdf
import pytest

from fastocr_cli.errors import EncryptedError, ExitCode, InputError, UsageError
from fastocr_cli.inputs.documents import document_from_bytes
from fastocr_cli.inputs.pages import parse_pages
from fastocr_cli.inputs.sources import resolve
from fastocr_cli.raster import PageFailure, RasterSettings, iter_pages, open_document
from fastocr_cli.raster.pdf import REPAIRED
from fastocr_cli.results import PageImage
from tests.raster.pictures import FLAG_CORNERS, corners, flag_pdf, pdf, read, read_all

DAMAGED = "damaged, nothing could be drawn"


@pytest.mark.parametrize(
    ("rotation", "seen"),
    [
        (0, FLAG_CORNERS),
        (90, ["white", "red", "black", "white"]),
        (180, ["black", "white", "white", "red"]),
        (270, ["white", "black", "red", "white"]),
    ],
)
def test_rotation(rotation: int, seen: list[str]) -> None:
    page = read(flag_pdf(rotation))
    assert corners(page) == seen
    assert page.pixels.shape == ((160, 240, 3) if rotation % 180 == 0 else (240, 160, 3))


@pytest.mark.parametrize("dpi", [36, 72, 144, 300])
def test_resolution(dpi: float) -> None:
    page = read(flag_pdf(), dpi=dpi)
    assert page.dpi == dpi
    assert page.pixels.shape[:2] == pytest.approx((80 * dpi / 72, 120 * dpi / 72), abs=1)
    assert page.size_pt == pytest.approx((120, 80), abs=1)


def test_pages_come_in_order_and_only_when_asked_for() -> None:
    pages = iter_pages(document_from_bytes(pdf(["a", "b", "c"])))
    assert [next(pages).number, next(pages).number] == [1, 2]
    pages.close()


def test_selected_pages() -> None:
    document = document_from_bytes(pdf(["a", "b", "c", "d"]), "x.pdf")
    assert [page.number for page in iter_pages(document, selection=parse_pages("4,1-2"))] == [
        1,
        2,
        4,
    ]
    with pytest.raises(UsageError, match=r"x\.pdf: pages 5: the document has 4 pages"):
        next(iter_pages(document, selection=parse_pages("5")))


def test_a_giant_page_is_drawn_at_a_lower_resolution() -> None:
    document = pymupdf.open()
    document.new_page(width=14400, height=14400)
    page = read(document.tobytes(), max_pixels=1_000_000)
    assert page.width_px * page.height_px <= 1_003_000
    assert page.dpi == pytest.approx(5, abs=0.1)
    assert "200 x 200 inches: drawn at 5 instead of 144 dpi" in page.warnings[0]


def test_a_page_without_area_is_drawn_as_the_standard_page() -> None:
    document = pymupdf.open()
    document.new_page()
    document.xref_set_key(document.page_xref(0), "MediaBox", "[0 0 0 0]")
    assert read(document.tobytes(), dpi=72).pixels.shape == (792, 612, 3)


def test_encryption() -> None:
    locked = pdf(
        encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="geheim", owner_pw="owner", permissions=0
    )
    with pytest.raises(
        EncryptedError, match=r"x: encrypted; .*--password or FASTOCR_PASSWORD"
    ) as info:
        read_all(locked)
    assert info.value.exit_code == ExitCode.ENCRYPTED
    with pytest.raises(EncryptedError, match="the password does not open it"):
        read_all(locked, password="wrong")
    for password in ("geheim", "owner"):
        assert read(locked, password=password).pixels.min() < 50
    assert "geheim" not in repr(RasterSettings(password="geheim"))


def test_a_file_that_only_its_owner_may_change_can_be_read() -> None:
    locked = pdf(encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="owner", permissions=0)
    assert read(locked).pixels.min() < 50


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.7\n",
        b"%PDF-1.7\n" + b"garbage " * 50,
        pdf(["a", "b"])[:300],
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[9 0 R]/Count 9>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[2 0 R]/Count 1>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
    ],
    ids=["header only", "garbage", "cut short", "no pages", "lost pages", "tree in a circle"],
)
def test_files_beyond_repair(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError) as info:
        read_all(data)
    assert re.match(
        r"x: (damaged beyond repair|there is not one page in it|its list)", str(info.value)
    )
    assert "copy it again" in str(info.value)
    assert "\n" not in str(info.value)
    assert capfd.readouterr() == ("", "")


def test_a_broken_xref_is_repaired_with_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    pages = read_all(pdf(["a", "b"]).replace(b"xref", b"xxxx"))
    assert [page.warnings for page in pages] == [(REPAIRED,), ()]
    assert all(page.pixels.min() < 50 for page in pages)
    assert capfd.readouterr() == ("", "")


def broken_page(key: str, value: str) -> bytes:
    document = pymupdf.open("pdf", pdf(["a", "b", "c"]))
    document.xref_set_key(document.page_xref(1), key, value)
    return document.tobytes()


@pytest.mark.parametrize(
    ("key", "value"), [("Contents", "999 0 R"), ("Contents", "[999 0 R 1 0 R]")]
)
def test_a_damaged_page_fails_alone(
    key: str, value: str, capfd: pytest.CaptureFixture[str]
) -> None:
    pages = read_all(broken_page(key, value))
    assert [type(page) for page in pages] == [PageImage, PageFailure, PageImage]
    failure = pages[1]
    assert (failure.source, failure.number) == ("x", 2)
    assert str(failure.error).startswith(f"x, page 2: {DAMAGED}")
    assert capfd.readouterr() == ("", "")


def test_a_lost_page_object_fails_alone() -> None:
    document = pymupdf.open("pdf", pdf(["a", "b", "c"]))
    document.update_object(document.page_xref(1), "null")
    pages = read_all(document.tobytes())
    assert [type(page) for page in pages] == [PageImage, PageFailure, PageImage]


def test_complaints_about_a_page_that_was_drawn_are_its_warnings() -> None:
    document = pymupdf.open("pdf", pdf(["a"]))
    xref = document.get_new_xref()
    document.update_object(xref, "<<>>")
    document.update_stream(xref, b"/Gone Do 1 0 0 RG )")
    contents = document.xref_get_key(document.page_xref(0), "Contents")[1].strip("[]")
    document.xref_set_key(document.page_xref(0), "Contents", f"[{contents} {xref} 0 R]")
    page = read(document.tobytes())
    assert page.warnings
    assert page.pixels.min() < 50


def test_an_empty_page_is_no_damage() -> None:
    page = read(pdf([""]))
    assert page.pixels.min() == 255
    assert page.warnings == ()


@pytest.mark.parametrize("name", ["报告 1.pdf", "two words\nand lines.pdf", b"caf\xe9.pdf"])
def test_odd_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | bytes) -> None:
    monkeypatch.chdir(tmp_path)
    name = name if isinstance(name, str) else os.fsdecode(name)
    Path(name).write_bytes(pdf())
    (document,) = resolve([name]).documents
    (page,) = iter_pages(document)
    assert page.pixels.min() < 50
    assert page.source == document.source


def test_what_the_name_says_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "scan.png"
    path.write_bytes(pdf())
    assert len(list(iter_pages(resolve([path]).documents[0]))) == 1


def test_a_file_that_has_gone_away(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf())
    (document,) = resolve([path]).documents
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        next(iter_pages(document))


def test_pixels_outlive_the_document() -> None:
    with open_document(document_from_bytes(flag_pdf())) as pages:
        page = pages.render(1)
        again = pages.render(1)
    assert corners(page) == FLAG_CORNERS
    assert np.array_equal(page.pixels, again.pixels)


def test_colour_spaces_end_as_rgb() -> None:
    document = pymupdf.open()
    page = document.new_page(width=120, height=80)
    page.draw_rect((0, 0, 40, 20), color=None, fill=(0, 1, 1, 0))
    page.draw_rect((100, 50, 120, 80), color=None, fill=(0.0,))
    red, *_, black = corners(read(document.tobytes()))
    assert black == "black"
    assert red != "white"

"""Image files to pages: every format, pixel format and orientation, and damaged ones."""

import io
import sys

import numpy as np
import pytest
from PIL import Image, ImageCms

from fastocr_cli.errors import InputError, MissingModelError
from fastocr_cli.inputs.documents import Document, document_from_bytes
from fastocr_cli.inputs.sniff import Kind
from fastocr_cli.raster import PageFailure, iter_pages, open_document
from fastocr_cli.raster.colour import deep_to_grey, to_rgb
from fastocr_cli.results import PageImage
from tests.raster.pictures import (
    FLAG_CORNERS,
    HEIGHT,
    WIDTH,
    corners,
    encode,
    flag,
    flag_pdf,
    read,
    read_all,
)

ORIENTATION = 0x0112
STRIP_OFFSETS = 273
FORMATS = ["PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP", "PPM", "JPEG2000", "AVIF"]
TURNED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
"""How a camera stores the flag for each orientation: what undoes it is `_UPRIGHT`."""


@pytest.mark.parametrize("format_", FORMATS)
def test_formats(format_: str) -> None:
    page = read(encode(flag(), format_))
    assert page.pixels.shape == (HEIGHT, WIDTH, 3)
    assert corners(page) == FLAG_CORNERS
    assert (page.number, page.source, page.warnings) == (1, "x", ())


@pytest.mark.parametrize("format_", ["JPEG", "PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", TURNED)
def test_orientation(format_: str, orientation: int) -> None:
    method = TURNED[orientation]
    stored = flag() if method is None else flag().transpose(method)
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    page = read(encode(stored, format_, exif=exif))
    assert page.pixels.shape == (HEIGHT, WIDTH, 3)
    assert corners(page) == FLAG_CORNERS


def test_senseless_orientation_is_ignored() -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = 77
    assert corners(read(encode(flag(), "JPEG", exif=exif))) == FLAG_CORNERS
    assert corners(read(encode(flag(), "JPEG", exif=b"Exif\0\0MM\0*\xff\xff"))) == FLAG_CORNERS


def deep(scale: float, dtype: type) -> Image.Image:
    return Image.fromarray((np.asarray(flag().convert("L")) / 255 * scale).astype(dtype))


def transparent(mode: str) -> Image.Image:
    """A black block on what is black underneath but wholly transparent."""
    image = Image.new("RGBA", (WIDTH, HEIGHT), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (100, 50, WIDTH, HEIGHT))
    return image.convert(mode)


def keyed() -> bytes:
    """Transparency as one colour of an RGB image (the PNG chunk tRNS)."""
    image = Image.new("RGB", (WIDTH, HEIGHT), (0, 0, 255))
    image.paste((0, 0, 0), (100, 50, WIDTH, HEIGHT))
    return encode(image, "PNG", transparency=(0, 0, 255))


GREY_CASES = {
    "1-bit TIFF": lambda: encode(flag().convert("1"), "TIFF", compression="group4"),
    "1-bit PNG": lambda: encode(flag().convert("1"), "PNG"),
    "1-bit PBM": lambda: encode(flag().convert("1"), "PPM"),
    "grey JPEG": lambda: encode(flag().convert("L"), "JPEG"),
    "16-bit PNG": lambda: encode(deep(65535, np.uint16), "PNG"),
    "16-bit TIFF": lambda: encode(deep(65535, np.uint16), "TIFF"),
    "12 bits in a 16-bit TIFF": lambda: encode(deep(4095, np.uint16), "TIFF"),
    "32-bit TIFF": lambda: encode(deep(2**31 - 1, np.int32), "TIFF"),
    "float TIFF 0..1": lambda: encode(deep(1, np.float32), "TIFF"),
    "float TIFF 0..255": lambda: encode(deep(255, np.float32), "TIFF"),
    "float TIFF, any": lambda: encode(deep(7e6, np.float32), "TIFF"),
    "alpha": lambda: encode(transparent("RGBA"), "PNG"),
    "grey with alpha": lambda: encode(transparent("LA"), "PNG"),
    "alpha WebP": lambda: encode(transparent("RGBA"), "WEBP"),
    "alpha TIFF": lambda: encode(transparent("RGBA"), "TIFF"),
    "palette with transparency": lambda: encode(transparent("RGBA"), "GIF"),
    "colour key": keyed,
}


@pytest.mark.parametrize("case", GREY_CASES)
def test_pixel_formats_without_colour(case: str) -> None:
    page = read(GREY_CASES[case]())
    assert page.pixels.shape == (HEIGHT, WIDTH, 3)
    assert corners(page)[1:] == ["white", "white", "black"]


def lab() -> bytes:
    to_lab = ImageCms.buildTransform(
        ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB"
    )
    return encode(ImageCms.applyTransform(flag(), to_lab), "TIFF")


COLOUR_CASES = {
    "palette PNG": lambda: encode(flag().convert("P", palette=Image.Palette.ADAPTIVE), "PNG"),
    "CMYK JPEG, inverted as Adobe does": lambda: encode(flag().convert("CMYK"), "JPEG", quality=95),
    "CMYK TIFF": lambda: encode(flag().convert("CMYK"), "TIFF"),
    "CMYK with a broken profile": lambda: encode(
        flag().convert("CMYK"), "TIFF", icc_profile=b"no profile"
    ),
    "YCbCr TIFF": lambda: encode(flag().convert("YCbCr"), "TIFF"),
    "LAB TIFF": lab,
}


@pytest.mark.parametrize("case", COLOUR_CASES)
def test_colour_formats(case: str) -> None:
    assert corners(read(COLOUR_CASES[case]())) == FLAG_CORNERS


def test_cmyk_marker_is_there() -> None:
    assert b"Adobe" in COLOUR_CASES["CMYK JPEG, inverted as Adobe does"]()


def test_deep_to_grey_copes_with_odd_values() -> None:
    assert deep_to_grey(np.array([[np.nan, np.inf, 1.0]], np.float32)).tolist() == [[0, 0, 255]]
    assert deep_to_grey(np.array([[-5, 5]], np.int32)).tolist() == [[0, 255]]
    assert deep_to_grey(np.zeros((2, 2), np.uint16)).tolist() == [[0, 0], [0, 0]]
    assert to_rgb(Image.new("I;16", (3, 2))).size == (3, 2)


@pytest.mark.parametrize("format_", ["TIFF", "GIF", "WEBP"])
def test_every_frame_is_a_page(format_: str) -> None:
    frames = [
        Image.new("RGB", (30 + 10 * (format_ == "TIFF") * i, 20), (80 * i,) * 3) for i in range(3)
    ]
    data = encode(frames[0], format_, save_all=True, append_images=frames[1:], lossless=True)
    pages = read_all(data)
    assert [page.number for page in pages] == [1, 2, 3]
    assert [int(page.pixels[5, 5, 0]) for page in pages] == pytest.approx([0, 80, 160], abs=2)
    if format_ == "TIFF":
        assert [page.width_px for page in pages] == [30, 40, 50]


def test_frames_can_be_drawn_in_any_order_and_again() -> None:
    frames = [Image.new("L", (8, 8), value) for value in (10, 20, 30)]
    data = encode(frames[0], "TIFF", save_all=True, append_images=frames[1:])
    with open_document(document_from_bytes(data)) as pages:
        assert [int(pages.render(n).pixels[0, 0, 0]) for n in (3, 1, 1, 2)] == [30, 10, 10, 20]
    with open_document(document_from_bytes(encode(flag(), "JPEG"))) as pages:
        assert np.array_equal(pages.render(1).pixels, pages.render(1).pixels)


def test_first_picture_of_an_mpo_and_of_an_animated_png() -> None:
    other = Image.new("RGB", (WIDTH, HEIGHT))
    for format_ in ("MPO", "PNG"):
        data = encode(flag(), format_, save_all=True, append_images=[other, other])
        assert corners(read(data)) == FLAG_CORNERS


def test_a_damaged_frame_fails_alone(capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    frames = [Image.fromarray(rng.integers(0, 255, (60, 60), np.uint8)) for _ in range(3)]
    options = {"save_all": True, "append_images": frames[1:], "compression": "tiff_deflate"}
    data = bytearray(encode(frames[0], "TIFF", **options))
    with Image.open(io.BytesIO(data)) as image:
        image.seek(1)
        (start,) = image.tag_v2[STRIP_OFFSETS]
    data[start : start + 200] = bytes(200)
    pages = read_all(bytes(data))
    assert [type(page) for page in pages] == [PageImage, PageFailure, PageImage]
    assert str(pages[1].error).startswith("x, page 2: damaged or cut short")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "format_", ["PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP", "JPEG2000", "AVIF"]
)
@pytest.mark.parametrize("share", [0.9, 0.5, 0.05])
def test_a_file_cut_short_is_an_error_that_names_it(format_: str, share: float) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    data = encode(Image.fromarray(noise), format_)
    try:
        pages = read_all(data[: int(len(data) * share)])
    except InputError as error:
        messages = [str(error)]  # it did not even open
    else:
        messages = [str(page.error) for page in pages if isinstance(page, PageFailure)]
    assert messages
    assert all(message.startswith("x") and "\n" not in message for message in messages)


def test_resolution_is_the_stated_one_if_it_can_be_true() -> None:
    a4 = Image.new("L", (1240, 1754), 255)
    assert read(encode(a4, "PNG", dpi=(150, 150))).dpi == pytest.approx(150, abs=0.1)
    assert read(encode(a4, "TIFF", dpi=(150, 150))).dpi == 150
    assert read(encode(a4, "PNG")).dpi == pytest.approx(150, abs=1)
    assert read(encode(a4, "JPEG", dpi=(72, 72))).dpi == pytest.approx(150, abs=1)
    assert read(encode(a4, "JPEG", dpi=(1, 1))).dpi == pytest.approx(150, abs=1)
    assert read(encode(a4.resize((595, 842)), "JPEG", dpi=(72, 72))).dpi == 72
    assert read(encode(flag(), "PNG", dpi=(300, 300))).dpi == pytest.approx(300, abs=0.1)


def test_fax_with_different_resolutions_is_made_square() -> None:
    page = read(encode(flag(), "TIFF", dpi=(200, 100)))
    assert (page.height_px, page.width_px, page.dpi) == (2 * HEIGHT, WIDTH, 200)
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    turned = flag().transpose(TURNED[6])
    page = read(encode(turned, "JPEG", dpi=(200, 100), exif=exif))
    assert (page.height_px, page.width_px, page.dpi) == (HEIGHT, 2 * WIDTH, 200)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_large_images_are_scaled_down_with_a_warning(mode: str) -> None:
    image = deep(65535, np.uint16) if mode == "I;16" else flag().convert(mode)
    page = read(encode(image, "TIFF", dpi=(300, 300)), max_pixels=2400)
    assert page.pixels.shape == (40, 60, 3)
    assert page.dpi == pytest.approx(150)
    assert corners(page)[1:] == ["white", "white", "black"]
    assert "120 x 80 pixels: scaled down to 50%" in page.warnings[0]


def test_large_jpeg_is_decoded_at_a_smaller_scale() -> None:
    big = flag().resize((2400, 1600))
    page = read(encode(big, "JPEG", dpi=(300, 300)), max_pixels=100_000)
    assert page.width_px * page.height_px <= 100_500
    assert page.dpi == pytest.approx(300 * page.width_px / 2400, rel=0.01)
    assert corners(page) == FLAG_CORNERS


def test_decompression_bombs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(InputError, match=r"x: more than 0 megapixels; scale it down"):
        read_all(encode(flag(), "PNG"))


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (300, 1)])
def test_tiny_images(size: tuple[int, int]) -> None:
    assert read(encode(Image.new("L", size, 255), "PNG")).pixels.shape == (size[1], size[0], 3)


def test_black_image_carries_a_warning() -> None:
    noise = np.random.default_rng(0).normal(6, 3, (200, 200)).clip(0, 255).astype(np.uint8)
    assert read(encode(Image.fromarray(noise), "PNG")).warnings == ("the page is black all over",)


def heic() -> Document:
    return document_from_bytes(b"\0\0\0\x18ftypheic" + bytes(40), "photo.heic")


def test_heic_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(MissingModelError, match=r"photo\.heic: HEIC needs.*fastocr-cli\[heif\]"):
        list(iter_pages(heic()))


def test_heic_with_its_package() -> None:
    pillow_heif = pytest.importorskip("pillow_heif")
    pillow_heif.register_heif_opener()
    data = encode(flag(), "HEIF", quality=95)
    assert document_from_bytes(data).kind is Kind.HEIC
    assert corners(read(data)) == FLAG_CORNERS
    with pytest.raises(InputError, match=r"photo\.heic: damaged"), open_document(heic()):
        pass


def test_a_format_this_pillow_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode(flag(), "AVIF")
    Image.init()
    monkeypatch.delitem(Image.OPEN, "AVIF")
    with pytest.raises(MissingModelError, match="built without AVIF"):
        read_all(data)


def test_a_bad_document_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO(b"\x89PNG\r\n\x1a\n" + bytes(40))
    monkeypatch.setattr(Document, "open", lambda self: file)
    with pytest.raises(InputError):
        read_all(b"\x89PNG\r\n\x1a\n")
    assert file.closed


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (90, ["white", "red", "black", "white"]),
        (180, ["black", "white", "white", "red"]),
        (270, ["white", "black", "red", "white"]),
    ],
)
@pytest.mark.parametrize("data", [encode(flag(), "PNG"), flag_pdf()], ids=["image", "pdf"])
def test_pages_are_turned_clockwise(turn: int, expected: list[str], data: bytes) -> None:
    upright, turned = read(data), read(data, turn=turn)
    assert corners(turned) == expected
    assert sorted((turned.width_px, turned.height_px)) == sorted(
        (upright.width_px, upright.height_px)
    )


@pytest.mark.parametrize(("levels", "expected"), [((0, 17), (0, 255)), ((100, 103), (100, 103))])
def test_two_tones_are_ink_and_paper(levels: tuple[int, int], expected: tuple[int, int]) -> None:
    """A scan of one bit that calls itself grey may use the two darkest greys of sixteen."""
    grey = np.where(np.eye(40, dtype=bool), *levels).astype(np.uint8)
    pixels = read(encode(Image.fromarray(grey), "PNG")).pixels
    assert tuple(np.unique(pixels)) == expected

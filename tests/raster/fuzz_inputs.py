"""Damages good documents at random and reads them: only a FastocrError may come out.

    python -m tests.raster.fuzz_inputs SECONDS [SEED]

The same damage, in small doses, is part of the ordinary tests (test_fuzz.py). The document being
read is kept in a file until it has passed, so that a crash in C leaves its cause behind.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path

from PIL import Image

from fastocr_cli.errors import FastocrError
from fastocr_cli.inputs.documents import document_from_bytes
from fastocr_cli.raster import RasterSettings, iter_pages
from fastocr_cli.raster.blank import is_blank
from fastocr_cli.results import PageImage
from tests.raster.pictures import encode, flag, flag_pdf, pdf

SMALL = RasterSettings(dpi=30, max_pixels=200_000, password="secret")
CHUNKS = [
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"endobj",
    b">>",
    b"<<",
    b"[",
    b"0 R",
    b"-1",
]


@cache
def seeds() -> dict[str, bytes]:
    frames = [flag().convert("L"), flag().convert("L").rotate(90, expand=True)]
    images = {name: encode(flag(), name) for name in ("PNG", "JPEG", "BMP", "GIF", "PPM")}
    images |= {name: encode(flag(), name) for name in ("WEBP", "JPEG2000", "AVIF")}
    many = {"save_all": True, "append_images": frames[1:]}
    return images | {
        "TIFF": encode(frames[0], "TIFF", **many),
        "deflated TIFF": encode(frames[0], "TIFF", compression="tiff_deflate", **many),
        "fax": encode(flag().convert("1"), "TIFF", compression="group4"),
        "16-bit PNG": encode(flag().convert("I;16"), "PNG"),
        "palette PNG": encode(flag().convert("P"), "PNG"),
        "CMYK JPEG": encode(flag().convert("CMYK"), "JPEG"),
        "animated GIF": encode(frames[0], "GIF", **many),
        "PDF": pdf(["one", "two"]),
        "drawn PDF": flag_pdf(90),
        "packed PDF": pdf(["one"], garbage=4, deflate=True, use_objstms=True),
        "encrypted PDF": pdf(["one"], encryption=5, user_pw="secret"),
    }


def damage(data: bytes, rng: random.Random) -> bytes:
    """One to six random changes: bytes changed, cut out, doubled, put in, or the end cut off."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at, length = rng.randrange(len(changed) + 1), rng.randint(1, 40)
        match rng.randrange(6):
            case 0 | 1:
                changed[at : at + 1] = bytes([rng.randrange(256)])
            case 2:
                del changed[at : at + length]
            case 3:
                changed[at:at] = changed[at : at + length]
            case 4:
                chunk = rng.choice(CHUNKS)
                changed[at : at + rng.choice([0, len(chunk)])] = chunk
            case 5 if rng.random() < 0.3:
                del changed[at:]
    return bytes(changed)


def read_damaged(data: bytes) -> str:
    """Reads everything there is; returns how it ended."""
    try:
        pages = list(iter_pages(document_from_bytes(data, "x"), SMALL))
    except FastocrError as error:
        ending = error
    else:
        drawn = [page for page in pages if isinstance(page, PageImage)]
        assert pages
        assert all(is_blank(page) in (True, False) for page in drawn)
        return "read" if len(drawn) == len(pages) else "some pages failed"
    assert "\n" not in str(ending)
    return type(ending).__name__


def main(seconds: float, seed: int) -> None:
    # Gigantic images are refused by size; with a low limit the time goes into other damage.
    Image.MAX_IMAGE_PIXELS = 1_000_000
    rng, endings, end = random.Random(seed), Counter[str](), time.monotonic() + seconds
    suspect = Path(tempfile.gettempdir()) / f"fuzz-{seed}.bin"
    while time.monotonic() < end:
        data = damage(rng.choice(list(seeds().values())), rng)
        suspect.write_bytes(data)
        endings[read_damaged(data)] += 1
    suspect.unlink()
    print(f"{endings.total()} documents in {seconds:.0f} s: {dict(endings)}")


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)

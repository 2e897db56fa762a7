"""A small JPEG of a page, for people to compare the text with. Knows pixels only."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
from PIL import Image

WIDTH_PX = 640
QUALITY = 50


def make_thumbnail(pixels: npt.NDArray[np.uint8]) -> bytes:
    """JPEG of `pixels`, uint8 [height, width, 3], at most WIDTH_PX wide; tall pages are cut down
    to three times that height."""
    image = Image.fromarray(pixels)
    image.thumbnail((WIDTH_PX, 3 * WIDTH_PX), reducing_gap=3.0)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return buffer.getvalue()

"""Any image that Pillow opens to 8-bit RGB on white.

Knows pixel formats only: palettes, transparency, CMYK, 1-bit, 16-bit and floating point.
"""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageCms, ImageOps

DEEP_MODES = ("I", "I;16", "I;16L", "I;16B", "I;16N", "F")
"""More than 8 bits a pixel; Pillow's own conversion cuts these off instead of scaling them."""

LEAST_CONTRAST = 8
"""Levels between two tones that are meant to be told apart."""


def to_rgb(image: Image.Image) -> Image.Image:
    """The image as RGB; what is transparent becomes white."""
    if image.mode in DEEP_MODES:
        return Image.fromarray(deep_to_grey(np.asarray(image))).convert("RGB")
    if image.mode == "CMYK":
        return _cmyk_to_rgb(image)
    if image.has_transparency_data:
        return _flatten(image)
    if image.mode == "L" and _is_two_tone(image):
        image = ImageOps.autocontrast(image)
    return image if image.mode == "RGB" else image.convert("RGB")


def deep_to_grey(values: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """Scales grey values of any depth to 0..255.

    Integers are taken as 12, 16 or 32 bits deep, whichever holds the largest (scanners store 12
    bits in 16). Floating point is taken as 0..1 or 0..255, else stretched from least to largest.
    """
    numbers = np.nan_to_num(values.astype(np.float64), posinf=0.0, neginf=0.0)
    low, high = float(numbers.min(initial=0)), float(numbers.max(initial=0))
    if values.dtype.kind == "f":
        full = next((limit for limit in (1.0, 255.0) if high <= limit and low >= 0), None)
    else:
        full = next((limit for limit in (4095.0, 65535.0) if high <= limit and low >= 0), None)
    if full is None:
        numbers, full = numbers - low, max(high - low, 1.0)
    return np.round(numbers * (255 / full)).astype(np.uint8)


def _is_two_tone(image: Image.Image) -> bool:
    """Whether a grey image holds ink and paper only, whatever levels the scanner chose for them."""
    tones = image.getcolors(2) or []  # (count, level) each, none if there are more
    levels = [level for _, level in tones if isinstance(level, int)]
    return len(levels) == 2 and max(levels) - min(levels) >= LEAST_CONTRAST


def _flatten(image: Image.Image) -> Image.Image:
    """On white paper, as every viewer shows it."""
    layer = image.convert("RGBA")
    paper = Image.new("RGB", image.size, "white")
    paper.paste(layer, mask=layer.getchannel("A"))
    return paper


def _cmyk_to_rgb(image: Image.Image) -> Image.Image:
    """By the image's own colour profile if it has a good one, else by the plain formula."""
    profile = image.info.get("icc_profile")
    if profile:
        try:
            converted = ImageCms.profileToProfile(
                image, io.BytesIO(profile), ImageCms.createProfile("sRGB"), outputMode="RGB"
            )
        except (ImageCms.PyCMSError, OSError, ValueError):
            converted = None  # a broken profile must not cost the page
        if converted is not None:
            return converted
    return image.convert("RGB")

"""What scanners, copiers and compressors do to a page, on grey crops.

Every function takes and returns uint8 [height, width]; places of characters do not move, except
by `skewed`, which says so.
"""

from __future__ import annotations

import io
import random

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

Grey = npt.NDArray[np.uint8]


def degraded(rng: random.Random, grey: Grey) -> Grey:
    """As from a scanner, or from a scanner and a copier before it."""
    return scanned(rng, photocopied(rng, grey) if rng.random() < 0.45 else grey)


def scanned(rng: random.Random, grey: Grey) -> Grey:
    """A random mixture: most crops get one or two faults, few get everything."""
    if rng.random() < 0.3:
        grey = resampled(rng, grey)
    if rng.random() < 0.3:
        grey = blurred(rng, grey)
    if rng.random() < 0.12:
        grey = shown_through(rng, grey)
    if rng.random() < 0.35:
        grey = faded(rng, grey)
    if rng.random() < 0.35:
        grey = grainy(rng, grey)
    if rng.random() < 0.12:
        grey = speckled(rng, grey)
    if rng.random() < 0.12:
        grey = thresholded(rng, grey)
    if rng.random() < 0.2:
        grey = compressed(rng, grey)
    if rng.random() < 0.02:
        grey = (255 - grey).astype(np.uint8)
    return grey


def blurred(rng: random.Random, grey: Grey) -> Grey:
    radius = rng.uniform(0.2, 0.9)
    return np.asarray(Image.fromarray(grey).filter(ImageFilter.GaussianBlur(radius)))


def resampled(rng: random.Random, grey: Grey) -> Grey:
    """Scanned at another resolution and scaled to ours."""
    height, width = grey.shape
    factor = rng.uniform(0.7, 1.8)
    size = max(8, round(width * factor)), max(8, round(height * factor))
    there = rng.choice([Image.Resampling.BILINEAR, Image.Resampling.BOX, Image.Resampling.BICUBIC])
    back = rng.choice([Image.Resampling.BILINEAR, Image.Resampling.LANCZOS])
    image = Image.fromarray(grey).resize(size, there)
    if factor > 1.2 and rng.random() < 0.3:
        image = image.point([0] * 150 + [255] * 106)
    return np.asarray(image.resize((width, height), back))


def photocopied(rng: random.Random, grey: Grey) -> Grey:
    """One bit a pixel at two to three times our resolution, as most scans of print are stored:
    strokes come out ragged, fat and run together, or thin and broken."""
    height, width = grey.shape
    factor = rng.uniform(1.5, 3.0)
    image = Image.fromarray(grey).resize(
        (round(width * factor), round(height * factor)), Image.Resampling.BICUBIC
    )
    large = np.asarray(image.filter(ImageFilter.GaussianBlur(rng.uniform(0.3, 0.75) * factor)))
    generator = np.random.default_rng(rng.randrange(1 << 30))
    grain = generator.standard_normal(large.shape, np.float32) * rng.uniform(0, 25)
    low, high = int(grey.min()), int(grey.max())
    bits = np.where(large + grain < low + (high - low) * rng.uniform(0.3, 0.85), 0, 255)
    bits = bits.astype(np.uint8)
    return np.asarray(Image.fromarray(bits).resize((width, height), Image.Resampling.LANCZOS))


def faded(rng: random.Random, grey: Grey) -> Grey:
    """Less contrast: ink turns grey, paper darkens."""
    ink, paper = rng.uniform(0, 110), rng.uniform(190, 255)
    return np.clip(ink + grey.astype(np.float32) * (paper - ink) / 255, 0, 255).astype(np.uint8)


def grainy(rng: random.Random, grey: Grey) -> Grey:
    generator = np.random.default_rng(rng.randrange(1 << 30))
    noise = generator.standard_normal(grey.shape, np.float32) * rng.uniform(2, 20)
    return np.clip(grey + noise, 0, 255).astype(np.uint8)


def speckled(rng: random.Random, grey: Grey) -> Grey:
    generator = np.random.default_rng(rng.randrange(1 << 30))
    out = grey.copy()
    out[generator.random(grey.shape, np.float32) < rng.uniform(0.0005, 0.006)] = 0
    out[generator.random(grey.shape, np.float32) < rng.uniform(0.0005, 0.01)] = 255
    return out


def thresholded(rng: random.Random, grey: Grey) -> Grey:
    """One bit a pixel, as fax machines and many scanners write it."""
    low, high = int(grey.min()), int(grey.max())
    threshold = low + (high - low) * rng.uniform(0.4, 0.7)
    return np.where(grey < threshold, 0, 255).astype(np.uint8)


def compressed(rng: random.Random, grey: Grey) -> Grey:
    buffer = io.BytesIO()
    Image.fromarray(grey).save(buffer, "JPEG", quality=rng.randint(25, 80))
    return np.asarray(Image.open(buffer))


def shown_through(rng: random.Random, grey: Grey) -> Grey:
    """The back of the sheet, mirrored and faint."""
    back = np.asarray(Image.fromarray(grey[:, ::-1]).filter(ImageFilter.GaussianBlur(1.2)))
    shift = rng.randint(3, max(4, grey.shape[0] // 3))
    back = np.roll(back, shift, axis=0).astype(np.float32)
    return np.clip(grey - (255 - back) * rng.uniform(0.05, 0.25), 0, 255).astype(np.uint8)


def rotated(grey: Grey, degrees: float) -> Grey:
    """Turned counter-clockwise about the centre, corners filled with white."""
    image = Image.fromarray(grey)
    return np.asarray(image.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255))

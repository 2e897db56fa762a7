"""What stands on pages beside text and must not be read: pictures, drawings, borders, rules.

Grey crops are uint8 [height, width], lengths are pixels at the size the reader reads at.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from fastocr_cli.reader.training.pages import Line

Grey = npt.NDArray[np.uint8]

GAP_PX = 6
"""Paper between a figure and the text beside it, at least."""

_SMALLEST_SHAPE_PX = 30
"""What is drawn smaller might be taken for a letter, and rightly."""


@dataclass(frozen=True)
class Figure:
    """A rectangle flush with one side of a crop, or across it."""

    top: int
    bottom: int
    left: int
    right: int

    def room_beside(self, line: Line, width: int) -> tuple[int, int]:
        """From where to where across the crop a line of text can stand; nowhere: (0, 0)."""
        y = float(line.middle[0])
        if y + 0.7 * line.em < self.top or y - 0.7 * line.em > self.bottom:
            return 0, width
        if self.left > 0:
            return 0, self.left - GAP_PX
        return (self.right + GAP_PX, width) if self.right < width else (0, 0)

    def paint(self, rng: random.Random, grey: Grey) -> None:
        height, width = self.bottom - self.top, self.right - self.left
        is_edge = width < 3 * GAP_PX or height < 3 * GAP_PX
        draw = _border if is_edge else rng.choices([_photograph, _drawing], [0.6, 0.4])[0]
        grey[self.top : self.bottom, self.left : self.right] = draw(rng, height, width)


def place(rng: random.Random, height: int, width: int) -> Figure:
    """Somewhere on a crop: most often on one side, else across; sometimes only a dark edge."""
    top = max(0, rng.randint(-height // 3, height - 20))
    stop = min(height, top + rng.randint(20, int(0.8 * height)))
    thickness = rng.randint(4, 16) if rng.random() < 0.2 else rng.randint(24, int(0.6 * width))
    side = rng.randrange(3)
    if thickness <= 16:
        top, stop = 0, height
    left = width - thickness if side == 1 else 0
    right = thickness if side == 0 else width
    return Figure(top, stop, left, right)


def _photograph(rng: random.Random, height: int, width: int) -> Grey:
    """Clouds of grey at several scales; continuous, screened as in print, or one bit a pixel."""
    generator = np.random.default_rng(rng.randrange(1 << 30))
    tones = np.zeros((height, width), np.float32)
    for size, weight in ((60, 1.0), (20, 0.6), (7, rng.uniform(0.1, 0.6))):
        small = generator.random((height // size + 2, width // size + 2), np.float32)
        cloud = Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)
        tones += weight * np.asarray(cloud)
    tones -= tones.min()
    tones = (255 * (tones / max(float(tones.max()), 1e-6)) ** rng.uniform(0.5, 2.5)).clip(0, 255)
    kind = rng.random()
    if kind < 0.35:
        tones = np.where(tones < rng.uniform(60, 200), 0.0, 255.0)
    elif kind < 0.6:
        tones = np.where(tones < _screen(height, width, rng.uniform(2.5, 6.0)), 0.0, 255.0)
    return tones.astype(np.uint8)


def _screen(height: int, width: int, pitch: float) -> npt.NDArray[np.float32]:
    """Thresholds of a halftone screen at 45 degrees, dots `pitch` px apart."""
    y, x = np.mgrid[:height, :width].astype(np.float32) * (2 * np.pi / pitch)
    wave = np.cos((x + y) / np.sqrt(2)) * np.cos((x - y) / np.sqrt(2))
    screen: npt.NDArray[np.float32] = (127.5 * (1 + wave)).astype(np.float32)
    return screen


def _drawing(rng: random.Random, height: int, width: int) -> Grey:
    """Lines, curves and boxes, as in charts and diagrams."""
    image = Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(image)

    def point() -> tuple[int, int]:
        return rng.randrange(width), rng.randrange(height)

    for _ in range(rng.randint(2, 9)):
        ink, thick = rng.randint(0, 130), rng.randint(1, 3)
        x, y = point()
        to_x = x + rng.randint(_SMALLEST_SHAPE_PX, width + _SMALLEST_SHAPE_PX)
        to_y = y + rng.randint(_SMALLEST_SHAPE_PX, height + _SMALLEST_SHAPE_PX)
        fill = rng.choice([None, None, rng.randint(0, 255)])
        shape = rng.randrange(4)
        if shape == 0:
            draw.line([point() for _ in range(rng.randint(2, 8))], ink, thick)
        elif shape == 1:
            draw.rectangle((x, y, to_x, to_y), fill, ink, thick)
        elif shape == 2:
            draw.ellipse((x, y, to_x, to_y), fill, ink, thick)
        else:
            draw.line((x, y, *rng.choice([(to_x, y), (x, to_y)])), ink, thick)
    return np.asarray(image)


def _border(rng: random.Random, height: int, width: int) -> Grey:
    """What lies outside the sheet on a scanner's glass."""
    generator = np.random.default_rng(rng.randrange(1 << 30))
    dark = generator.normal(rng.uniform(0, 90), rng.uniform(0, 25), (height, width))
    return dark.clip(0, 255).astype(np.uint8)


def rule(rng: random.Random, grey: Grey, lines: Sequence[Line]) -> None:
    """Draws a line under a line of text, or down the page beside it where nothing is written: as
    near as the sides of a narrow table, and as thick as the frames of some."""
    line = rng.choice(lines)
    ink = rng.randint(0, 150)
    left, right = float(line.left[0]), float(line.right[-1])
    if rng.random() < 0.4:
        y, thick = int(line.middle[0] + rng.uniform(0.55, 0.9) * line.em), rng.randint(1, 2)
        grey[max(0, y) : max(0, y) + thick, max(0, int(left)) : max(0, int(right))] = ink
        return
    thick = rng.choice((1, 1, 2, 2, 3, 5, 8))
    away = rng.uniform(0.1, 0.5 if rng.random() < 0.5 else 1.2) * line.em
    x = int(rng.choice([left - away - thick, right + away]))
    is_free = all(float(o.left[0]) - 2 > x + thick or x > float(o.right[-1]) + 2 for o in lines)
    if is_free and 0 <= x < grey.shape[1] - thick:
        grey[:, x : x + thick] = ink

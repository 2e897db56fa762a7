"""Faces nobody has cut: a page's letters made wider or narrower, leaning, uneven, bolder, lighter.

A tower reads the faces it has seen better than others; a thousand faces are few, and so each page
may show its own in another shape (elastic distortion after Simard, Steinkraus and Platt, 2003).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from PIL import Image

from fastocr_cli.reader.training.noise import Grey
from fastocr_cli.reader.training.pages import Array, Line, Page

Source = Callable[[Array, Array], tuple[Array, Array]]

RESHAPED_SHARE = 0.6
_WIDEST = 1.25
_MOST_SLANT, _MOST_UNEVEN_PX, _MOST_WEIGHT = 0.16, 1.1, 0.75
_KNOTS_APART_PX = 14, 28


def reshaped(rng: random.Random, page: Page) -> Page:
    """A page of the same text and height whose letters, and their places with them, have another
    shape."""
    if rng.random() >= RESHAPED_SHARE:
        return page
    if rng.random() < 0.6:
        page = _bent(rng, page)
    if rng.random() < 0.6:
        page = replace(page, grey=_weighted(rng, page.grey))
    return page


def _bent(rng: random.Random, page: Page) -> Page:
    height, width = page.grey.shape
    widened = _WIDEST ** rng.uniform(-1, 1)
    slant = rng.gauss(0, 0.4) * _MOST_SLANT if rng.random() < 0.5 else 0.0
    shift = abs(slant) * height / 2
    field = _Field(rng, page.grey.shape)
    new_width = round((width + 2 * shift) * widened)

    def source(u: Array, v: Array) -> tuple[Array, Array]:
        """Where a point of the new page comes from."""
        x = u / widened - shift + slant * (v - height / 2)
        dx, dy = field.at(x, v)
        return x + dx, v + dy

    def moved(line: Line) -> Line:
        """The way back; the field is so small and even that it is the same on both ends."""

        def across(x: Array) -> Array:
            dx, _ = field.at(x, line.middle)
            return (x - dx - slant * (line.middle - height / 2) + shift) * widened

        _, dy = field.at(line.left, line.middle)
        return replace(
            line, left=across(line.left), right=across(line.right), middle=line.middle - dy
        )

    lines = tuple(moved(line) for line in page.lines)
    return Page(_drawn_from(page.grey, source, new_width, field.step), lines)


class _Field:
    """A displacement at every point of a page: random at knots some px apart, linear between."""

    def __init__(self, rng: random.Random, shape: tuple[int, int]) -> None:
        self.step = rng.randint(*_KNOTS_APART_PX)
        self.size = shape[0] // self.step + 2, shape[1] // self.step + 2
        generator = np.random.default_rng(rng.randrange(1 << 30))
        knots = generator.standard_normal((2, *self.size), np.float32)
        self.knots = knots * (rng.uniform(0, 0.5) * _MOST_UNEVEN_PX)

    def at(self, x: Array, y: Array) -> tuple[Array, Array]:
        across, down = x / self.step, y / self.step
        column = np.clip(across.astype(int), 0, self.size[1] - 2)
        row = np.clip(down.astype(int), 0, self.size[0] - 2)
        right = np.clip(across - column, 0, 1)
        below = np.clip(down - row, 0, 1)
        upper, lower = (
            self.knots[:, r, column] * (1 - right) + self.knots[:, r, column + 1] * right
            for r in (row, row + 1)
        )
        dx, dy = (upper * (1 - below) + lower * below).astype(np.float32)
        return dx, dy


def _drawn_from(grey: Grey, source: Source, width: int, step: int) -> Grey:
    """Each square of the new page from the four-cornered piece of the old one it comes from."""
    height = grey.shape[0]
    rows, columns = (np.append(np.arange(0, side, step), side) for side in (height, width))
    x, y = source(*np.meshgrid(columns.astype(np.float32), rows.astype(np.float32)))
    corners = np.stack([x, y], axis=-1)
    upper, lower = corners[:-1], corners[1:]
    quads = np.concatenate([upper[:, :-1], lower[:, :-1], lower[:, 1:], upper[:, 1:]], axis=-1)
    mesh = [
        ((columns[j], rows[i], columns[j + 1], rows[i + 1]), quads[i, j].tolist())
        for i in range(len(rows) - 1)
        for j in range(len(columns) - 1)
    ]
    image = Image.fromarray(grey)
    how = Image.Transform.MESH, mesh, Image.Resampling.BICUBIC
    return np.asarray(image.transform((width, height), *how, fillcolor=255))


def _weighted(rng: random.Random, grey: Grey) -> Grey:
    """Strokes up to a pixel fatter, or about as much thinner."""
    padded = np.pad(grey, 1, mode="edge")
    around = [padded[1:-1, :-2], padded[1:-1, 2:], padded[:-2, 1:-1], padded[2:, 1:-1]]
    is_bolder = rng.random() < 0.5
    other = grey
    for beside in around:
        other = np.minimum(other, beside) if is_bolder else np.maximum(other, beside)
    share = rng.uniform(0, _MOST_WEIGHT if is_bolder else 0.6 * _MOST_WEIGHT)
    mixed = grey + share * (other.astype(np.float32) - grey)
    return np.asarray(np.round(mixed).astype(np.uint8))

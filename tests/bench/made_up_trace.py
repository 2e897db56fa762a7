"""A made-up reading of a page of lines: any number of steps, no model."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from fastocr_cli.bench.trace.trace import Trace

ROWS, COLUMNS = 100, 72
LINE_STEPS = 60
LOOKS = 24


def made_up_trace(steps: int = 3000, title: str = "made-up page") -> Trace:
    """Lines of five-letter words, each read where it stands; the first step knows nothing."""
    rng = np.random.default_rng(0)
    step = np.arange(steps)
    row = np.minimum(4 + 2 * (step // LINE_STEPS), ROWS - 3)
    column = 4 + (step % LINE_STEPS)
    spread = rng.integers(-2, 3, (steps, LOOKS)) * np.linspace(0, 1, LOOKS).round().astype(int)
    looked = (row[:, None] * COLUMNS + column[:, None] + spread).astype(np.int32)
    shares = np.sort(rng.random((steps, LOOKS)).astype(np.float32) / 30)[:, ::-1].copy()
    looked[0], shares[0] = -1, 0
    kept = np.full(steps, 0.2, np.float32)
    kept[0] = 1
    mass = (0.8 + 0.15 * np.sin(step / 40)).astype(np.float32)
    mass[0] = np.nan
    return Trace(
        title=title, model="made-up", keep=0.05, pieces=pieces(steps), boxes=grid(),
        looked=looked, shares=shares, kept=kept, mass=mass, places=places(step, row),
    )  # fmt: skip


def pieces(steps: int) -> tuple[str, ...]:
    def piece(step: int) -> str:
        place = step % LINE_STEPS
        return "\n" if place == 0 and step else " " if place % 6 == 0 else "abcde"[place % 6 - 1]

    return tuple(map(piece, range(steps)))


def grid() -> np.ndarray:
    row, column = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    edges = [column / COLUMNS, row / ROWS, (column + 1) / COLUMNS, (row + 1) / ROWS]
    return np.stack(edges, axis=1).astype(np.float32)


def places(step: np.ndarray, row: np.ndarray) -> np.ndarray:
    left = 4 + (step % LINE_STEPS) // 6 * 6
    edges = [left / COLUMNS, row / ROWS, (left + 6) / COLUMNS, (row + 1) / ROWS]
    boxes = np.stack(edges, axis=1).astype(np.float32)
    boxes[0] = np.nan
    return boxes


def made_up_picture(width: int = 1152, height: int = 1600) -> Image.Image:
    """Grey noise, as no scan compresses worse, with bars where the words stand."""
    rng = np.random.default_rng(0)
    noise = rng.integers(225, 256, (height, width), dtype=np.uint8)
    image = Image.fromarray(noise).convert("RGB")
    draw = ImageDraw.Draw(image)
    for box in made_up_trace().places[1:]:
        x0, y0, x1, y1 = box * np.array([width, height, width, height])
        draw.rectangle((x0 + 8, y0 + 3, x1 - 8, y1 - 3), "black")
    return image

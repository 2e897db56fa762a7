"""A trace as a still picture: the path of the gaze over the page, and what was attended below.

Knows matplotlib, which is an extra.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fastocr_cli.bench.trace.html import facts
from fastocr_cli.bench.trace.trace import Trace
from fastocr_cli.figure import new_figure, save

WIDTH_IN = 8.0
PAGE_SHARE = 0.83
"""Of the width, what axis labels and the colour bar leave to the page."""


def draw_trace(trace: Trace, image: Image.Image, path: Path) -> Path:
    """In the format of the suffix. Raises MissingModelError without matplotlib."""
    page_height = PAGE_SHARE * WIDTH_IN * image.height / image.width
    figure = new_figure(WIDTH_IN, page_height + 1.9)
    page, strip = figure.subplots(2, 1, height_ratios=(page_height, 1.3))
    _draw_gaze(figure, page, trace, image)
    _draw_strip(strip, trace)
    figure.suptitle(f"{trace.title}, {facts(trace)}", fontsize=9, color="#555", x=0.01, ha="left")
    return save(figure, path)


def _draw_gaze(figure: Any, axis: Any, trace: Trace, image: Image.Image) -> None:
    """Every step as a dot at the middle of what it looked at, coloured by time."""
    axis.imshow(image.convert("L"), cmap="gray", vmin=-110, vmax=255, extent=(0, 1, 1, 0))
    axis.set_aspect(image.height / image.width)
    steps = np.flatnonzero(trace.looked[:, 0] >= 0)
    x, y = _centres(trace, steps)
    axis.plot(x, y, color="#888", linewidth=0.5, alpha=0.5)
    dots = axis.scatter(x, y, c=steps, s=14, cmap="plasma", alpha=0.75, linewidths=0)
    axis.set(xlim=(0, 1), ylim=(1, 0), xticks=[], yticks=[])
    if len(steps):
        figure.colorbar(dots, ax=axis, label="token", shrink=0.6, pad=0.01, aspect=40)


def _centres(trace: Trace, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each step the mean place of what it shows, weighted by attention squared.

    Squared, because a faint look at the far side of the page must not pull the dot off the line.
    """
    boxes = trace.boxes[np.maximum(trace.looked[steps], 0)]
    weights = trace.shares[steps] ** 2
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    x, y = (boxes[..., i] + boxes[..., i + 2] for i in (0, 1))
    return (x * weights).sum(axis=1) / 2, (y * weights).sum(axis=1) / 2


def _draw_strip(axis: Any, trace: Trace) -> None:
    steps = np.arange(trace.steps)
    axis.fill_between(
        steps, 100 * trace.kept, color="#2f6f9f", alpha=0.45, linewidth=0,
        label="tokens of the page attended, mean over layers",
    )  # fmt: skip
    axis.plot(
        steps, 100 * trace.mass, color="#b8651b", linewidth=0.8,
        label="attention that the fixation holds",
    )  # fmt: skip
    axis.set(xlim=(0, max(trace.steps - 1, 1)), ylim=(0, 100), xlabel="token", ylabel="%")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize=8)

"""What printers set in grey, on a coloured ground, or light on dark: captions, the heads of tables,
boxes. Grey crops are uint8 [height, width], lengths are pixels at the size the reader reads at.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fastocr_cli.reader.training.pages import Line

Grey = npt.NDArray[np.uint8]

LEAST_CONTRAST = 70
"""Grey levels between ink and ground, at least; what is fainter is hard on people too."""


def tint(rng: random.Random, grey: Grey, lines: Sequence[Line]) -> None:
    """Gives one to four lines that follow each other an ink and a ground of their own, in place."""
    first = rng.randrange(len(lines))
    some = lines[first : first + rng.choice((1, 2, 4))]
    top = min(float(line.middle.min()) - 0.62 * line.em for line in some)
    bottom = max(float(line.middle.max()) + 0.62 * line.em for line in some)
    margin = rng.uniform(0.1, 1.5) * some[0].em
    left = min(float(line.left[0]) for line in some) - margin
    right = max(float(line.right[-1]) for line in some) + margin
    ink, ground = _tones(rng)
    band = grey[max(0, int(top)) : int(bottom) + 1, max(0, int(left)) : int(right) + 1]
    band[:] = (ink + band.astype(np.float32) * ((ground - ink) / 255)).astype(np.uint8)


def _tones(rng: random.Random) -> tuple[int, int]:
    """Ink and ground: grey on white, dark on a tinted ground, or light on a dark one."""
    kind = rng.random()
    if kind < 0.35:
        return rng.randint(60, 255 - LEAST_CONTRAST), 255
    if kind < 0.65:
        ground = rng.randint(140, 250)
        return rng.randint(0, ground - LEAST_CONTRAST), ground
    ground = rng.randint(0, 160)
    return rng.randint(ground + LEAST_CONTRAST, 255), ground

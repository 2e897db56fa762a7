"""How far a page lies askew, from its pixels.

Lines of text are dense rows of ink with paper between. Seen along the right direction the rows are
sharpest (projection profile, after W. Postl, 1986): the squared steps from one row's ink to the
next's add up to most.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOST_DEGREES = 5.0
_COARSE, _FINE = 0.25, 0.05
_MOST_POINTS = 60_000
_GAIN = 1.5
"""How much sharper rows must be along a direction than along the page to believe it; noise reaches
1.3, lines that climb by a tenth of a degree 1.8."""


def skew_of(ink: npt.NDArray[np.bool_]) -> float:
    """Degrees by which lines climb to the right, 0.0 where that cannot be told. ink: [H, W]."""
    y, x = np.nonzero(ink)
    if not len(y):
        return 0.0
    if len(y) > _MOST_POINTS:
        # At random: taken in turn, every row would have its even share, and 0 degrees look dull.
        some = np.random.default_rng(0).choice(len(y), _MOST_POINTS, replace=False)
        y, x = y[some], x[some]
    down, across = y.astype(float), x - ink.shape[1] / 2

    def sharpness(degrees: float) -> float:
        rows = down + across * np.tan(np.radians(degrees))
        profile = np.bincount((rows - rows.min()).astype(int)).astype(float)
        return float((np.diff(profile) ** 2).sum())

    coarse = np.arange(-MOST_DEGREES, MOST_DEGREES + _COARSE / 2, _COARSE)
    best = max(coarse, key=sharpness)
    best = max(np.arange(best - _COARSE, best + _COARSE + _FINE / 2, _FINE), key=sharpness)
    is_clear = sharpness(best) > _GAIN * sharpness(0.0)
    # At the end of the range it may well have been something else than lines of text.
    return round(float(best), 2) if is_clear and abs(best) < MOST_DEGREES else 0.0

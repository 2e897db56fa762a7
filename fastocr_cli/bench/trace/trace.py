"""One page's reading, step by step, as arrays. Knows numpy and no model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Trace:
    """S tokens were written, over V visual tokens; each step shows the K most attended of them.

    pieces: S strings, what each token wrote.
    boxes: float32 [V, 4], x0, y0, x1, y1 as shares of the page; zeros where a token has no place.
    looked: int32 [S, K], indices into boxes, most attended first, -1 where unknown.
    shares: float32 [S, K], their shares of the visual attention; 0 where unknown.
    kept: float32 [S], share of the visual tokens attended, mean over layers.
    mass: float32 [S], share of the visual attention that the fixation held; NaN where unknown.
    places: float32 [S, 4], the box of the word a token belongs to, NaN where unknown.
    title, model, keep: for people.
    """

    title: str
    model: str
    keep: float
    pieces: tuple[str, ...]
    boxes: npt.NDArray[np.float32]
    looked: npt.NDArray[np.int32]
    shares: npt.NDArray[np.float32]
    kept: npt.NDArray[np.float32]
    mass: npt.NDArray[np.float32]
    places: npt.NDArray[np.float32]

    @property
    def steps(self) -> int:
        return len(self.pieces)

"""Reading one page while writing down where every step looked and how much it attended to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor

from fastocr_cli.bench.contestants import WARM_UP_TOKENS
from fastocr_cli.bench.trace.trace import Trace
from fastocr_cli.decoding.engine import generate
from fastocr_cli.decoding.pages import Generation
from fastocr_cli.errors import InputError
from fastocr_cli.fixation.ledger import Ledger
from fastocr_cli.fixation.policy import AttentionPolicy, DecoderShape, PolicyState
from fastocr_cli.models.base import ModelAdapter, VisualLayout
from fastocr_cli.reading import Reader
from fastocr_cli.results import Box

LOOKS = 24
"""Most attended patches of each step that are shown."""


def record(reader: Reader, image: Image.Image, title: str, max_tokens: int | None = None) -> Trace:
    """Read a page with `reader`, whose fixation settings must ask for a trace.

    Raises InputError if nothing was read, or if the page is too tall to be read at once.
    """
    adapter = reader.adapter
    tallest = adapter.tallest(image)
    if tallest is not None and image.height > tallest:
        raise InputError(
            f"{title}: {image.height:,} px tall, which is read in several strips, and a trace "
            f"shows one; cut out a part of at most {tallest:,} px"
        )
    prompt = adapter.prepare(image)
    policy = reader.policy(reader.keep)
    generate(adapter, [prompt], policy=policy, max_tokens=WARM_UP_TOKENS)  # finds focal layers
    watched = StepWatch(policy)
    (generation,) = generate(adapter, [prompt], policy=watched, max_tokens=max_tokens)
    if not generation.token_ids:
        raise InputError(f"{title}: the model read nothing on this page")
    return _trace(adapter, generation, prompt.layout, watched.kept(), title, reader.keep)


@dataclass
class StepWatch:
    """A policy, and the share of one page's visual tokens that its layers attended in each step."""

    policy: AttentionPolicy
    _shares: list[list[Tensor | float]] = field(default_factory=list)
    name: ClassVar[str] = "watched"

    def start(
        self, layouts: Sequence[VisualLayout], shape: DecoderShape, device: torch.device
    ) -> PolicyState:
        state: Any = self.policy.start(layouts, shape, device)
        state.ledger = _LedgerWatch(state.ledger, layouts[0], self._shares)
        return state

    def kept(self) -> list[float]:
        """By decode step, the mean over layers."""
        return [float(sum(map(float, step)) / len(step)) for step in self._shares]


class _LedgerWatch:
    """A ledger that also notes what every single layer of every step attended to."""

    def __init__(
        self, ledger: Ledger, layout: VisualLayout, shares: list[list[Tensor | float]]
    ) -> None:
        self._ledger, self._shares = ledger, shares
        self._tokens = layout.num_tokens
        self._structural = layout.num_tokens - layout.num_patches

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def begin_step(self) -> None:
        self._shares.append([])
        self._ledger.begin_step()

    def dense(self) -> None:
        self._shares[-1].append(1.0)
        self._ledger.dense()

    def sparse(self, chosen: Tensor) -> None:
        self._shares[-1].append((chosen[0] + self._structural) / self._tokens)
        self._ledger.sparse(chosen)


def _trace(
    adapter: ModelAdapter,
    generation: Generation,
    layout: VisualLayout,
    kept: Sequence[float],
    title: str,
    keep: float,
) -> Trace:
    tokens = generation.token_ids
    looked, shares, mass = _looks(generation.stats.extra.get("trace", {}), len(tokens))
    told = adapter.places(tokens, layout)
    return Trace(
        title=title,
        model=adapter.name,
        keep=keep,
        pieces=tuple(adapter.pieces(tokens)),
        boxes=torch.nan_to_num(layout.boxes).numpy().astype(np.float32),
        looked=looked,
        shares=shares,
        kept=np.array([1.0, *kept][: len(tokens)], np.float32),  # the first comes from prefill
        mass=mass,
        places=_boxes(generation.places if told is None else told),
    )


def _looks(
    trace: dict[str, Any], count: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """By generated token: indices, their shares, and the fixation's mass. Step s wrote token s + 1.

    A page's stop token has a step and no place among the tokens.
    """
    width = len(trace["tokens"][0]) if trace.get("tokens") else 1
    looked = np.full((count, width), -1, np.int32)
    shares = np.zeros((count, width), np.float32)
    mass = np.full(count, np.nan, np.float32)
    rows = zip(
        trace.get("steps", ()), trace.get("tokens", ()), trace.get("masses", ()), strict=True
    )
    for step, tokens, masses in rows:
        if step + 1 < count:
            looked[step + 1], shares[step + 1], mass[step + 1] = tokens, masses[:-1], masses[-1]
    shares[looked < 0] = 0
    return looked, shares, mass


def _boxes(places: Sequence[Box | None]) -> npt.NDArray[np.float32]:
    unknown = (float("nan"),) * 4
    return np.array([place or unknown for place in places], np.float32).reshape(-1, 4)

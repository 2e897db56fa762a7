"""`Reader`: images in, readings out. The one object that ties a model to the decode engine.

Knows no files and no formats; `api.py` brings pages here and takes readings away.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from PIL import Image

from fastocr_cli.decoding.engine import generate
from fastocr_cli.decoding.pages import Generation
from fastocr_cli.decoding.shape import DecoderFacts
from fastocr_cli.errors import UsageError
from fastocr_cli.fixation import AttentionPolicy, make_policy
from fastocr_cli.fixation.calibration import find_calibration
from fastocr_cli.models.base import ModelAdapter, PromptInputs
from fastocr_cli.models.loading import EMBEDDED, load_adapter
from fastocr_cli.results import PageImage, PageReading
from fastocr_cli.rtprune.hook import RTPruneHook, caution
from fastocr_cli.rtprune.settings import RTPruneSettings
from fastocr_cli.strips import cut, join

PageLike = Image.Image | PageImage | npt.NDArray[np.uint8]

_MOST_PAGES = {"cpu": 8, "cuda": 16}
_CACHE_BYTES = {"cpu": 2**30, "cuda": 2**33}
"""Room for the keys and values of a batch; a typical page has 4,096 positions."""


@dataclass
class _Page:
    """A page while it is read, strip by strip. left: tokens it may still take; None: any number."""

    strips: list[Image.Image]
    left: int | None
    readings: list[PageReading] = field(default_factory=list)

    @property
    def is_unread(self) -> bool:
        is_spent = bool(self.readings) and self.left is not None and self.left <= 0
        return len(self.readings) < len(self.strips) and not is_spent

    @property
    def next_strip(self) -> Image.Image:
        return self.strips[len(self.readings)]

    def add(self, reading: PageReading) -> None:
        self.readings.append(reading)
        if self.left is not None:
            self.left -= len(reading.token_ids)


class Reader:
    """A loaded model that reads page images.

    keep: share of the visual tokens that pruned layers attend to; 1.0 is dense.
    method: name of the attention policy; fixation: its further settings, by name.
    rtprune: settings of RTPrune, which shortens each prompt before the decoder; None: not at all.
    """

    def __init__(
        self,
        adapter: ModelAdapter,
        *,
        keep: float = 1.0,
        method: str = "fastocr",
        fixation: Mapping[str, Any] | None = None,
        rtprune: RTPruneSettings | None = None,
    ):
        self.adapter = adapter
        self.keep = keep
        self.method = method
        self._fixation = _checked(fixation or {})
        self.rtprune = rtprune
        self._policies: dict[float, AttentionPolicy] = {}
        self.policy(keep)  # an impossible setting is an error now and not at the first page

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str = EMBEDDED,
        *,
        device: str = "auto",
        dtype: str = "auto",
        keep: float = 1.0,
        method: str = "fastocr",
        fixation: Mapping[str, Any] | None = None,
        rtprune: RTPruneSettings | None = None,
        offline: bool = False,
        trust_remote_code: bool = False,
        revision: str | None = None,
        mode: str | None = None,
    ) -> Self:
        """Load "embedded", a local folder or a hub id; see `load_adapter` for the errors."""
        adapter = load_adapter(
            name_or_path,
            device=device,
            dtype=dtype,
            offline=offline,
            trust_remote_code=trust_remote_code,
            revision=revision,
            mode=mode,
        )
        return cls(adapter, keep=keep, method=method, fixation=fixation, rtprune=rtprune)

    @property
    def warning(self) -> str | None:
        """What to know before this model is used with these settings, in a line."""
        return caution(self.adapter) if self.rtprune else None

    @property
    def prompt(self) -> str:
        """The exact text given to the model, its image placeholder unexpanded."""
        return self.adapter.prompt

    @property
    def batch_size(self) -> int:
        """How many pages to give to `read` at once on this reader's device."""
        kind = self.adapter.device.type
        if kind == "cpu" and self.adapter.has_aids:
            return 1  # drafts fill a step as well as other pages would, and no page waits
        shape = DecoderFacts.of(self.adapter.decoder_config).shape
        row_bytes = 2 * shape.num_kv_heads * shape.head_dim * self.adapter.dtype.itemsize
        page_bytes = 4096 * shape.num_layers * row_bytes
        fitting = _CACHE_BYTES.get(kind, 2**31) // page_bytes
        return max(1, min(fitting, _MOST_PAGES.get(kind, 8)))

    def policy(self, keep: float) -> AttentionPolicy:
        """The reader's method at another keep; what a policy has learned of the model stays."""
        if keep not in self._policies:
            measured = find_calibration(self.adapter) if self.method == "fastocr" else None
            self._policies[keep] = make_policy(
                self.method, keep, calibration=measured, **self._fixation
            )
        return self._policies[keep]

    def read(
        self,
        images: PageLike | Sequence[PageLike],
        max_tokens: int | None = None,
        *,
        keep: float | None = None,
        is_pruned: bool = True,
        aided: bool = True,
    ) -> list[PageReading]:
        """Read pages together, one reading per image, in order.

        max_tokens: the most that a page may take, on top of the model's own cap. keep: another
        than the reader's own. is_pruned: False leaves RTPrune out of this call. aided: False
        leaves to the decoder what can be left to it, token by token (see `generate`).
        All are in memory at once: give a long document in pieces of `batch_size`. The strips of a
        tall page are read one after another, so it takes no more room than any other page.
        """
        given = [images] if isinstance(images, (Image.Image, PageImage, np.ndarray)) else images
        pages = [_Page(self._strips(image), max_tokens) for image in given]
        rtprune = self.rtprune if is_pruned else None
        policy = self.policy(self.keep if keep is None else keep)
        while unread := [page for page in pages if page.is_unread]:
            strips = [(page.next_strip, page.left) for page in unread]
            readings = self._read_strips(strips, policy, rtprune, aided=aided)
            for page, reading in zip(unread, readings, strict=True):
                page.add(reading)
        return [self._joined(page) for page in pages]

    def _read_strips(
        self,
        strips: Sequence[tuple[Image.Image, int | None]],
        policy: AttentionPolicy,
        rtprune: RTPruneSettings | None,
        *,
        aided: bool,
    ) -> list[PageReading]:
        """One batch. strips: each with the most tokens it may take."""
        prepared = [self._prepare(strip, most) for strip, most in strips]
        prompts = [prompt for prompt, _ in prepared]
        hook = RTPruneHook(rtprune, self.adapter, prompts) if rtprune else None
        generations = generate(self.adapter, prompts, policy=policy, prefill_hook=hook, aided=aided)
        if hook is not None:
            generations = hook.with_stats(generations)
        return [
            self._reading(generation, prompt, prepare_ms)
            for generation, (prompt, prepare_ms) in zip(generations, prepared, strict=True)
        ]

    def to_markdown(self, text: str) -> str:
        """Markdown from a reading's raw text."""
        return self.adapter.to_markdown(text)

    def _strips(self, page: PageLike) -> list[Image.Image]:
        image = _as_image(page)
        return cut(image, self.adapter.tallest(image))

    def _joined(self, page: _Page) -> PageReading:
        if len(page.strips) == 1:
            return page.readings[0]
        tokens = [token for one in page.readings for token in one.token_ids]
        heights = [strip.height for strip in page.strips]
        return join(page.readings, heights, self.adapter.detokenize(tokens))

    def _prepare(self, image: Image.Image, most: int | None) -> tuple[PromptInputs, float]:
        began = time.perf_counter()
        prompt = self.adapter.prepare(image)
        if most is not None:
            prompt = replace(prompt, token_cap=min(prompt.token_cap, most))
        return prompt, (time.perf_counter() - began) * 1000

    def _reading(
        self, generation: Generation, prompt: PromptInputs, prepare_ms: float
    ) -> PageReading:
        told = self.adapter.places(generation.token_ids, prompt.layout)
        return PageReading(
            text=self.adapter.detokenize(generation.token_ids),
            token_ids=generation.token_ids,
            logprobs=generation.logprobs,
            status=generation.status,
            pieces=tuple(self.adapter.pieces(generation.token_ids)),
            stats=replace(generation.stats, prepare_ms=prepare_ms),
            places=generation.places if told is None else tuple(told),
        )


def _checked(fixation: Mapping[str, Any]) -> dict[str, Any]:
    """Raises UsageError for what the reader itself gives to the method."""
    taken = [name for name in ("method", "keep", "calibration") if name in fixation]
    if taken:
        raise UsageError(
            f"'{taken[0]}' is no setting of fixation: method and keep have options of their own"
        )
    return dict(fixation)


def _as_image(page: PageLike) -> Image.Image:
    if isinstance(page, Image.Image):
        return page if page.mode == "RGB" else page.convert("RGB")
    return Image.fromarray(page.pixels if isinstance(page, PageImage) else page).convert("RGB")

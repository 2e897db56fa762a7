"""A reader that is loaded when first needed, tries again, and survives a lack of memory.

A page is turned if the model knows that it could make out nothing: it may stand on its head or lie
on its side. One that looped, was cut short or failed is read again, first at another scale, then
with nothing pruned, as often as allowed; the best attempt is kept. When memory runs out the batch
is halved, for good. Knows the Reader's interface and nothing of files or outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from fastocr_cli.errors import FastocrError
from fastocr_cli.raster.base import turned
from fastocr_cli.record.identity import Identity, identity_of
from fastocr_cli.results import Box, PageImage, PageReading, PageStats, PageStatus

if TYPE_CHECKING:
    from fastocr_cli.reading import Reader

OTHER_SCALE = 0.85
_PREFERENCE = (
    *(PageStatus.FAILED, PageStatus.LOOPED, PageStatus.TRUNCATED),
    *(PageStatus.BLANK, PageStatus.OK),
)
_NOTES = {
    PageStatus.BLANK: ("no text was found on the page",),
    PageStatus.FAILED: (
        "the model could not make out the writing: another script, handwriting or a poor scan; "
        "another model may read it",
    ),
}


@dataclass(frozen=True)
class Attempt:
    """What one try at a page gave; warnings say what went wrong, or what helped. turn: degrees by
    which the page was turned clockwise for it."""

    reading: PageReading
    warnings: tuple[str, ...] = ()
    turn: int = 0

    @property
    def is_complete(self) -> bool:
        return self.reading.status.is_complete

    @property
    def is_empty(self) -> bool:
        """Whether the model looked at the page and wrote nothing."""
        return not self.reading.token_ids and self.reading.stats.visual_tokens > 0

    @property
    def rank(self) -> int:
        return _PREFERENCE.index(self.reading.status)


@dataclass(frozen=True)
class Rung:
    """One further way to read a page: its name, a change of scale, a turn clockwise by so many
    degrees, other arguments of `read`."""

    name: str
    scale: float = 1.0
    turn: int = 0
    arguments: tuple[tuple[str, Any], ...] = ()


_TURNS = tuple(Rung(f"turned by {turn} degrees", turn=turn) for turn in (180, 90, 270))


class PatientReader:
    """Reads batches of pages, one attempt after another, and always returns one result a page.

    load: gives the Reader; called once, at the first page that needs it.
    identify: tells which model that will be, before it is loaded; None where it cannot.
    batch_size: pages decoded together; None takes what suits the reader's device.
    turns: whether a page on which nothing was read is turned; not counted among the retries.
    max_tokens: as the user set it; a page cut short at a limit of the user's is not read again.
    notify: is told, in a line, what to know of the model once it is loaded, and when the batch
        had to shrink.
    on_fault: is given every exception that ended an attempt, which of the page's result is only a
        line; may be set later. By default nobody is.
    while_loading: opens the scope in which the model is loaded.
    """

    def __init__(
        self,
        load: Callable[[], Reader],
        *,
        identify: Callable[[], Identity | None] = lambda: None,
        batch_size: int | None = None,
        turns: bool = False,
        max_tokens: int | None = None,
        max_retries: int = 2,
        notify: Callable[[str], None] = lambda text: None,
        on_fault: Callable[[Exception], None] = lambda error: None,
        while_loading: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._load = load
        self._identify = identify
        self._asked_size = batch_size
        self._smaller_size: int | None = None
        self._turns = turns
        self._max_tokens = max_tokens
        self._max_retries = max_retries
        self._notify = notify
        self._on_fault = on_fault
        self._while_loading = while_loading

    @cached_property
    def reader(self) -> Reader:
        with self._while_loading():
            reader = self._load()
        if reader.warning is not None:
            self._notify(reader.warning)
        return reader

    @property
    def batch_size(self) -> int:
        return self._smaller_size or self._asked_size or self.reader.batch_size

    @property
    def is_loaded(self) -> bool:
        return "reader" in vars(self)

    @cached_property
    def identity(self) -> Identity:
        """Name and revision of the model, the same throughout a run."""
        return self._identify() or identity_of(self.reader.adapter)

    @property
    def device(self) -> str:
        """cpu, cuda, ..."""
        kind: str = self.reader.adapter.device.type
        return kind

    def to_markdown(self, text: str) -> str:
        return self.reader.to_markdown(text)

    def read(self, pages: Sequence[PageImage]) -> list[Attempt]:
        """The best attempt at each page, in order; further ones where the first is not complete or
        read nothing."""
        best = self._read_images(pages)
        for rung in _TURNS if self._turns and self.reader.adapter.has_aids else ():
            self._climb(rung, pages, best, [i for i, one in enumerate(best) if one.is_empty])
        for rung in self._rungs():
            bad = [i for i, attempt in enumerate(best) if self._deserves_another(attempt)]
            self._climb(rung, pages, best, bad)
        return best

    def _climb(
        self, rung: Rung, pages: Sequence[PageImage], best: list[Attempt], chosen: Sequence[int]
    ) -> None:
        """Read the chosen pages that way; what is better goes into `best`."""
        turns = [best[i].turn + rung.turn for i in chosen]
        pairs = zip(chosen, turns, strict=True)
        scaled = [(_scaled(pages[i], rung.scale), turn) for i, turn in pairs]
        changed = [replace(page, pixels=turned(page.pixels, turn)) for page, turn in scaled]
        again = self._read_images(changed, rung.arguments)
        for i, turn, attempt in zip(chosen, turns, again, strict=True):
            better = _better(best[i], replace(attempt, turn=turn), rung)
            best[i] = _timed(better, best[i], attempt)

    def _rungs(self) -> list[Rung]:
        rungs = [Rung(f"at {OTHER_SCALE:.0%} of the size", scale=OTHER_SCALE)]
        if self.reader.keep < 1 or self.reader.rtprune is not None:
            whole = (("keep", 1.0), ("is_pruned", False))
            rungs.append(Rung("with dense attention", arguments=whole))
        return rungs[: self._max_retries]

    def _deserves_another(self, attempt: Attempt) -> bool:
        """Not where the user's own limit cut the page short: it would do so again."""
        reading = attempt.reading
        is_users_limit = (
            reading.status is PageStatus.TRUNCATED
            and self._max_tokens is not None
            and reading.stats.generated_tokens >= self._max_tokens
        )
        return not attempt.is_complete and not is_users_limit

    def _read_images(
        self, images: Sequence[PageImage], arguments: tuple[tuple[str, Any], ...] = ()
    ) -> list[Attempt]:
        attempts: list[Attempt] = []
        while len(attempts) < len(images):
            part = images[len(attempts) : len(attempts) + self.batch_size]
            attempts += self._read_part(part, dict(arguments))
        return attempts

    def _read_part(self, images: Sequence[PageImage], arguments: dict[str, Any]) -> list[Attempt]:
        """One batch; on a lack of memory in halves, on another fault page by page."""
        parts: list[Sequence[PageImage]]
        try:
            readings = self.reader.read(images, max_tokens=self._max_tokens, **arguments)
            return [Attempt(one, one.warnings + _NOTES.get(one.status, ())) for one in readings]
        except FastocrError:
            raise
        except Exception as error:
            is_memory = is_out_of_memory(error)
            if len(images) == 1 or not is_memory:
                self._on_fault(error)
            if len(images) == 1:
                return [_failed(error)]
            if is_memory:
                self._shrink(len(images) // 2)
                half = len(images) // 2
                parts = [images[:half], images[half:]]
            else:
                parts = [[image] for image in images]
        # Outside the handler: the error's traceback would keep the failed batch in memory.
        return [a for part in parts for a in self._read_part(part, arguments)]

    def _shrink(self, size: int) -> None:
        if self._smaller_size is None or size < self._smaller_size:
            self._smaller_size = size
            self._notify(f"out of memory: going on with {size} page(s) at a time")


def is_out_of_memory(error: Exception) -> bool:
    """Python's own, or torch's, which is known by name so that torch need not be loaded."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "out of memory" in str(error).lower()
        or "can't allocate memory" in str(error).lower()
    )


def _failed(error: Exception) -> Attempt:
    reading = PageReading("", (), (), PageStatus.FAILED, PageStats())
    return Attempt(reading, (f"{type(error).__name__}: {error}",))


def _better(old: Attempt, new: Attempt, rung: Rung) -> Attempt:
    """The new attempt if it ended better, marked as a retry if it is complete."""
    # Of attempts that read nothing the first says best why: writing that one could not make out,
    # another might not even notice.
    is_better = not new.is_empty if old.is_empty else new.rank > old.rank
    if not is_better:
        return old
    places = tuple(place and _turned_back(place, new.turn) for place in new.reading.places)
    new = replace(new, reading=replace(new.reading, places=places))
    if new.reading.status is not PageStatus.OK:
        return new
    reading = replace(new.reading, status=PageStatus.RETRIED)
    warnings = (f"{old.reading.status} at first, read again {rung.name}",)
    return replace(new, reading=reading, warnings=warnings)


def _timed(chosen: Attempt, *tried: Attempt) -> Attempt:
    """With the time of all that was tried: the page took it, whichever attempt is kept."""
    times = {
        name: sum(getattr(one.reading.stats, name) for one in tried)
        for name in ("prepare_ms", "prefill_ms", "decode_ms", "attention_ms")
    }
    stats = replace(chosen.reading.stats, **times)
    return replace(chosen, reading=replace(chosen.reading, stats=stats))


def _scaled(page: PageImage, scale: float) -> PageImage:
    if scale == 1:
        return page
    size = (max(1, round(page.width_px * scale)), max(1, round(page.height_px * scale)))
    smaller = Image.fromarray(page.pixels).resize(size, Image.Resampling.LANCZOS)
    return replace(page, pixels=np.asarray(smaller), dpi=page.dpi * scale)


def _turned_back(box: Box, turn: int) -> Box:
    """A box of the turned page where it stands on the page itself."""
    x0, y0, x1, y1 = box
    for _ in range(turn // 90):
        x0, y0, x1, y1 = y0, 1 - x1, y1, 1 - x0
    return x0, y0, x1, y1

"""The main path: inputs to page images to page texts, as a stream of events in reading order.

Pages are drawn lazily and decoded in batches, also across documents; a page that the journal
holds, a blank one and one that cannot be drawn need no model. One bad input or page is an event
like any other and never stops the rest. Knows no output formats and no display.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import orjson

from fastocr_cli.errors import FastocrError, InputError
from fastocr_cli.inputs.documents import Document, file_digest, printable
from fastocr_cli.inputs.sources import BadInput
from fastocr_cli.models.names import EMBEDDED
from fastocr_cli.options import Options
from fastocr_cli.patience import Attempt, PatientReader
from fastocr_cli.raster import open_document
from fastocr_cli.raster.base import FINE_DPI, PageSource, RasterSettings
from fastocr_cli.raster.drawing import (
    Drawer,
    Drawing,
    Order,
    default_workers,
    hold_ahead,
    named_errors,
    thumbnail_of,
)
from fastocr_cli.record.calibrations import calibration_mark
from fastocr_cli.record.events import DocumentDone, DocumentFailed, DocumentOpened, Event, PageDone
from fastocr_cli.record.journal import Journal, PageKey
from fastocr_cli.record.learned import learned_by, teach
from fastocr_cli.results import PageImage, PageResult, PageStatus
from fastocr_cli.version import __version__

SETTINGS_THAT_MATTER = (
    "mode", "dtype", "keep", "method", "fixation", "rtprune", "rtprune_option", "max_tokens",
    "max_retries", "dpi", "max_pixels", "rotate", "strict",
)  # fmt: skip
"""What changes a page's text; the rest (device, batch size, formats) does not make it unread."""


@dataclass(frozen=True)
class UnreadPage:
    """A drawn page that waits for the model."""

    index: int
    key: PageKey
    image: PageImage
    thumbnail: bytes | None


@dataclass(frozen=True)
class OrderedPage:
    """A page that is being drawn. warnings: about its document as a whole, for the first page."""

    index: int
    key: PageKey
    order: Order
    drawing: Drawing
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class OpenDocument:
    """A document whose pages can be drawn. digest: SHA-256 of its bytes; numbers: wanted pages."""

    document: Document
    digest: str
    pages: PageSource
    numbers: tuple[int, ...]


class Pipeline:
    """Reads documents one after another.

    journal: where finished pages are recorded and looked up; None records nothing.
    has_thumbnails: whether each page comes with a small picture of itself.
    """

    def __init__(
        self,
        reader: PatientReader,
        options: Options,
        journal: Journal | None = None,
        *,
        has_thumbnails: bool = False,
    ) -> None:
        self._reader = reader
        self._options = options
        self._journal = journal
        self._has_thumbnails = has_thumbnails
        self._selection = options.selection
        self._raster = raster_settings(options)

    def run(self, items: Iterable[tuple[int, Document | BadInput]]) -> Iterator[Event]:
        """Everything that happens; a page's event comes once its record is in the journal."""
        waiting: list[Event | UnreadPage] = []
        unread = 0
        with Drawer(self._workers) as drawer:
            for item in self._drawn(items, drawer):
                waiting.append(item)
                unread += isinstance(item, UnreadPage)
                if unread == 0 or unread == self._reader.batch_size:
                    yield from self._finish(waiting)
                    waiting, unread = [], 0
            yield from self._finish(waiting)

    @cached_property
    def _settings(self) -> str:
        # Where nothing is pruned, a calibration has no say.
        is_asked = self._options.method == "fastocr" and self._options.keep < 1
        known = calibration_mark(self._reader.identity) if is_asked else None
        return settings_digest(self._options, known)

    @cached_property
    def _model(self) -> str:
        return str(self._reader.identity)

    def _workers(self) -> int | None:
        """None as long as nothing had to be read: where the model will run is not known then, and
        a run without a page to read shall not load it."""
        if self._options.workers is not None:
            return self._options.workers
        return default_workers(self._reader.device) if self._reader.is_loaded else None

    def _finish(self, waiting: list[Event | UnreadPage]) -> Iterator[Event]:
        """Read what is unread, all in one batch, and give everything in its order."""
        unread = [item for item in waiting if isinstance(item, UnreadPage)]
        attempts = iter(self._read(unread) if unread else ())
        for item in waiting:
            event = self._result(item, next(attempts)) if isinstance(item, UnreadPage) else item
            if isinstance(event, PageDone) and not event.resumed and self._journal is not None:
                self._journal.record(event.key, event.result, event.thumbnail)
            yield event

    def _read(self, pages: list[UnreadPage]) -> list[Attempt]:
        """One batch; what the method learns from the first page is kept for a resumed run."""
        model = self._model
        if self._journal is not None and (known := self._journal.learned(self._settings, model)):
            teach(self._reader.reader, known)
        attempts = self._reader.read([page.image for page in pages])
        if self._journal is not None and (values := learned_by(self._reader.reader)):
            self._journal.note_learned(self._settings, model, values)
        return attempts

    def _drawn(
        self, items: Iterable[tuple[int, Document | BadInput]], drawer: Drawer
    ) -> Iterator[Event | UnreadPage]:
        """Everything in its order, pages drawn."""
        ordered = self._order(items, drawer)
        for item in hold_ahead(
            ordered, lambda: drawer.window, lambda i: isinstance(i, OrderedPage)
        ):
            yield self._draw(item) if isinstance(item, OrderedPage) else item

    def _order(
        self, items: Iterable[tuple[int, Document | BadInput]], drawer: Drawer
    ) -> Iterator[Event | OrderedPage]:
        """Open one document after another and order its pages."""
        for index, item in items:
            with ExitStack() as scope:
                try:
                    opened = self._open(item, scope)
                except FastocrError as error:
                    yield DocumentFailed(index, item.source, error)
                    continue
                yield DocumentOpened(index, item.source, len(opened.numbers))
                yield from self._order_pages(index, opened, drawer)
            yield DocumentDone(index, item.source)

    def _open(self, item: Document | BadInput, scope: ExitStack) -> OpenDocument:
        """Raises what is wrong with the input, whatever it is, as an error that names it."""
        if isinstance(item, BadInput):
            raise item.error
        with named_errors(item.source):
            digest = file_digest(item)
            pages = scope.enter_context(open_document(item, self._raster))
            self._refuse(pages.warnings, printable(item.source))
            return OpenDocument(item, digest, pages, self._numbers(item, pages))

    def _order_pages(
        self, index: int, opened: OpenDocument, drawer: Drawer
    ) -> Iterator[PageDone | OrderedPage]:
        for number in opened.numbers:
            key = PageKey(opened.digest, number, self._settings, self._model)
            recorded = self._recorded(index, key, opened)
            if recorded is not None:
                yield recorded
                continue
            order = Order(opened.document, number, self._raster, self._has_thumbnails)
            warnings = opened.pages.warnings if number == opened.numbers[0] else ()
            yield OrderedPage(index, key, order, drawer.draw(order, opened.pages), warnings)

    def _numbers(self, document: Document, pages: PageSource) -> tuple[int, ...]:
        if self._selection is None:
            return tuple(range(1, pages.page_count + 1))
        return self._selection.numbers(pages.page_count, document.source)

    def _draw(self, page: OrderedPage) -> PageDone | UnreadPage:
        """The page as pixels; as a result at once if it is blank or cannot be drawn."""
        try:
            drawn = page.drawing()
            self._refuse(drawn.image.warnings, page.order.name)
        except FastocrError as error:
            source = page.order.document.source
            failed = PageResult(
                source, page.key.page, PageStatus.FAILED, "", 0, 0, 0.0, warnings=(str(error),)
            )
            return PageDone(page.index, failed, page.key, error=error)
        image = replace(drawn.image, warnings=page.warnings + drawn.image.warnings)
        if not drawn.is_blank:
            return UnreadPage(page.index, page.key, image, drawn.thumbnail)
        result = _page_result(image, PageStatus.BLANK)
        return PageDone(page.index, result, page.key, thumbnail=drawn.thumbnail)

    def _refuse(self, warnings: tuple[str, ...], name: str) -> None:
        """Raises InputError for what is not whole, where only that will do."""
        if self._options.strict and warnings:
            raise InputError(f"{name}: {warnings[0]}; leave out --strict to read it all the same")

    def _recorded(self, index: int, key: PageKey, opened: OpenDocument) -> PageDone | None:
        """The page from the journal, unless there is a reason to read it again.

        A page without any text is always tried again, one with part of its text on request.
        """
        status = self._journal.status(key) if self._journal and self._options.resume else None
        if status is None or status is PageStatus.FAILED:
            return None
        if self._options.retry_failed and not status.is_complete:
            return None
        assert self._journal is not None
        result, thumbnail = self._journal.load(key, opened.document.source)
        if self._has_thumbnails and thumbnail is None:
            thumbnail = thumbnail_of(opened.pages.render(key.page))
        return PageDone(index, result, key, resumed=True, thumbnail=thumbnail)

    def _result(self, page: UnreadPage, attempt: Attempt) -> PageDone:
        reading = attempt.reading
        result = replace(
            _page_result(page.image, reading.status),
            markdown=self._reader.to_markdown(reading.text),
            reading=reading,
            warnings=page.image.warnings + attempt.warnings,
        )
        return PageDone(page.index, result, page.key, thumbnail=page.thumbnail)


def raster_settings(options: Options) -> RasterSettings:
    """How pages are drawn; what the options leave open is the rasteriser's choice, but for the
    embedded reader."""
    chosen: dict[str, Any] = {"dpi": options.dpi, "max_pixels": options.max_pixels}
    if options.dpi is None and options.model == EMBEDDED:
        chosen["dpi"] = FINE_DPI
    given = {name: value for name, value in chosen.items() if value is not None}
    turn = int(options.rotate) if options.rotate.isdigit() else 0
    return RasterSettings(password=options.password, turn=turn, **given)


def settings_digest(options: Options, calibration: str | None = None) -> str:
    """A short mark of all that changes a page's text beside the page and the model: the settings,
    this program, and the mark of a calibration of the model."""
    decided_by = {
        "settings": text_settings(options), "version": __version__, "calibration": calibration,
    }  # fmt: skip
    values = orjson.dumps(decided_by, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(values).hexdigest()[:16]


def text_settings(options: Options) -> dict[str, Any]:
    """The settings that change a page's text, by name."""
    return {name: getattr(options, name) for name in SETTINGS_THAT_MATTER}


def _page_result(image: PageImage, status: PageStatus) -> PageResult:
    return PageResult(
        source=image.source,
        number=image.number,
        status=status,
        markdown="",
        width_px=image.width_px,
        height_px=image.height_px,
        dpi=image.dpi,
        warnings=image.warnings,
    )

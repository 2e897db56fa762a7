"""Pages drawn ahead of the model by other processes, or when they are asked for in this one.

MuPDF must not be used by two threads, and holds Python's lock while it draws; so what is to
happen beside the decoding happens in processes. A page that takes its process down fails alone.
Knows documents and pixels; nothing of models.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any, TypeVar

from fastocr_cli.errors import FastocrError, InputError
from fastocr_cli.inputs.documents import Document, printable
from fastocr_cli.raster import PageSource, RasterSettings, open_document
from fastocr_cli.raster.blank import is_blank
from fastocr_cli.results import PageImage

T = TypeVar("T")


@dataclass(frozen=True)
class Drawn:
    """A page as pixels. thumbnail: a small JPEG, where it was asked for."""

    image: PageImage
    is_blank: bool
    thumbnail: bytes | None = None


@dataclass(frozen=True)
class Order:
    """A page to be drawn, and how."""

    document: Document
    number: int
    settings: RasterSettings
    has_thumbnail: bool = False

    @property
    def name(self) -> str:
        return f"{printable(self.document.source)}, page {self.number}"


Drawing = Callable[[], Drawn]
"""Gives the page, waiting for it if need be, or raises the error that says why there is none."""


class Drawer:
    """Draws the pages that are ordered, ahead of their turn where it may use processes.

    workers: gives the number of processes, 0 for none; None puts it off to the next page.
    """

    def __init__(self, workers: Callable[[], int | None]) -> None:
        self._choose_workers = workers
        self._chosen: int | None = None
        self._pool: ProcessPoolExecutor | None = None

    @property
    def window(self) -> int:
        """How many pages may be drawn before they are asked for."""
        return 2 * (self._chosen or 0)

    def draw(self, order: Order, pages: PageSource) -> Drawing:
        """pages: the opened document, for a page that is drawn here."""
        if self._chosen is None:
            self._chosen = self._choose_workers()
        if not self._chosen:
            return lambda: draw_now(order, pages)
        future = self._submit(order, self._chosen)
        return lambda: _take(future, order)

    def __enter__(self) -> Drawer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, order: Order, workers: int) -> Future[Drawn]:
        """To the pool there is, or to a new one: a pool that lost a process is of no more use."""
        if self._pool is not None:
            try:
                return self._pool.submit(_draw_elsewhere, order)
            except BrokenProcessPool:
                self._pool.shutdown(wait=False)
        self._pool = _new_pool(workers)
        return self._pool.submit(_draw_elsewhere, order)


def default_workers(device: str) -> int:
    """None on the CPU, where decoding keeps every core busy already; a few beside a GPU."""
    return 0 if device == "cpu" else max(1, min(4, (os.cpu_count() or 2) - 1))


def draw_now(order: Order, pages: PageSource) -> Drawn:
    """The page, from its opened document."""
    with named_errors(order.name):
        image = pages.render(order.number)
        thumbnail = thumbnail_of(image) if order.has_thumbnail else None
        return Drawn(image, is_blank(image), thumbnail)


def thumbnail_of(image: PageImage) -> bytes:
    from fastocr_cli.writers.thumbnail import make_thumbnail

    return make_thumbnail(image.pixels)


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """A fault nobody foresaw, in a library or in us, becomes an error of the input that met it."""
    try:
        yield
    except FastocrError:
        raise
    except Exception as error:
        raise InputError(f"{printable(name)}: {type(error).__name__}: {error}") from error


def hold_ahead(
    items: Iterable[T], window: Callable[[], int], is_ahead: Callable[[T], bool]
) -> Iterator[T]:
    """The items in their order, each given once `window()` of those `is_ahead` wait behind it."""
    held: deque[T] = deque()
    ahead = 0
    for item in items:
        held.append(item)
        ahead += is_ahead(item)
        while held and ahead > window():
            ahead -= is_ahead(held[0])
            yield held.popleft()
        while held and not is_ahead(held[0]):
            yield held.popleft()
    yield from held


def _take(future: Future[Drawn], order: Order) -> Drawn:
    try:
        return future.result()
    except BrokenProcessPool:
        return _draw_alone(order)


def _draw_alone(order: Order) -> Drawn:
    """A page that was under way when a process died: drawn once more, in a process of its own."""
    with _new_pool(1) as pool:
        try:
            return pool.submit(_draw_elsewhere, order).result()
        except BrokenProcessPool:
            raise InputError(
                f"{order.name}: the library that draws it crashed; print the page anew, or leave "
                "it out with --pages"
            ) from None


def _new_pool(workers: int) -> ProcessPoolExecutor:
    # Not forked: a process that holds threads or a GPU cannot be copied safely.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker)


def _begin_worker() -> None:
    """Ctrl-C is the parent's affair; and where the parent is gone, there is nothing to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: Any) -> None:
    wait([sentinel])
    os._exit(1)


class _LastDocument:
    """Keeps one document open, as its pages come one after another."""

    def __init__(self) -> None:
        self._scope = ExitStack()
        self._wanted: tuple[Document, RasterSettings] | None = None
        self._pages: PageSource | None = None

    def pages(self, document: Document, settings: RasterSettings) -> PageSource:
        if self._wanted != (document, settings) or self._pages is None:
            self._scope.close()
            self._pages = self._scope.enter_context(open_document(document, settings))
            self._wanted = (document, settings)
        return self._pages


_last = _LastDocument()
"""A worker process's own; the parent never uses it."""


def _draw_elsewhere(order: Order) -> Drawn:
    return draw_now(order, _last.pages(order.document, order.settings))

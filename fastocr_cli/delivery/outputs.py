"""From the events of a run to output files: each document's writers, opened, fed and closed.

A file appears when its last page is written, and only then; what is ours beside it is noted. A
stream gets what there is, with its end: half a JSON document is none. What tells only of pages that
could not be drawn is no Markdown and no text, in a stream as in a file.
Knows events, destinations and the writers' interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from fastocr_cli.delivery.destination import Destination
from fastocr_cli.delivery.ownership import Origin, Ownership, place_of
from fastocr_cli.delivery.stdio import abandon
from fastocr_cli.errors import FastocrError, OutputError
from fastocr_cli.inputs.documents import Document
from fastocr_cli.inputs.sources import BadInput
from fastocr_cli.options import Options
from fastocr_cli.patience import PatientReader
from fastocr_cli.pipeline import text_settings
from fastocr_cli.record.events import DocumentDone, DocumentOpened, Event, PageDone
from fastocr_cli.writers import FORMATS, Provenance, Style, Writer, open_writer
from fastocr_cli.writers.mark import carries_our_mark


class Outputs:
    """Writes documents as their pages come; those still open when the block is left are discarded
    or, where they went into a stream, ended.

    product: standard output, for a destination that has no files. items: the inputs, each with its
    place among all of them.
    """

    def __init__(
        self,
        destination: Destination,
        options: Options,
        reader: PatientReader,
        product: BinaryIO,
        items: Sequence[tuple[int, Document | BadInput]],
    ) -> None:
        self._destination = destination
        self._options = options
        self._reader = reader
        self._product = product
        self._items = items
        self._documents = {index: item for index, item in items if isinstance(item, Document)}
        self._ownership = Ownership(destination.home) if destination.home else None
        self._writers: list[tuple[Path | None, Writer]] = []
        self._has_page = False
        self._held: list[PageDone] = []
        """Pages that wait to be written until one was drawn."""
        self._indices: list[int] = []
        self._digests: dict[int, str] = {}
        """Of the bytes that the open documents were read from."""
        self.written: dict[int, list[Path]] = {}
        """The files each document has gone into, by its place among the inputs."""

    @property
    def needs_thumbnails(self) -> bool:
        return any(FORMATS[name].needs_thumbnail for name in self._destination.formats)

    def __enter__(self) -> Outputs:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        for _, writer in self._writers:
            if writer.can_discard:
                writer.discard()
            elif kind is None:
                writer.close()
            elif writer.has_begun:
                with suppress(OSError, OutputError):  # the first error is the one to tell
                    writer.close()

    def checked(self) -> Sequence[tuple[int, Document | BadInput]]:
        """The inputs; one with a file in its way is a bad one: better now than after an hour.

        Raises OutputError if the one file of all of them is in the way.
        """
        if self._ownership is None or self._options.overwrite or not self._documents:
            return self._items
        if self._destination.file is not None:
            self._ownership.check(self._destination.file, list(self._documents.values()))
            return self._items
        return [(index, self._checked(index, item, self._ownership)) for index, item in self._items]

    def add(self, event: Event) -> None:
        """Take part in what happens: open, write, close."""
        match event:
            case DocumentOpened(index, source):
                self._indices.append(index)
                if not self._writers:
                    self._open(index, source)
            case PageDone():
                self._has_page = self._has_page or event.error is None
                self._held.append(event)
                self._digests[event.index] = event.key.file
                self._write_held()
            case DocumentDone() if self._destination.folder is not None:
                self.finish()

    def finish(self) -> None:
        """Put the open files in their place, none for a document without one drawn page; end what
        went into a stream."""
        while self._writers:
            path, writer = self._writers[0]
            if self._has_page or not writer.can_discard:
                writer.close()
                self._note(path)
            else:
                writer.discard()
            self._writers.pop(0)
        self._has_page = False
        self._held.clear()
        self._indices.clear()
        self._digests.clear()

    def abandon(self) -> None:
        """Whoever read our stream has gone: nothing more is written to it."""
        for _, writer in self._writers:
            writer.discard()
        self._writers.clear()
        abandon(self._product)

    def _checked(
        self, index: int, item: Document | BadInput, ownership: Ownership
    ) -> Document | BadInput:
        if isinstance(item, BadInput):
            return item
        try:
            for name in self._destination.formats:
                ownership.check(self._destination.path(index, name), [item])
        except FastocrError as error:
            return BadInput(item.source, error)
        return item

    def _write_held(self) -> None:
        if not self._has_page and any(writer.needs_drawn_page for _, writer in self._writers):
            return
        for event in self._held:
            for _, writer in self._writers:
                writer.write(event.result, event.thumbnail)
        self._held.clear()

    def _open(self, index: int, source: str) -> None:
        for name in self._destination.formats:
            path = None if self._destination.is_stdout else self._destination.path(index, name)
            writer = open_writer(
                name,
                self._product if path is None else path,
                self._provenance(source),
                Style(page_breaks=self._options.page_breaks, tables=self._options.tables),
                overwrite=self._options.overwrite,
                is_ours=self._ownership.is_ours if self._ownership else carries_our_mark,
            )
            self._writers.append((path, writer))

    def _note(self, path: Path | None) -> None:
        if path is None:
            return
        if self._ownership is not None:
            self._ownership.note(path, self._origins())
        for index in self._indices:
            self.written.setdefault(index, []).append(path)

    def _origins(self) -> list[Origin]:
        return [
            Origin(place_of(self._documents[index]), digest)
            for index, digest in self._digests.items()
        ]

    def _provenance(self, source: str) -> Provenance:
        model = self._reader.identity
        return Provenance(source, model.name, model.revision, text_settings(self._options))

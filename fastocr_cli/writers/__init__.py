"""Writers: page results to Markdown, text, JSON, JSON Lines or HTML, one page at a time.

    with open_writer("json", Path("report.json"), Provenance("report.pdf")) as writer:
        for page in parse("report.pdf"):
            writer.write(page)

A format (one module each) makes text, an output takes bytes; `Writer` joins the two. Leaving the
block without an error puts the file in its place; with one, whatever stood there before stays.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from fastocr_cli.errors import UsageError
from fastocr_cli.results import PageResult
from fastocr_cli.writers.base import Format, Provenance, Style
from fastocr_cli.writers.html import HtmlFormat
from fastocr_cli.writers.json import JsonFormat
from fastocr_cli.writers.jsonl import JsonLinesFormat
from fastocr_cli.writers.mark import carries_our_mark
from fastocr_cli.writers.markdown import MarkdownFormat
from fastocr_cli.writers.output import Output, open_output
from fastocr_cli.writers.text import TextFormat

__all__ = ["FORMATS", "Provenance", "Style", "Writer", "open_writer"]

FORMATS: dict[str, type[Format]] = {
    "md": MarkdownFormat,
    "txt": TextFormat,
    "json": JsonFormat,
    "jsonl": JsonLinesFormat,
    "html": HtmlFormat,
}


class Writer:
    """Writes the pages of one document (or, as JSON Lines, of several) in one format.

    can_discard: whether `discard` undoes what was written; a stream can only be closed.
    """

    def __init__(self, format_: Format, output: Output) -> None:
        self._format = format_
        self._output = output
        self._has_begun = False

    @property
    def can_discard(self) -> bool:
        return self._output.can_discard

    @property
    def needs_drawn_page(self) -> bool:
        return self._format.needs_drawn_page

    @property
    def has_begun(self) -> bool:
        """Whether anything was written: nothing is before the first page or the end."""
        return self._has_begun

    def write(self, page: PageResult, thumbnail: bytes | None = None) -> None:
        """Write one page as it is finished. Raises OutputError where it cannot be written."""
        self._begin()
        self._write(self._format.page(page, thumbnail))
        self._format.totals.add(page)

    def close(self) -> None:
        """Write the totals and put the file in its place."""
        self._begin()
        self._write(self._format.tail())
        self._output.commit()

    def discard(self) -> None:
        """Leave no file behind; what stood in its place stays."""
        self._output.discard()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.discard()
            return
        try:
            self.close()
        except BaseException:
            self.discard()
            raise

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._write(self._format.head())

    def _write(self, text: str) -> None:
        if text:
            self._output.write(text.encode("utf-8"))


def open_writer(
    name: str,
    target: Path | BinaryIO,
    provenance: Provenance,
    style: Style | None = None,
    *,
    overwrite: bool = False,
    is_ours: Callable[[Path], bool] = carries_our_mark,
) -> Writer:
    """A writer of the format called `name` into a file, or into a binary stream.

    A file that exists is replaced only if `overwrite`, or if `is_ours` says that we made it. The
    default looks for the mark that JSON, JSON Lines and HTML carry. Markdown and plain text carry
    none (they are the product, and a mark would be noise in it), so replacing them unasked needs
    a record of what was written: the command passes `Ownership.is_ours`, which compares the
    file's digest with the one noted when it was written and so also spares a file that a person
    has edited since.

    Raises UsageError for an unknown name, OutputError for a target that cannot be written.
    """
    if name not in FORMATS:
        raise UsageError(f"no format called '{name}'; there are {', '.join(FORMATS)}")
    format_ = FORMATS[name](provenance, style or Style())
    output = open_output(target, overwrite=overwrite, is_ours=is_ours)
    return Writer(format_, output)

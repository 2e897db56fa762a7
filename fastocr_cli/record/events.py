"""What happens in a run, in the order it happens: the stream the pipeline gives to its listeners.

The journal, the writers, the display and the report are all fed from these few values.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastocr_cli.errors import FastocrError
from fastocr_cli.record.journal import PageKey
from fastocr_cli.results import PageResult


@dataclass(frozen=True, slots=True)
class DocumentOpened:
    """A document can be read; `pages` of it are wanted."""

    index: int
    source: str
    pages: int


@dataclass(frozen=True, slots=True)
class PageDone:
    """A page has its result.

    resumed: it comes from the journal and cost nothing now. error: why it could not be drawn.
    thumbnail: a small JPEG, where an output needs one.
    """

    index: int
    result: PageResult
    key: PageKey
    resumed: bool = False
    error: FastocrError | None = None
    thumbnail: bytes | None = None


@dataclass(frozen=True, slots=True)
class DocumentDone:
    """All wanted pages of a document have been given."""

    index: int
    source: str


@dataclass(frozen=True, slots=True)
class DocumentFailed:
    """A document could not be opened, or what was asked of it cannot be done."""

    index: int
    source: str
    error: FastocrError


Event = DocumentOpened | PageDone | DocumentDone | DocumentFailed

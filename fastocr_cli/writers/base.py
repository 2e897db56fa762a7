"""What all formats share: whence a document comes, how it is to be written, and its totals.

A format turns pages into text and holds no file; `Writer` (in `__init__.py`) joins a format and an
output. Both handle one page at a time, so a document of any length fits in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fastocr_cli.results import PageResult, PageStatus
from fastocr_cli.text.markup import clean_text


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a document's output says about its making.

    source: the input as the user gave it. model, revision: what read it. settings: those that
    decided the text, by name.
    """

    source: str
    model: str = ""
    revision: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Style:
    """How Markdown and text are laid out.

    page_breaks: "none", "comment" (`<!-- page 2 -->` before each page; a form feed between pages
    in plain text) or "rule" (a horizontal rule between pages).
    tables: "md" (pipe tables, but HTML where cells are merged, which pipes cannot say) or "html".
    """

    page_breaks: str = "none"
    tables: str = "md"


@dataclass(slots=True)
class Totals:
    """Sums over the pages written so far; shares are means weighted by generated tokens."""

    pages: int = 0
    statuses: Counter[PageStatus] = field(default_factory=Counter)
    visual_tokens: int = 0
    generated_tokens: int = 0
    kv_bytes_read: int = 0
    kv_bytes_dense: int = 0
    prepare_ms: float = 0.0
    prefill_ms: float = 0.0
    decode_ms: float = 0.0
    _kept_sparse: float = 0.0
    _kept_all: float = 0.0

    def add(self, page: PageResult) -> None:
        stats = page.stats
        self.pages += 1
        self.statuses[page.status] += 1
        self.visual_tokens += stats.visual_tokens
        self.generated_tokens += stats.generated_tokens
        self.kv_bytes_read += int(stats.kv_bytes_read)
        self.kv_bytes_dense += int(stats.kv_bytes_dense)
        self.prepare_ms += stats.prepare_ms
        self.prefill_ms += stats.prefill_ms
        self.decode_ms += stats.decode_ms
        self._kept_sparse += stats.keep_sparse_layers * stats.generated_tokens
        self._kept_all += stats.keep_all_layers * stats.generated_tokens

    @property
    def keep_sparse_layers(self) -> float:
        return self._kept_sparse / self.generated_tokens if self.generated_tokens else 1.0

    @property
    def keep_all_layers(self) -> float:
        return self._kept_all / self.generated_tokens if self.generated_tokens else 1.0

    @property
    def kv_share(self) -> float:
        """KV bytes read relative to dense attention."""
        return self.kv_bytes_read / self.kv_bytes_dense if self.kv_bytes_dense else 1.0


def page_label(page: PageResult) -> str:
    """ "page 3", or "page 3 looped: why" where the page is not complete; on one line."""
    if page.status.is_complete:
        return f"page {page.number}"
    reasons = "; ".join(page.warnings)
    label = f"page {page.number} {page.status}" + (f": {reasons}" if reasons else "")
    return " ".join(clean_text(label).split())


class Format(ABC):
    """Text of one document, piece by piece: head, each page in turn, tail.

    needs_drawn_page: whether a document of which no page could be drawn is nothing in this format.
    `totals` holds the pages already written; `Writer` keeps it.
    """

    needs_thumbnail: ClassVar[bool] = False
    needs_drawn_page: ClassVar[bool] = False

    def __init__(self, provenance: Provenance, style: Style) -> None:
        self.provenance = provenance
        self.style = style
        self.totals = Totals()

    def head(self) -> str:
        return ""

    @abstractmethod
    def page(self, page: PageResult, thumbnail: bytes | None) -> str:
        """Text of one page. thumbnail: a small JPEG of it; used by formats that need one."""

    def tail(self) -> str:
        return ""

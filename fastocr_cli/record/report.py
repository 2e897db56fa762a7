"""What a run came to: counts, time, retention, the exit code, and the record as JSON.

Fed with events; prints nothing.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fastocr_cli.errors import ExitCode, FastocrError
from fastocr_cli.inputs.documents import storable
from fastocr_cli.record.events import DocumentFailed, DocumentOpened, Event, PageDone
from fastocr_cli.results import PageResult, PageStatus
from fastocr_cli.text.confidence import confidence_of
from fastocr_cli.version import __version__
from fastocr_cli.writers.records import SCHEMA_VERSION, plain


@dataclass(frozen=True)
class PageRecord:
    """One page in the report; times in seconds of this page's share of the model's work."""

    number: int
    status: PageStatus
    resumed: bool
    seconds: float
    generated_tokens: int
    visual_tokens: int
    keep_sparse_layers: float
    keep_all_layers: float
    kv_share: float
    confidence: dict[str, float] | None
    warnings: tuple[str, ...]


@dataclass
class DocumentRecord:
    """One input in the report, whatever its fate.

    status: "ok", "partial" or "failed"; "unread" until its first page or its failure.
    """

    source: str
    status: str = "unread"
    error: str | None = None
    outputs: list[str] = field(default_factory=list)
    pages: list[PageRecord] = field(default_factory=list)


@dataclass
class RunReport:
    """The account of a run while it grows and after it ended."""

    documents: dict[int, DocumentRecord] = field(default_factory=dict)
    """By each input's place among all; those that were never reached stay "unread", those in which
    the run stopped "partial"."""
    statuses: Counter[PageStatus] = field(default_factory=Counter)
    resumed: int = 0
    model: dict[str, str | None] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    shard: str | None = None
    failures: list[FastocrError] = field(default_factory=list)
    interruption: ExitCode | None = None
    """What ended the run before its time, if a signal did."""
    is_cut_off: bool = False
    tokens: int = 0
    attended: float = 0.0
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    _wanted: dict[int, int] = field(default_factory=dict)
    _undrawn: defaultdict[int, list[FastocrError]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """By document, how many pages are wanted and why some of them could not be drawn."""

    def add(self, event: Event) -> None:
        self.seconds = time.monotonic() - self.started
        match event:
            case DocumentOpened(index, source, pages):
                self.documents.setdefault(index, DocumentRecord(source))
                self._wanted[index] = pages
            case PageDone(index, result, _, resumed, error):
                self._add_page(index, result, resumed, error)
            case DocumentFailed(index, source, error):
                self._fail(index, source, error)

    def note_outputs(self, written: Mapping[int, list[Path]]) -> None:
        """Which files the documents, by their places, have gone into."""
        for index, paths in written.items():
            self.documents[index].outputs = [storable(str(path)) for path in paths]

    @property
    def pages(self) -> int:
        return sum(self.statuses.values())

    @property
    def wanted_pages(self) -> int:
        """Pages asked for, of the documents that were opened."""
        return sum(self._wanted.values())

    @property
    def unread_documents(self) -> int:
        """Inputs that the run did not come to."""
        return sum(document.status == "unread" for document in self.documents.values())

    @property
    def has_outputs(self) -> bool:
        return any(document.outputs for document in self.documents.values())

    @property
    def incomplete_pages(self) -> int:
        return sum(n for status, n in self.statuses.items() if not status.is_complete)

    @property
    def partial_pages(self) -> int:
        """Pages that a run with --retry-failed would read again."""
        return self.statuses[PageStatus.TRUNCATED] + self.statuses[PageStatus.LOOPED]

    @property
    def has_failed(self) -> bool:
        return bool(self.failures or self.incomplete_pages)

    @property
    def is_interrupted(self) -> bool:
        return self.interruption is not None

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left that another run could do better."""
        return not (self.has_failed or self.is_interrupted or self.is_cut_off)

    @property
    def pages_per_second(self) -> float:
        """Pages read in this run, resumed ones left out, over its wall-clock time."""
        return (self.pages - self.resumed) / self.seconds if self.seconds else 0.0

    @property
    def kept(self) -> float | None:
        """Mean share of the visual tokens attended to over all layers, weighted by tokens."""
        return self.attended / self.tokens if self.tokens else None

    @property
    def exit_code(self) -> ExitCode:
        """One input that failed gives its own reason; so do many that all failed for one."""
        if self.interruption is not None:
            return self.interruption
        if self.is_cut_off:
            return ExitCode.OK
        if not self.failures:
            return ExitCode.PARTIAL if self.incomplete_pages else ExitCode.OK
        if len(self.failures) < len(self.documents) - self.unread_documents:
            return ExitCode.PARTIAL
        codes = {failure.exit_code for failure in self.failures}
        return codes.pop() if len(codes) == 1 else ExitCode.INPUT_UNREADABLE

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "tool": {"name": "fastocr", "version": __version__},
            "model": self.model,
            "settings": plain(self.settings),
            "shard": self.shard,
            "exit_code": int(self.exit_code),
            "totals": {
                "documents": len(self.documents),
                "failed_documents": len(self.failures),
                "pages": self.pages,
                "resumed_pages": self.resumed,
                "statuses": {status.value: self.statuses[status] for status in PageStatus},
                "seconds": self.seconds,
                "peak_memory_mb": peak_memory_mb(),
                "pages_per_second": self.pages_per_second,
                "keep_all_layers": self.kept,
            },
            "documents": [asdict(self.documents[i]) for i in sorted(self.documents)],
        }

    def _rate(self, index: int) -> None:
        """The document's status by what has come of it so far: a run may stop before its end.

        One of which no page could be drawn has failed like one that did not open.
        """
        document, errors, wanted = self.documents[index], self._undrawn[index], self._wanted[index]
        if len(errors) == wanted:
            self._fail(index, document.source, errors[0])
        else:
            is_whole = len(document.pages) == wanted
            complete = is_whole and all(page.status.is_complete for page in document.pages)
            document.status = "ok" if complete else "partial"

    def _fail(self, index: int, source: str, error: FastocrError) -> None:
        document = self.documents.setdefault(index, DocumentRecord(source))
        document.status, document.error = "failed", str(error)
        self.failures.append(error)

    def _add_page(
        self, index: int, result: PageResult, resumed: bool, error: FastocrError | None
    ) -> None:
        self.documents[index].pages.append(_page_record(result, resumed))
        if error is not None:
            self._undrawn[index].append(error)
        self._rate(index)
        self.statuses[result.status] += 1
        self.resumed += resumed
        self.tokens += result.stats.generated_tokens
        self.attended += result.stats.generated_tokens * result.stats.keep_all_layers


def peak_memory_mb() -> float | None:
    """The most memory this process has held so far; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _page_record(result: PageResult, resumed: bool) -> PageRecord:
    stats = result.stats
    sure = confidence_of(result.reading.logprobs) if result.reading else None
    return PageRecord(
        number=result.number,
        status=result.status,
        resumed=resumed,
        seconds=(stats.prepare_ms + stats.prefill_ms + stats.decode_ms) / 1000,
        generated_tokens=stats.generated_tokens,
        visual_tokens=stats.visual_tokens,
        keep_sparse_layers=stats.keep_sparse_layers,
        keep_all_layers=stats.keep_all_layers,
        kv_share=stats.kv_share,
        confidence={"mean": sure.mean, "worst_window": sure.worst_window} if sure else None,
        warnings=result.warnings,
    )

"""HTML: one self-contained page, the picture of each page beside its text.

No scripts and nothing to fetch; the content policy in the head makes browsers hold us to that,
whatever a page's text may say. The list of pages and the totals are known last, so they come last
in the file, and the style sheet puts them first on the screen.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import ClassVar

from fastocr_cli.inputs.documents import printable
from fastocr_cli.results import PageResult, PageStats, PageStatus
from fastocr_cli.text.confidence import confidence_of
from fastocr_cli.text.markup import clean_text
from fastocr_cli.version import __version__
from fastocr_cli.writers import html_template as template
from fastocr_cli.writers.base import Format, Provenance, Style, Totals
from fastocr_cli.writers.page_html import page_html
from fastocr_cli.writers.records import worst_text

UNSURE = 0.6
"""A worst window below this mean token probability is pointed out beside the text."""

_NOTHING = {
    PageStatus.BLANK: "This page is blank.",
    PageStatus.FAILED: "This page could not be read.",
}


class HtmlFormat(Format):
    needs_thumbnail: ClassVar[bool] = True

    def __init__(self, provenance: Provenance, style: Style) -> None:
        super().__init__(provenance, style)
        self._links: list[str] = []

    def head(self) -> str:
        return template.HEAD.format(
            version=__version__,
            policy=_policy(),
            title=escape(printable(self.provenance.source)),
            style=_style_sheet(),
        )

    def page(self, page: PageResult, thumbnail: bytes | None) -> str:
        anchor = f"page-{page.number}"
        self._links.append(_link(page, anchor))
        return template.PAGE.format(
            anchor=anchor,
            number=page.number,
            status=page.status,
            facts=_facts(page),
            has="with-picture" if thumbnail else "without-picture",
            figure=_figure(page, thumbnail, anchor),
            remarks="".join(f'<p class="remark">{escape(text)}</p>\n' for text in _remarks(page)),
            text=page_html(page.markdown) or _nothing(page.status),
            details=_details(page),
        )

    def tail(self) -> str:
        return template.TAIL.format(
            totals=_definitions(_document_details(self.provenance, self.totals)),
            links="\n".join(self._links),
            version=__version__,
        )


def _link(page: PageResult, anchor: str) -> str:
    label = f"Page {page.number}: {page.status}"
    return f'<a class="{page.status}" href="#{anchor}" title="{label}">{page.number}</a>'


def _facts(page: PageResult) -> str:
    """What tells pages apart at a glance; nothing for a page the model never saw."""
    confidence = confidence_of(page.reading.logprobs) if page.reading else None
    if confidence is None:
        return ""
    stats = page.stats
    facts = [f"confidence {confidence.mean:.2f}", f"{stats.generated_tokens:,} tokens"]
    facts.append(_seconds(stats.prepare_ms + stats.prefill_ms + stats.decode_ms))
    return " · ".join(facts)


def _remarks(page: PageResult) -> list[str]:
    remarks = [" ".join(clean_text(warning).split()) for warning in page.warnings]
    confidence = confidence_of(page.reading.logprobs) if page.reading else None
    if page.reading and confidence and confidence.worst_window < UNSURE:
        passage = " ".join((worst_text(page.reading) or "").split())
        share = confidence.worst_start / len(page.reading.logprobs)
        where = f": “{passage}”" if passage else f", {share:.0%} into the text"
        remarks.append(f"Least sure passage ({confidence.worst_window:.2f}){where}")
    return remarks


def _nothing(status: PageStatus) -> str:
    return f'<p class="nothing">{_NOTHING.get(status, "No text was found on this page.")}</p>'


def _figure(page: PageResult, thumbnail: bytes | None, anchor: str) -> str:
    if not thumbnail:
        return ""
    return template.FIGURE.format(
        anchor=anchor,
        number=page.number,
        data=base64.b64encode(thumbnail).decode(),
        width=page.width_px,
        height=page.height_px,
    )


def _details(page: PageResult) -> str:
    """The fold-out with all figures; nothing for a page that was never drawn."""
    pairs = _drawing(page) + _effort(page.stats)
    return template.DETAILS.format(pairs=_definitions(pairs)) if pairs else ""


def _drawing(page: PageResult) -> list[tuple[str, str]]:
    if page.dpi <= 0:
        return []
    width, height = page.size_pt
    return [
        ("Size", f"{width:.0f} × {height:.0f} pt"),
        ("Drawn at", f"{page.width_px:,} × {page.height_px:,} px, {page.dpi:.0f} dpi"),
    ]


def _effort(stats: PageStats) -> list[tuple[str, str]]:
    if not stats.generated_tokens:
        return []
    return [
        ("Visual tokens", f"{stats.visual_tokens:,}"),
        ("Attended, pruned layers", f"{stats.keep_sparse_layers:.1%}"),
        ("Attended, all layers", f"{stats.keep_all_layers:.1%}"),
        ("Cache read", f"{stats.kv_share:.1%} of dense"),
        ("Prefill", _seconds(stats.prefill_ms)),
        ("Decoding", f"{_seconds(stats.decode_ms)}, {stats.tokens_per_second:,.0f} tokens/s"),
    ]


def _document_details(provenance: Provenance, totals: Totals) -> list[tuple[str, str]]:
    others = [
        f"{count:,} {status}"
        for status, count in totals.statuses.items()
        if status is not PageStatus.OK
    ]
    details = [("Pages", f"{totals.pages:,}" + (f" ({', '.join(others)})" if others else ""))]
    if provenance.model:
        revision = f" @ {provenance.revision[:12]}" if provenance.revision else ""
        details.append(("Model", clean_text(provenance.model + revision)))
    if not totals.generated_tokens:
        return details
    return [
        *details,
        ("Tokens", f"{totals.generated_tokens:,}"),
        ("Model time", _seconds(totals.prepare_ms + totals.prefill_ms + totals.decode_ms)),
        ("Attended", f"{totals.keep_all_layers:.1%} of visual tokens"),
        ("Cache read", f"{totals.kv_share:.1%} of dense"),
    ]


def _definitions(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs
    )


def _seconds(milliseconds: float) -> str:
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


@cache
def _style_sheet() -> str:
    return files("fastocr_cli.writers").joinpath("page.css").read_text(encoding="utf-8")


@cache
def _policy() -> str:
    """Only our own style sheet, known by its hash, and pictures held in the page itself."""
    digest = base64.b64encode(hashlib.sha256(_style_sheet().encode()).digest()).decode()
    return f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; form-action 'none'"

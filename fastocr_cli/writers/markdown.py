"""Markdown: the neutralised page, tables as asked, pages told apart as asked.

A page that is not complete says so in a comment, whatever the page breaks: a reader of the file
must not take a gap for a blank page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from markdown_it.token import Token

from fastocr_cli.results import PageResult
from fastocr_cli.text.blocks import closing_index, parser, table_of
from fastocr_cli.text.neutral import neutralise
from fastocr_cli.text.tables import parse_html_table
from fastocr_cli.writers.base import Format, Provenance, Style, page_label


class MarkdownFormat(Format):
    needs_drawn_page: ClassVar[bool] = True

    def __init__(self, provenance: Provenance, style: Style) -> None:
        super().__init__(provenance, style)
        self._has_text = False

    def page(self, page: PageResult, thumbnail: bytes | None) -> str:
        text = "\n\n".join(part for part in (self._remark(page), self._body(page)) if part)
        if not text:
            return ""
        if not self._has_text:
            # A file that begins with a rule would be taken to begin with front matter.
            self._has_text = True
            return f"{text}\n"
        return f"\n---\n\n{text}\n" if self.style.page_breaks == "rule" else f"\n{text}\n"

    def _remark(self, page: PageResult) -> str:
        if self.style.page_breaks != "comment" and page.status.is_complete:
            return ""
        # Two hyphens could end the comment and let page text out of it.
        return f"<!-- {page_label(page).replace('--', '- -')} -->"

    def _body(self, page: PageResult) -> str:
        return with_tables(neutralise(page.markdown), self.style.tables)


def with_tables(neutral: str, wanted: str) -> str:
    """Neutralised Markdown with its tables as pipes ("md") or as HTML ("html").

    Pipes cannot say merged cells, so such tables stay HTML.
    """
    if "|" not in neutral and "<table>" not in neutral:
        return neutral
    lines = neutral.split("\n")
    tokens = parser().parse(neutral)
    for index in reversed(range(len(tokens))):
        token = tokens[index]
        if token.level == 0 and token.map and (table := _converted(tokens, index, wanted)):
            start, end = token.map
            lines[start:end] = table.split("\n")
    return "\n".join(lines)


def _converted(tokens: Sequence[Token], index: int, wanted: str) -> str | None:
    """The table that begins at `index` in the wanted spelling, if it is to change."""
    if wanted == "html" and tokens[index].type == "table_open":
        return table_of(tokens[index : closing_index(tokens, index)]).to_html()
    if wanted == "md" and tokens[index].type == "html_block":
        table = parse_html_table(tokens[index].content)
        return table.to_pipes() if table and not table.has_merged_cells else None
    return None

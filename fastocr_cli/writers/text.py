"""Plain text: the words of the page without Markdown marks.

Blocks stand a blank line apart, list items on lines of their own with their numbers or bullets,
table rows on a line each with tabs between cells.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import ClassVar

from fastocr_cli.results import Block, BlockType, PageResult
from fastocr_cli.writers.base import Format, Provenance, Style, page_label

_ITEM_MARK = re.compile(r"[ >\t]*((?:[-*+]|\d{1,9}[.)])[ \t]+)+")
_BREAKS = {"none": "\n", "comment": "\f", "rule": f"\n{'-' * 40}\n\n"}


class TextFormat(Format):
    needs_drawn_page: ClassVar[bool] = True

    def __init__(self, provenance: Provenance, style: Style) -> None:
        super().__init__(provenance, style)
        self._has_text = False

    def page(self, page: PageResult, thumbnail: bytes | None) -> str:
        remark = "" if page.status.is_complete else f"[{page_label(page)}]"
        body = plain_page(page.blocks)
        text = "\n\n".join(part for part in (remark, body) if part)
        break_ = self._break(bool(text))
        self._has_text = self._has_text or bool(text)
        return f"{break_}{text}\n" if text else break_

    def _break(self, has_text: bool) -> str:
        """Between all pages; but no blank line for a page without text."""
        if self.style.page_breaks == "none":
            return "\n" if has_text and self._has_text else ""
        return _BREAKS[self.style.page_breaks] if self.totals.pages else ""


def plain_page(blocks: tuple[Block, ...]) -> str:
    if not blocks:
        return ""
    parts = [_plain(blocks[0])]
    for before, block in pairwise(blocks):
        are_items = before.type == block.type == BlockType.LIST_ITEM
        parts += ["\n" if are_items else "\n\n", _plain(block)]
    return "".join(parts).strip("\n")


def _plain(block: Block) -> str:
    if block.type == BlockType.RULE:
        return "-" * 40
    if block.type != BlockType.LIST_ITEM:
        return block.text
    mark = _ITEM_MARK.match(block.markdown)
    indent = "  " * (block.level - 1)
    return f"{indent}{mark[1].strip() if mark else '-'} {block.text}"

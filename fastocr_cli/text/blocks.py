"""A page's Markdown as a tuple of blocks in reading order, and as the parse tree writers render.

Knows Markdown (CommonMark, pipe tables, TeX formulas) as text only: nothing of files, models or
places on the page. Works on the neutralised page (`neutral.py`), so a block's own Markdown is as
harmless as the page's. Total: any string gives blocks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from fastocr_cli.results import Block, BlockType
from fastocr_cli.text.neutral import neutralise
from fastocr_cli.text.tables import Cell, Table, parse_html_table

_FORMULA_ENDS = {"$$": "$$", "\\[": "\\]"}
_MAX_FORMULA_LINES = 200
_OTHER_BLOCK = re.compile(r"```|~~~|<table>")
_INLINE_FORMULA = re.compile(
    r"\$\$([^$]{1,2000})\$\$|\\\((.{1,2000}?)\\\)|\\\[(.{1,2000}?)\\\]"
    r"|\$(?=\S)([^$\n]{0,500}?\S)\$(?!\d)",
    re.DOTALL,
)


def split_blocks(markdown: str) -> tuple[Block, ...]:
    """The blocks of a page, first to last; never raises."""
    return blocks_of(neutralise(markdown))


def blocks_of(neutral: str) -> tuple[Block, ...]:
    """The blocks of a page that has been through `neutralise`."""
    return tuple(_Collector(neutral.split("\n")).collect(parser().parse(neutral)))


@cache
def parser() -> MarkdownIt:
    """The one parser of this module; see `make_parser`."""
    return make_parser()


def make_parser() -> MarkdownIt:
    """The Markdown we read: raw HTML is on because after `neutralise` it can only be our tables.

    Reference definitions are off: "[1]: https://..." on a page is text to keep, not a target.
    """
    markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    markdown.disable("reference")
    interrupts: list[str] = ["paragraph", "blockquote", "list"]
    markdown.block.ruler.before("fence", "formula", _formula_block, {"alt": interrupts})
    markdown.inline.ruler.before("escape", "formula_inline", _formula_inline)
    return markdown


class _Collector:
    """Walks a token stream once, turning it into blocks."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.list_depth = 0
        self.item_is_new = False

    def collect(self, tokens: Sequence[Token]) -> list[Block]:
        blocks: list[Block] = []
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.type == "table_open":
                end = closing_index(tokens, index)
                blocks.append(self._table(token, table_of(tokens[index:end])))
                index = end
            elif block := self._block(token, tokens[index - 1] if index else None):
                blocks.append(block)
            index += 1
        return blocks

    def _block(self, token: Token, before: Token | None) -> Block | None:
        """The block that `token` alone makes, if any; keeps track of lists."""
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self.list_depth += 1
            case "bullet_list_close" | "ordered_list_close":
                self.list_depth -= 1
            case "list_item_open":
                self.item_is_new = True
            case "inline":
                return self._text_block(token, before)
            case "fence" | "code_block":
                return self._make(BlockType.CODE, token, token.content.removesuffix("\n"))
            case "formula":
                return self._make(BlockType.FORMULA, token, token.content)
            case "hr":
                return self._make(BlockType.RULE, token, "")
            case "html_block":
                return self._html_block(token)
        return None

    def _text_block(self, token: Token, before: Token | None) -> Block:
        text = plain_text(token)
        if before is not None and before.type == "heading_open":
            return self._make(BlockType.HEADING, token, text, level=int(before.tag[1:]))
        if self.list_depth and self.item_is_new:
            self.item_is_new = False
            return self._make(BlockType.LIST_ITEM, token, text, level=self.list_depth)
        return self._make(BlockType.PARAGRAPH, token, text)

    def _html_block(self, token: Token) -> Block:
        table = parse_html_table(token.content)
        if table is None:
            return self._make(BlockType.PARAGRAPH, token, token.content.strip())
        return self._table(token, table)

    def _table(self, token: Token, table: Table) -> Block:
        rows = table.grid()
        text = "\n".join("\t".join(cell.replace("\n", " ") for cell in row) for row in rows)
        return Block(BlockType.TABLE, text, self._source(token), rows=rows)

    def _make(self, kind: BlockType, token: Token, text: str, level: int = 0) -> Block:
        return Block(kind, text, self._source(token), level=level)

    def _source(self, token: Token) -> str:
        start, end = token.map or (0, 0)
        return "\n".join(self.lines[start:end]).strip("\n")


def plain_text(inline: Token) -> str:
    """Text of an inline token without Markdown marks; a soft line break is a space.

    Formulas keep their dollar signs, or nobody could tell TeX from words.
    """
    parts = []
    for child in inline.children or ():
        if child.type == "softbreak":
            parts.append(" ")
        elif child.type == "hardbreak" or child.content == "<br>":
            parts.append("\n")
        elif child.type == "image":
            parts.append(plain_text(child))
        elif child.type == "formula_inline":
            parts.append(f"${child.content}$")
        else:
            parts.append(child.content)
    return "".join(parts).strip()


def table_of(tokens: Sequence[Token]) -> Table:
    """The pipe table that `tokens`, from `table_open` on, describe."""
    rows: list[list[Cell]] = []
    for before, token in pairwise(tokens):
        if before.type == "tr_open":
            rows.append([])
        if before.type in ("th_open", "td_open"):
            rows[-1].append(Cell(plain_text(token), is_header=before.type == "th_open"))
    return Table(tuple(map(tuple, rows)))


def closing_index(tokens: Sequence[Token], opening: int) -> int:
    """Where the table opened at `opening` closes."""
    level = tokens[opening].level
    return next(
        index
        for index in range(opening + 1, len(tokens))
        if tokens[index].type == "table_close" and tokens[index].level == level
    )


def _formula_block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    r"""Block rule for `$$ ... $$` and `\[ ... \]`, on one line or on several without a blank one.

    Needed because TeX lines such as "+ b" and "= c" are lists and headings to Markdown.
    """
    found = None if state.is_code_block(start_line) else _find_formula(state, start_line, end_line)
    if found is None:
        return False
    if not silent:
        tex, state.line = found
        token = state.push("formula", "math", 0)
        token.content = tex
        token.map = [start_line, state.line]
    return True


def _find_formula(state: StateBlock, start_line: int, end_line: int) -> tuple[str, int] | None:
    """The TeX that opens at `start_line`, and the line after it."""
    closing = _FORMULA_ENDS.get(_line(state, start_line)[:2])
    if closing is None:
        return None
    text = ""
    for line in range(start_line, min(end_line, start_line + _MAX_FORMULA_LINES)):
        current = _line(state, line)
        # A fence or a table is what every renderer sees first, whatever stands around it.
        if not current or state.sCount[line] < state.blkIndent or _OTHER_BLOCK.match(current):
            return None
        text += current + "\n"
        tex, mark, rest = text[2:].partition(closing)
        if mark:
            return (tex.strip(), line + 1) if tex.strip() and not rest.strip() else None
    return None


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()


def _formula_inline(state: StateInline, silent: bool) -> bool:
    r"""Inline rule for `$x$`, `$$x$$`, `\(x\)` and `\[x\]`; "$5 and $6" is no formula."""
    match = _INLINE_FORMULA.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        token = state.push("formula_inline", "math", 0)
        token.content = match[match.lastindex or 0].strip()
    state.pos = match.end()
    return True

"""The one gate between page text and Markdown that people will render: `neutralise`.

What leaves it is CommonMark (with GitHub's pipe tables) whose only raw HTML is the strict table
markup of `tables.py` and `<br>` inside pipe tables; links lead to the web, to mail or nowhere
foreign. Code in top-level fences stays as it is, so a renderer without fences is outside the
promise. Text that was harmless is not changed. Knows the block structure that decides what is raw:
fenced code and tables. The result is checked with an independent parse (`is_neutral`); should a
page get past the first pass, every `<` in it is escaped, which is ugly and safe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from fastocr_cli.text.markup import (
    TAG_START,
    clean_text,
    escape_inline,
    is_local_image,
    is_safe_link,
)
from fastocr_cli.text.tables import STRICT_HTML, find_tables, parse_html_table

_NEEDS_CARE = re.compile(r"<[A-Za-z/!?]|\][(:]|!\[|```|~~~|\\(?:href|url)\b")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_STRICT_TABLE = re.compile(rf"(?:\A|(?<=\n\n))({STRICT_HTML.pattern})(?=\n|\Z)")
_LANGUAGE = re.compile(r"[\w+#.-]{1,32}")


@lru_cache(maxsize=8)
def neutralise(markdown: str) -> str:
    """`markdown` with nothing left in it that a browser would run, load or take for a tag.

    The last few are remembered, for each format and the blocks ask for the same page.
    """
    text = clean_text(markdown).strip("\n")
    if not _NEEDS_CARE.search(text):
        return text
    text = _join(
        part if kind == "fence" else _rewrite_tables(part) for kind, part in _regions(text)
    )
    text = _join(_escape(kind, part) for kind, part in _regions(text))
    return text if is_neutral(text) else _escape_everything(text)


def is_neutral(markdown: str) -> bool:
    """Whether a renderer that passes raw HTML through would pass nothing but our tables."""
    tokens = _careless_parser().parse(markdown)
    return all(
        _is_harmless(token, in_cell=before is not None and before.type in ("th_open", "td_open"))
        for before, token in pairwise([None, *tokens])
        if token is not None
    )


@cache
def _careless_parser() -> MarkdownIt:
    """CommonMark with pipe tables and raw HTML: renderers at their least careful."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@cache
def _block_parser() -> MarkdownIt:
    """The blocks a page will have once its HTML is escaped; their insides are not looked at."""
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("inline")


def _regions(text: str) -> Iterator[tuple[str, str]]:
    """The page as ("fence" | "pipes" | "text", its lines), by the structure it has without HTML.

    Only fences at the top level count: renderers differ on code inside lists.
    """
    lines = text.split("\n")
    done = 0
    for token in _block_parser().parse(text):
        if token.level == 0 and token.map and token.type in ("fence", "table_open"):
            start, end = token.map
            yield "text", _block(lines[done:start])
            if token.type == "fence":
                yield "fence", _closed_fence(token)
            else:
                yield "pipes", _block(lines[start:end])
            done = end
    yield "text", _block(lines[done:])


def _block(lines: list[str]) -> str:
    return "\n".join(lines).strip("\n")


def _join(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def _closed_fence(token: Token) -> str:
    """The fence with an end, so that no page swallows the next.

    Only a plain language name stays beside the opening marks: `{=html}` and the like mean raw
    output to some renderers, and sentences there are not shown at all.
    """
    language = token.info.strip()
    lines = [token.content.removesuffix("\n")] if token.content else []
    if not _LANGUAGE.fullmatch(language):
        lines, language = [language, *lines] if language else lines, ""
    longest = max(map(len, re.findall("`+", "\n".join(lines))), default=0)
    marks = "`" * max(3, longest + 1)
    return "\n".join([marks + language, *lines, marks])


def _rewrite_tables(text: str) -> str:
    """Each HTML table in strict markup on lines of its own, what stood outside its cells before."""
    parts, done = [], 0
    for start, end in find_tables(text):
        if table := parse_html_table(text[start:end]):
            parts += [text[done:start].rstrip(), table.caption, table.to_html()]
            done = end
    parts.append(text[done:].lstrip(" \t") if done else text)
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def _escape(kind: str, part: str) -> str:
    if kind == "fence":
        return part
    if kind == "pipes":
        return "<br>".join(escape_inline(piece) for piece in _BREAK.split(part))
    pieces = _STRICT_TABLE.split(part)
    pieces[::2] = map(escape_inline, pieces[::2])
    return "".join(pieces)


def _escape_everything(text: str) -> str:
    """Nothing of `text` stays syntax that could reach beyond the page; code shows entities."""
    for syntax, entity in (("](", "]&#40;"), ("]:", "]&#58;"), ("![", "&#33;[")):
        text = text.replace(syntax, entity)
    return TAG_START.sub("&lt;", text)


def _is_harmless(token: Token, in_cell: bool) -> bool:
    if token.type == "html_block":
        return STRICT_HTML.fullmatch(token.content) is not None
    return all(_is_harmless_inline(child, in_cell) for child in token.children or ())


def _is_harmless_inline(token: Token, in_cell: bool) -> bool:
    if token.type == "html_inline":
        return in_cell and token.content == "<br>"
    if token.type == "link_open":
        return is_safe_link(str(token.attrs["href"]))
    if token.type == "image":
        alt_is_harmless = all(_is_harmless_inline(child, False) for child in token.children or ())
        return alt_is_harmless and is_local_image(str(token.attrs["src"]))
    return True

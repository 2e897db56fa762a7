"""A page's Markdown as HTML in which nothing came from the page but escaped text.

A second line of defence behind `neutralise`: raw HTML is written only for tables, rebuilt cell by
cell; links lead where `is_safe_link` allows; images become their description; there are no style
attributes (the page's content policy forbids them).
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from fastocr_cli.text.blocks import make_parser
from fastocr_cli.text.markup import is_safe_link
from fastocr_cli.text.neutral import neutralise
from fastocr_cli.text.tables import parse_html_table

Environment = MutableMapping[str, Any]
_HEADING_OFFSET = 2


def page_html(markdown: str) -> str:
    """HTML of one page, safe to put into a document."""
    return str(_renderer().render(neutralise(markdown)))


@cache
def _renderer() -> MarkdownIt:
    markdown = make_parser()
    for name, rule in _RULES.items():
        markdown.add_render_rule(name, rule)
    return markdown


def _html_block(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Environment
) -> str:
    table = parse_html_table(tokens[index].content)
    return f"{table.to_html()}\n" if table else f"<p>{escape(tokens[index].content)}</p>\n"


def _html_inline(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Environment
) -> str:
    content = tokens[index].content
    return content if content == "<br>" else escape(content)


def _image(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Environment
) -> str:
    """Only its description: the picture is not part of the output, and nothing may be fetched."""
    alt = self.renderInlineAsText(tokens[index].children, options, env)
    return f'<span class="picture">{escape(alt or "picture")}</span>'


def _link_open(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Environment
) -> str:
    address = str(tokens[index].attrs.get("href", ""))
    if not is_safe_link(address):
        return "<a>"
    return f'<a href="{escape(address)}" rel="noreferrer nofollow">'


def _heading_open(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Environment
) -> str:
    """Below the headings of the document and of the page; the look follows the class."""
    level = int(tokens[index].tag[1:])
    return f'<h{_lowered(level)} class="level-{level}">'


def _heading_close(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Environment
) -> str:
    return f"</h{_lowered(int(tokens[index].tag[1:]))}>\n"


def _cell_open(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Environment
) -> str:
    """The alignment as a class."""
    alignment = str(tokens[index].attrs.get("style", "")).removeprefix("text-align:")
    class_ = f' class="{alignment}"' if alignment in ("left", "center", "right") else ""
    return f"<{tokens[index].tag}{class_}>"


def _formula(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Environment
) -> str:
    """TeX as it was read: a page without scripts has nothing to typeset it with."""
    return f'<pre class="formula"><code>{escape(tokens[index].content)}</code></pre>\n'


def _formula_inline(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Environment
) -> str:
    return f'<code class="formula">{escape(tokens[index].content)}</code>'


def _lowered(level: int) -> int:
    return min(level + _HEADING_OFFSET, 6)


_RULES = {
    "html_block": _html_block,
    "html_inline": _html_inline,
    "image": _image,
    "link_open": _link_open,
    "heading_open": _heading_open,
    "heading_close": _heading_close,
    "th_open": _cell_open,
    "td_open": _cell_open,
    "formula": _formula,
    "formula_inline": _formula_inline,
}

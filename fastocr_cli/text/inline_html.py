"""HTML that hub models write for style (`<b>`, `<br>`, `<div align=center>`), said in Markdown.

Only for models known to write HTML where they mean style: for one that reads what is printed,
`<b>` is a page about HTML. Knows text only. Tables and code pass as they are; HTML that is left
over is made harmless by `neutral.py` like any other text.
"""

from __future__ import annotations

import re

from fastocr_cli.text.markup import is_local_image, spell_scripts

_UNTOUCHED = re.compile(
    r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`|<table\b.*?(?:</table>|\Z))",
    re.DOTALL | re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.{0,2000}?-->", re.DOTALL)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_EMPHASIS = re.compile(r"<(b|strong|i|em)>\s*([^<>]{1,2000}?)\s*</\1>", re.IGNORECASE)
_BLOCK_TAG = re.compile(r"[ \t]*</?(?:div|p|center)\b[^<>]*>[ \t]*", re.IGNORECASE)
_INLINE_TAG = re.compile(r"</?(?:b|strong|i|em|u|span|font|small|big)\b[^<>]*>", re.IGNORECASE)
_IMAGE = re.compile(r"<img\b([^<>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"\b(src|alt)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*\n")


def styling_to_markdown(text: str) -> str:
    """`text` with styling tags as Markdown, or gone where Markdown has no such style."""
    parts = _UNTOUCHED.split(text)
    if len(parts) == 1 and "<" not in text:
        return text
    parts[::2] = map(_convert, parts[::2])
    return "".join(parts)


def _convert(text: str) -> str:
    text = spell_scripts(_COMMENT.sub("", text))
    text = _EMPHASIS.sub(_emphasis, text)
    text = _IMAGE.sub(_image, text)
    text = "\n".join(map(_break_line, text.split("\n")))
    text = _INLINE_TAG.sub("", _BLOCK_TAG.sub("\n\n", text))
    return _BLANK_LINES.sub("\n\n", text)


def _break_line(line: str) -> str:
    """A break inside a pipe table must stay a tag: the row is one line."""
    if line.lstrip().startswith("|"):
        return _BREAK.sub("<br>", line)
    pieces = [piece.strip() for piece in _BREAK.split(line)]
    return "  \n".join(pieces).removesuffix("\n") if len(pieces) > 1 else line


def _emphasis(match: re.Match[str]) -> str:
    mark = "**" if match[1].lower() in ("b", "strong") else "*"
    return f"{mark}{match[2]}{mark}"


def _image(match: re.Match[str]) -> str:
    values = {name.lower(): a or b or c for name, a, b, c in _ATTRIBUTE.findall(match[1])}
    source, description = values.get("src", ""), values.get("alt", "")
    return f"![{description}]({source})" if source and is_local_image(source) else description

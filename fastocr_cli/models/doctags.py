"""DocTags, the markup of the Docling models, to Markdown; kept simple.

Knows text only. Places (`<loc_..>`) and page headers and footers are dropped, merged table cells
become empty ones, pictures keep their caption. Markup cut off in the middle is closed at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable

START = "<doctag>"

_PLACE = re.compile(r"<loc_\d+>")
_BLOCK = re.compile(
    r"<(title|section_header_level_\d|text|paragraph|caption|footnote|list_item|code|formula|otsl"
    r"|chart|page_header|page_footer)>(.*?)(?=</\1>|\Z)|<(/?)(ordered_list|unordered_list)>",
    re.DOTALL,
)
_CELL = re.compile(r"<(fcel|ecel|lcel|ucel|xcel|ched|rhed|srow|nl)>")
_TAG = re.compile(r"</?[a-z_]+(?:_level_\d)?>")
_LANGUAGE = re.compile(r"^<_([^>]+)_>")
_FURNITURE = ("page_header", "page_footer")


def to_markdown(text: str) -> str:
    """One page of DocTags as Markdown blocks with a blank line between them."""
    blocks: list[str] = []
    numbers: list[int | None] = []
    for match in _BLOCK.finditer(_PLACE.sub("", text)):
        name, body, closing, kind = match.groups()
        if kind and closing:
            del numbers[-1:]
        elif kind:
            if not numbers:
                blocks.append("")  # a new list is a new block, right behind another list too
            numbers.append(0 if kind == "ordered_list" else None)
        elif name == "list_item":
            _add_item(blocks, _plain(body), numbers)
        elif name not in _FURNITURE:
            blocks.append(_block(name, body))
    return "\n\n".join(block for block in blocks if block)


def _add_item(blocks: list[str], text: str, numbers: list[int | None]) -> None:
    """A list item joins the item before it in the same block."""
    mark = "-"
    if numbers and (last := numbers[-1]) is not None:
        numbers[-1] = last + 1
        mark = f"{last + 1}."
    line = "  " * max(len(numbers) - 1, 0) + f"{mark} {text}"
    if blocks and re.match(r"\s*(-|\d+\.) ", blocks[-1]):
        blocks[-1] += "\n" + line
    else:
        blocks.append(line)


def _block(name: str, body: str) -> str:
    if name.startswith("section_header"):
        return "#" * min(int(name[-1]) + 1, 6) + f" {_plain(body)}"
    return _RENDERERS.get(name, _plain)(body)


def _plain(body: str) -> str:
    return _TAG.sub("", body).strip()


def _title(body: str) -> str:
    return f"# {_plain(body)}"


def _formula(body: str) -> str:
    return f"$$\n{_plain(body)}\n$$"


def _code(body: str) -> str:
    language = _LANGUAGE.match(body.strip())
    name = language.group(1).lower() if language else ""
    source = body.strip()[language.end() :] if language else body
    return f"```{'' if name == 'unknown' else name}\n{source.strip()}\n```"


def _table(body: str) -> str:
    """OTSL cells, row by row: the first row is the header, short rows are filled."""
    caption, separator, rest = body.partition("</caption>")
    table = rest if separator else body
    rows: list[list[str]] = [[]]
    pieces = _CELL.split(table)
    for tag, cell in zip(pieces[1::2], pieces[2::2], strict=True):
        if tag == "nl":
            rows.append([])
        else:
            rows[-1].append(_plain(cell).replace("\n", " ").replace("|", r"\|"))
    lines = _pipe_table([row for row in rows if row])
    return f"{_plain(caption)}\n\n{lines}" if separator else lines


def _pipe_table(rows: list[list[str]]) -> str:
    if not rows:
        return ""
    width = max(map(len, rows))
    filled = [row + [""] * (width - len(row)) for row in rows]
    filled.insert(1, ["---"] * width)
    return "\n".join("| " + " | ".join(row) + " |" for row in filled)


_RENDERERS: dict[str, Callable[[str], str]] = {
    "title": _title,
    "formula": _formula,
    "code": _code,
    "otsl": _table,
    "chart": _table,
}

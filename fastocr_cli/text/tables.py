"""Tables between their three spellings: HTML as models write it, our own strict HTML, and pipes.

Knows cells and spans; does not know where in a page a table stands. Models' HTML is read
leniently (missing end tags, a table cut off by the token cap); ours is strict enough for one
regular expression to recognise (`STRICT_HTML`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape, unescape

from fastocr_cli.text.markup import clean_text, escape_inline, escape_marks, spell_scripts

MAX_SPAN = 64
MAX_GRID_CELLS = 100_000

STRICT_HTML = re.compile(
    r"<table>\n"
    r"(?:<tr>(?:<t[hd](?: colspan=\"\d+\")?(?: rowspan=\"\d+\")?>[^<>]*(?:<br>[^<>]*)*</t[hd]>)+"
    r"</tr>\n)+"
    r"</table>\n?"
)
"""The only raw HTML that ever leaves this package inside Markdown."""

_OPEN_OR_CLOSE = re.compile(r"<(/?)table\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<(/?)(table|caption|thead|tbody|tfoot|tr|td|th|br)\b([^<>]*)>", re.IGNORECASE)
_SPAN = re.compile(r"\b(colspan|rowspan)\s*=\s*[\"']?\s*(\d+)", re.IGNORECASE)
_STYLING = re.compile(
    r"</?(?:b|strong|i|em|u|s|span|font|small|big|p|div|center|sub|sup|a|code)\b[^<>]*>"
    r"|</?col(?:group)?\b[^<>]*>|<!--.{0,2000}?-->",
    re.IGNORECASE | re.DOTALL,
)
_SPACES = re.compile(r"\s+")
_BAR = re.compile(r"(\\*)\|")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; `text` is plain, its line breaks as LF."""

    text: str
    is_header: bool = False
    columns: int = 1
    rows: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells as written (a merged cell once), and text that stood outside all cells."""

    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    @property
    def has_merged_cells(self) -> bool:
        return any(cell.columns > 1 or cell.rows > 1 for row in self.rows for cell in row)

    def grid(self) -> tuple[tuple[str, ...], ...]:
        """Texts as a rectangle; a merged cell's text stands in its top left place."""
        places = _place_cells(self.rows)
        height = 1 + max(row for row, _ in places)
        width = 1 + max(column for _, column in places)
        return tuple(
            tuple(places.get((row, column), "") for column in range(width)) for row in range(height)
        )

    def to_html(self) -> str:
        """Strict HTML without attributes but spans; a browser shows cell texts literally."""
        rows = "\n".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in self.rows if row)
        return f"<table>\n{rows}\n</table>"

    def to_pipes(self) -> str:
        """A GitHub-style pipe table; the first row becomes its header."""
        header, *body = [[_pipe_cell(text) for text in row] for row in self.grid()]
        rows = [header, ["---"] * len(header), *body]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def find_tables(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each outermost `<table>...</table>`; one left open runs to the end."""
    depth, start = 0, 0
    for tag in _OPEN_OR_CLOSE.finditer(text):
        if not tag[1]:
            start = tag.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                yield start, tag.end()
    if depth:
        yield start, _end_of_open_table(text, start)


def _end_of_open_table(text: str, start: int) -> int:
    """A table without its end tag ends at the blank line after its last tag, or with the text."""
    last = start
    for tag in _TAG.finditer(text, start):
        last = tag.end()
    blank = text.find("\n\n", last)
    return blank if blank >= 0 else len(text)


def parse_html_table(html: str) -> Table | None:
    """The table that `html` (one span of `find_tables`) holds, or None if it has no cell."""
    builder = _Builder()
    done = 0
    for tag in _TAG.finditer(html):
        builder.add_text(html[done : tag.start()])
        builder.add_tag(tag[2].lower(), is_end=bool(tag[1]), attributes=tag[3])
        done = tag.end()
    builder.add_text(html[done:])
    return builder.table()


@dataclass
class _Builder:
    """Collects cells from a stream of tags and texts; a table inside a cell becomes its text."""

    rows: list[list[Cell]] = field(default_factory=list)
    caption: list[str] = field(default_factory=list)
    depth: int = 0
    in_head: bool = False
    cell: Cell | None = None
    texts: list[str] = field(default_factory=list)

    def add_text(self, text: str) -> None:
        (self.texts if self.cell else self.caption).append(_plain(text))

    def add_tag(self, name: str, is_end: bool, attributes: str) -> None:
        if name == "table":
            self.depth += -1 if is_end else 1
        elif name == "br" or self.depth > 1:
            (self.texts if self.cell else self.caption).append("\n" if name == "br" else " ")
        elif name == "thead":
            self.in_head = not is_end
        elif name in ("td", "th"):
            self._end_cell()
            if not is_end:
                self._begin_cell(name, attributes)
        elif name == "tr":
            self._end_cell()
            if not is_end:
                self.rows.append([])

    def table(self) -> Table | None:
        self._end_cell()
        rows = tuple(tuple(row) for row in self.rows if row)
        return Table(_sane_spans(rows), _tidy("".join(self.caption))) if rows else None

    def _begin_cell(self, name: str, attributes: str) -> None:
        spans = {
            key.lower(): min(int(value[:6]), MAX_SPAN) for key, value in _SPAN.findall(attributes)
        }
        self.cell = Cell(
            text="",
            is_header=name == "th" or self.in_head,
            columns=max(spans.get("colspan", 1), 1),
            rows=max(spans.get("rowspan", 1), 1),
        )
        self.texts = []

    def _end_cell(self) -> None:
        if self.cell is None:
            return
        if not self.rows:
            self.rows.append([])
        cell = self.cell
        self.rows[-1].append(
            Cell(_tidy("".join(self.texts)), cell.is_header, cell.columns, cell.rows)
        )
        self.cell = None


def _plain(html: str) -> str:
    """Text of a cell's HTML without styling tags; line breaks of the source are spaces."""
    text = unescape(_STYLING.sub("", spell_scripts(html)))
    return _SPACES.sub(" ", clean_text(text))


def _tidy(text: str) -> str:
    """Each line stripped, spaces single; only `<br>` has put line ends in."""
    return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()


def _sane_spans(rows: tuple[tuple[Cell, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
    """Drop spans that would blow a small table up to a huge grid."""
    covered = sum(cell.columns * cell.rows for row in rows for cell in row)
    widest = max((sum(cell.columns for cell in row) for row in rows), default=0)
    if max(covered, widest * len(rows)) <= MAX_GRID_CELLS:
        return rows
    return tuple(tuple(Cell(cell.text, cell.is_header) for cell in row) for row in rows)


def _place_cells(rows: tuple[tuple[Cell, ...], ...]) -> dict[tuple[int, int], str]:
    """(row, column) -> text, "" where a merged cell covers more than its first place."""
    places: dict[tuple[int, int], str] = {}
    for row_index, row in enumerate(rows):
        column = 0
        for cell in row:
            while (row_index, column) in places:
                column += 1
            for down in range(min(cell.rows, len(rows) - row_index)):
                for right in range(cell.columns):
                    places.setdefault((row_index + down, column + right), "")
            places[row_index, column] = cell.text
            column += cell.columns
    return places


def _html_cell(cell: Cell) -> str:
    name = "th" if cell.is_header else "td"
    columns = f' colspan="{cell.columns}"' if cell.columns > 1 else ""
    rows = f' rowspan="{cell.rows}"' if cell.rows > 1 else ""
    text = escape(cell.text).replace("\n", "<br>").replace("](", "]&#40;")
    return f"<{name}{columns}{rows}>{text}</{name}>"


def _pipe_cell(text: str) -> str:
    """A cell's text as Markdown that shows it: no bar may end the cell, no line end the row."""
    return _BAR.sub(_escape_bar, escape_inline(escape_marks(text))).replace("\n", "<br>")


def _escape_bar(match: re.Match[str]) -> str:
    """Renderers disagree on a bar after a backslash, so there it becomes an entity."""
    return f"{match[1] * 2}&#124;" if match[1] else r"\|"

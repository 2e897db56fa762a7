"""HTML tables as models write them: read leniently, written strictly, nothing lost or blown up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.text.blocks import split_blocks
from fastocr_cli.text.tables import (
    MAX_GRID_CELLS,
    STRICT_HTML,
    Cell,
    Table,
    find_tables,
    parse_html_table,
)
from tests.text import nasty

cell_texts = st.text(
    st.characters(exclude_categories=["C", "Z"], include_characters="<>&|\"' "), max_size=8
).map(lambda text: " ".join(text.split()))


def parsed(html: str) -> Table:
    table = parse_html_table(html)
    assert table is not None
    return table


@pytest.mark.parametrize(
    ("html", "grid"),
    [
        ("<table><tr><td>a<td>b<tr><td>c</table>", (("a", "b"), ("c", ""))),
        ("<TABLE><TR><TH>A</TH></TR></TABLE>", (("A",),)),
        ("<table><td>no row</td></table>", (("no row",),)),
        ("<table><tr><td>cut o", (("cut o",),)),
        ("<table><tr><td> a \n b <br/> c </td></tr></table>", (("a b\nc",),)),
        ("<table><tr><td>x<sup>2</sup> <b>y</b></td></tr></table>", (("x² y",),)),
        ("<table><tr><td>&lt;b&gt; &amp; &#x1b;</td></tr></table>", (("<b> &",),)),
        (
            "<table><tr><td rowspan=2>a</td><td colspan='2'>b</td></tr>"
            "<tr><td>c</td><td>d</td></tr></table>",
            (("a", "b", ""), ("", "c", "d")),
        ),
        ("<table><tr><td>a<table><tr><td>b</td></tr></table></td></tr></table>", (("a b",),)),
    ],
)
def test_reading(html: str, grid: tuple[tuple[str, ...], ...]) -> None:
    assert parsed(html).grid() == grid


def test_text_outside_cells_is_kept_before_the_table() -> None:
    html = "<table><caption>Table 1</caption>stray<tr><td>a</td></tr></table>"
    assert parsed(html).caption == "Table 1stray"
    texts = [block.text for block in split_blocks(f"before {html} after")]
    assert texts == ["before", "Table 1stray", "a", "after"]


def test_header_cells() -> None:
    rows = parsed("<table><thead><tr><td>a</td></tr></thead><tr><th>b</th><td>c</td></tr>").rows
    assert [[cell.is_header for cell in row] for row in rows] == [[True], [True, False]]


@pytest.mark.parametrize("html", ["<table></table>", "<table>text</table>", "<table", ""])
def test_no_cell_is_no_table(html: str) -> None:
    assert parse_html_table(html) is None


def test_finding_tables() -> None:
    text = "a <table>1<table>2</table></table> b </table> <table><tr><td>3</td>\n\nc"
    assert [text[start:end] for start, end in find_tables(text)] == [
        "<table>1<table>2</table></table>",
        "<table><tr><td>3</td>",
    ]


def test_huge_spans_do_not_make_a_huge_grid() -> None:
    row = "<tr>" + "<td colspan=99999999 rowspan=9999>x</td>" * 60 + "</tr>"
    table = parsed(f"<table>{row * 60}</table>")
    grid = table.grid()
    assert len(grid) * len(grid[0]) <= MAX_GRID_CELLS
    assert sum(text == "x" for line in grid for text in line) == 3600


@given(st.lists(st.lists(cell_texts, min_size=1, max_size=4), min_size=1, max_size=4))
def test_html_round_trip(rows: list[list[str]]) -> None:
    table = Table(tuple(tuple(Cell(text) for text in row) for row in rows))
    assert STRICT_HTML.fullmatch(table.to_html())
    # Link syntax is broken up with an entity; read back it is what it was.
    assert parsed(table.to_html()) == table


@settings(deadline=None)
@given(st.lists(st.lists(cell_texts, min_size=2, max_size=2), min_size=1, max_size=4))
def test_pipes_keep_rows_and_columns(rows: list[list[str]]) -> None:
    """Whatever bars and backslashes the cells hold."""
    table = Table(tuple(tuple(Cell(text) for text in row) for row in rows))
    (block,) = split_blocks(table.to_pipes())
    assert [len(row) for row in block.rows] == [2] * len(rows)


def shown(text: str) -> str:
    """A cell's text after it has been through pipes."""
    (block,) = split_blocks(Table(((Cell("h"),), (Cell(text),))).to_pipes())
    return block.rows[1][0]


@pytest.mark.parametrize(
    "text",
    [
        "5*3*2 cm",
        "Box*",
        "2 * 3 * 4",
        "a *\nb\n* c",
        "~~a~~ ~b~",
        "__init__ and _x_",
        "a_b_c",
        "____",
        "`k` ``k``",
        "\\alpha \\* \\_ \\\\",
        "a\\\nb",
        "a\\|b",
        "[x](http://example.org) ![x](a.png)",
        "&lt;b&gt; &amp;",
        "$5 - $6",
        "*$a_1 * b_2$*",
    ],
)
def test_pipes_show_what_the_cell_says(text: str) -> None:
    assert shown(text) == text


@settings(deadline=None)
@given(st.text("*_~`\\|<>&;#!]-a1 ", max_size=12).map(lambda text: " ".join(text.split())))
def test_pipes_show_any_marks(text: str) -> None:
    assert shown(text) == text


def test_pipes_leave_harmless_text_as_it_is() -> None:
    text = "snake_case, a * b, ____ and $x_1 * x_2$"
    assert Table(((Cell(text),),)).to_pipes().startswith(f"| {text} |")


@settings(max_examples=200, deadline=None)
@given(nasty.markdown)
def test_any_cell_content_is_strict_html(text: str) -> None:
    table = parse_html_table(f"<table><tr><td>{text}</td></tr></table>")
    assert table is not None
    assert STRICT_HTML.fullmatch(table.to_html())

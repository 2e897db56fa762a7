"""Markdown and plain text: page breaks, tables, remarks, and nothing from pages in the comments."""

import pytest

from fastocr_cli.results import PageStatus
from fastocr_cli.writers import Style
from fastocr_cli.writers.markdown import with_tables
from tests.writers.examples import page, written

TWO = [page(1, "one"), page(2, "two")]
WITH_BLANK = [
    page(1, "", PageStatus.BLANK, is_read=False),
    page(2, "a"),
    page(3, "", PageStatus.BLANK, is_read=False),
    page(4, "b"),
]


@pytest.mark.parametrize(
    ("format_", "breaks", "expected"),
    [
        ("md", "none", "one\n\ntwo\n"),
        ("md", "comment", "<!-- page 1 -->\n\none\n\n<!-- page 2 -->\n\ntwo\n"),
        ("md", "rule", "one\n\n---\n\ntwo\n"),
        ("txt", "none", "one\n\ntwo\n"),
        ("txt", "comment", "one\n\ftwo\n"),
        ("txt", "rule", f"one\n\n{'-' * 40}\n\ntwo\n"),
    ],
)
def test_page_breaks(format_: str, breaks: str, expected: str) -> None:
    assert written(format_, TWO, Style(breaks)) == expected


@pytest.mark.parametrize(
    ("format_", "breaks", "expected"),
    [
        ("md", "none", "a\n\nb\n"),
        ("md", "rule", "a\n\n---\n\nb\n"),
        ("txt", "none", "a\n\nb\n"),
        ("txt", "comment", "\fa\n\f\fb\n"),
    ],
)
def test_blank_pages_leave_no_gap(format_: str, breaks: str, expected: str) -> None:
    assert written(format_, WITH_BLANK, Style(breaks)) == expected


@pytest.mark.parametrize("format_", ["md", "txt"])
def test_no_pages_no_text(format_: str) -> None:
    assert written(format_, []) == ""
    assert written(format_, [page(1, "", PageStatus.BLANK)]) == ""


@pytest.mark.parametrize("status", [s for s in PageStatus if not s.is_complete])
def test_an_incomplete_page_says_so(status: PageStatus) -> None:
    result = page(7, "text", status, ("because",))
    assert written("md", [result]) == f"<!-- page 7 {status}: because -->\n\ntext\n"
    assert written("txt", [result]) == f"[page 7 {status}: because]\n\ntext\n"


def test_a_warning_cannot_leave_its_comment() -> None:
    result = page(1, "", PageStatus.FAILED, ("x --> <script> --!> \n -", "--"))
    text = written("md", [result])
    assert text.startswith("<!-- ")
    assert text.endswith(" -->\n")
    assert "--" not in text[4:-4]
    assert "\n" not in text[:-1]


PIPES = "| A | B |\n| --- | --- |\n| 1 | 2 |"
HTML = "<table>\n<tr><th>A</th><th>B</th></tr>\n<tr><td>1</td><td>2</td></tr>\n</table>"
MERGED = '<table>\n<tr><td colspan="2">A</td></tr>\n<tr><td>1</td><td>2</td></tr>\n</table>'


def test_tables_in_either_spelling() -> None:
    both = f"# T\n\n{PIPES}\n\ntext\n\n{HTML}\n\nend"
    assert with_tables(both, "md") == f"# T\n\n{PIPES}\n\ntext\n\n{PIPES}\n\nend"
    assert with_tables(both, "html") == f"# T\n\n{HTML}\n\ntext\n\n{HTML}\n\nend"


def test_merged_cells_stay_html() -> None:
    assert with_tables(MERGED, "md") == MERGED


def test_cells_with_tags_stay_inert_in_both_spellings() -> None:
    source = "<table><tr><td>&lt;b&gt; | [x](javascript:y)</td></tr></table>"
    for tables, cell in (
        ("md", "| &lt;b> \\| [x\\]&#40;javascript:y) |"),
        ("html", "<td>&lt;b&gt; | [x]&#40;javascript:y)</td>"),
    ):
        assert cell in written("md", [page(1, source)], Style(tables=tables))


def test_lists_in_plain_text() -> None:
    source = "3. three\n   - [ ] deep\n4. four\n\npara\n\n* star"
    assert written("txt", [page(1, source)]) == (
        "3. three\n  - [ ] deep\n4. four\n\npara\n\n* star\n"
    )


def test_plain_text_has_no_control_characters() -> None:
    assert written("txt", [page(1, "a\x1b[31m\x0cb\x07")]) == "a\ufffd[31m\ufffdb\ufffd\n"

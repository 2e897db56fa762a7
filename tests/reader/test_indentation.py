"""Indentation, alignment and blank lines from places that are known to a cell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.reader.indentation import Placed, spaced

PYTHON = """\
import time
from client import Session, Timeout

def fetch(session, url, retries=3):
    for attempt in range(retries):
        try:
            response = session.get(url)
        except Timeout:
            time.sleep(2 ** attempt)
            continue
        if response.status == 200:
            return response.body

    return None

with Session(limit=8) as session:
    pages.append(fetch(session, base))"""
JSON = """\
{
  "limit": 8,
  "hosts": {
    "main": {
      "address": "10.0.4.17",
      "port": 8443
    },
    "spare": null
  }
}"""
COLUMNS = """\
$ queue list --all | sort
NAME            STATE       TIME
nightly-build   done       12:41
index           running     0:07
$ queue show index --last"""


def placed(text: str, pitch: float, left: float, step: float = 1.7) -> list[Placed]:
    """Lines of code as the reader places them: every word in the cell its first character is in.
    step: rows from line to line."""
    lines = []
    for i, line in enumerate(text.split("\n")):
        if not line:
            continue
        starts = [j for j, c in enumerate(line) if c != " " and (j == 0 or line[j - 1] == " ")]
        lines.append(
            Placed(line.split(), [int(left + pitch * j) for j in starts], int(4 + step * i))
        )
    return lines


def written(lines: list[Placed]) -> str:
    return "\n".join("\n" * blank + text for blank, text in spaced(lines))


@given(
    st.sampled_from([PYTHON, JSON]), st.floats(0.8, 0.92), st.floats(2, 40), st.floats(1.5, 1.95)
)
def test_code_is_written_as_it_was_set(text: str, pitch: float, left: float, step: float) -> None:
    assert written(placed(text, pitch, left, step)) == text


def test_two_blank_lines_are_two() -> None:
    text = PYTHON.replace("\n\nwith", "\n\n\nwith")
    assert written(placed(text, 0.8, 3.3)) == text


@pytest.mark.parametrize("left", [3.1, 3.5, 3.9])
def test_columns_stay_columns(left: float) -> None:
    lines = written(placed(COLUMNS, 0.86, left)).split("\n")
    at = [line.index(word) for line, word in zip(lines[1:4], ("STATE", "done", "run"), strict=True)]
    assert max(at) - min(at) <= 1
    assert min(at) >= 14


def test_a_letter_that_was_lost_makes_no_gap() -> None:
    lines = [Placed(["newcomand", "x", "=", "y"], [3, 12, 14, 16], 4)]
    assert spaced(lines) == [(0, "newcomand x = y")]


def test_what_is_not_known_is_one_space() -> None:
    assert spaced([Placed(["a"], [3], None), Placed(["b"], [3], 2)]) == [(0, "a"), (0, "b")]
    assert spaced([Placed(["a", "b"], [3, 90], 4)]) == [(0, "a b")]
    with pytest.raises(ValueError, match="zip"):
        spaced([Placed(["a", "b"], [3], 4)])

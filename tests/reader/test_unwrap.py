"""Lines of the page to Markdown."""

from __future__ import annotations

import pytest

from fastocr_cli.reader.unwrap import unwrap


@pytest.mark.parametrize(
    ("raw", "markdown"),
    [
        ("one line\nand its rest", "one line and its rest"),
        ("a hyphen-\nated word", "a hyphenated word"),
        ("the Smith-\nJones file", "the Smith- Jones file"),
        ("pages 3-\n7 are", "pages 3- 7 are"),
        ("# A long\nheading", "# A long heading"),
        ("- one\ngoes on\n- two", "- one goes on\n- two"),
        ("1. one\n2. two\nmore", "1. one\n2. two more"),
        (
            "1 Aim . . . . 4\n2 Means\nof it .... ix\n3 End",
            "1 Aim . . . . 4\n\n2 Means of it .... ix\n\n3 End",
        ),
        ("1, 2, ... 4\nand so on", "1, 2, ... 4 and so on"),
        ("| a | b |\n| 1 | 2 |", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("| a | b |\n| 1 |", "| a | b |\n| --- | --- |\n| 1 |  |"),
        ("    x = 1\n    y", "```\nx = 1\ny\n```"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("", ""),
    ],
)
def test_unwrap(raw: str, markdown: str) -> None:
    assert unwrap(raw) == markdown

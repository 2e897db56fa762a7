"""Code among prose: which lines are a listing's, and how they are written down."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Word
from fastocr_cli.reader.layout import lay_out
from fastocr_cli.reader.listings import listings
from fastocr_cli.reader.monospaced import is_monospaced
from tests.reader.setting import set_words

PROSE = "The client keeps one connection open for each host and closes it when nothing was sent."
STEP = 1.6
"""Rows from line to line."""
FUNCTION = [
    "def fetch(session, url):",
    "    for attempt in range(3):",
    "        try:",
    "            return get(url)",
    "        except Timeout:",
    "            continue",
    "",
    "    return None",
]


def page(*parts: Sequence[str] | str) -> list[tuple[Word, ...]]:
    """Chains of words from the top, lists in a monospaced face."""
    lines = [
        (text, not isinstance(part, str))
        for part in parts
        for text in ([part] if isinstance(part, str) else part)
    ]
    return [
        set_words(3 + STEP * i, text, even=is_code)
        for i, (text, is_code) in enumerate(lines)
        if text
    ]


def code_of(chains: Sequence[tuple[Word, ...]]) -> list[list[str]]:
    """Lines of each listing, their words with single spaces."""
    return [
        [" ".join(word.text for i in level for word in chains[i]) for level in levels]
        for levels in listings(chains, ())
    ]


def words_of(lines: Sequence[str]) -> list[str]:
    return [" ".join(line.split()) for line in lines if line]


def test_a_listing_holds_its_short_lines_and_no_prose() -> None:
    chains = page(PROSE, PROSE, FUNCTION, PROSE, ["{", '  "a": 1,', "  b: [2, 3, 4]", "}"], PROSE)
    assert code_of(chains) == [words_of(FUNCTION), ["{", '"a": 1,', "b: [2, 3, 4]", "}"]]


@pytest.mark.parametrize(
    "lines",
    [
        ["Mr John Archer", "12 Mill Lane", "Oldham"],
        ["an.archer@example.com", "https://example.com/archer"],
        ["1,204.50 3,310.00 4,514.50"],
        ["No. Ref. | 1842 |", "120 843.6 | 1259* |", "130 912.7 | 1300* |"],
    ],
)
def test_what_is_typewritten_among_prose_is_not_all_code(lines: list[str]) -> None:
    assert code_of(page(PROSE, lines, PROSE)) == []


def test_a_typewritten_page_is_no_listing() -> None:
    letter = ["Mr John Archer", "12 Mill Lane (Rear)", "", "Dear John,", "", *[PROSE[:50]] * 6]
    assert code_of(page(letter)) == []


def test_a_page_of_nothing_but_code_is_one() -> None:
    assert code_of(page(FUNCTION + FUNCTION)) == [words_of(FUNCTION + FUNCTION)]


def test_words_of_prose_in_a_monospaced_face_are_no_listing() -> None:
    chains = page(PROSE, ["connection_of(host)"], PROSE)
    assert code_of(chains) == []
    assert is_monospaced(chains[1])
    assert not is_monospaced(chains[0])
    assert is_monospaced(set_words(3, "few", even=True)) is None


def test_what_code_has_in_columns_is_one_line() -> None:
    table = ["$ queue list", " ID  NAME            STATE", "  1  nightly-build   finished at 12"]
    lines = lay_out([word for chain in page(PROSE, table, PROSE) for word in chain])
    texts = [" ".join(word.text for word in line.words) for line in lines]
    assert texts == words_of([PROSE, *table, PROSE])
    assert [line.listing for line in lines] == [None, 0, 0, 0, None]


def test_lines_keep_their_numbers() -> None:
    code = page(PROSE, FUNCTION[:2] + FUNCTION[3:4], PROSE)
    numbers = [
        set_words(chain[0].height, str(8 + i), start=20, size=0.7)
        for i, chain in enumerate(code[1:-1])
    ]
    numbered = [f"{8 + i} {line}" for i, line in enumerate(FUNCTION[:2] + FUNCTION[3:4])]
    assert code_of([*code, *numbers]) == [words_of(numbered)]


def test_prose_beside_or_between_parts_listings() -> None:
    assert code_of(
        page(FUNCTION[:4], "is the very same thing as", FUNCTION[4:], PROSE, PROSE, PROSE)
    ) == [
        words_of(FUNCTION[:4]),
        words_of(FUNCTION[4:]),
    ]


def test_code_is_not_found_on_an_empty_page() -> None:
    assert listings([], ()) == []
    assert v.detokenize([]) == ""

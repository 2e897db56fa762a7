"""The grammar of --pages, against a plain reading of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.errors import UsageError
from fastocr_cli.inputs.pages import parse_pages

COUNT = 40
bounds = st.integers(1, COUNT)
parts = st.one_of(
    bounds.map(lambda n: (str(n), {n})),
    st.tuples(bounds, bounds)
    .map(sorted)
    .map(lambda ab: (f"{ab[0]}-{ab[1]}", set(range(ab[0], ab[1] + 1)))),
    bounds.map(lambda n: (f"{n}-end", set(range(n, COUNT + 1)))),
    st.just(("end", {COUNT})),
)


@given(st.lists(parts, min_size=1, max_size=6), st.sampled_from([",", ", ", " ,"]))
def test_selection_is_the_union_of_its_parts(
    chosen: list[tuple[str, set[int]]], comma: str
) -> None:
    text = comma.join(part for part, _ in chosen)
    wanted = set().union(*(numbers for _, numbers in chosen))
    assert parse_pages(text).numbers(COUNT, "x.pdf") == tuple(sorted(wanted))


@given(st.text(alphabet="0123456789-, end", max_size=12) | st.text(max_size=8))
def test_any_text_is_a_selection_or_a_usage_error(text: str) -> None:
    try:
        numbers = parse_pages(text).numbers(COUNT, "x.pdf")
    except UsageError:
        return
    assert numbers
    assert set(numbers) <= set(range(1, COUNT + 1))


@pytest.mark.parametrize(
    "text",
    ["", " ", ",", "1,", "0", "1-0", "5-3", "a", "-3", "3-", "1--2", "end-3", "1.5", "1;2", "٣"],
)
def test_nonsense_is_refused_and_says_what_to_give(text: str) -> None:
    with pytest.raises(UsageError, match=r"1,3-5,9-end"):
        parse_pages(text)


@pytest.mark.parametrize("text", ["4", "1-9", "5-end", "999999999"])
def test_pages_outside_the_document_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"x.pdf: pages {text}: the document has 3 pages; give"):
        parse_pages(text).numbers(3, "x.pdf")
    with pytest.raises(UsageError, match="only 1 page; give pages up to 1, or end"):
        parse_pages(text).numbers(1, "x.pdf")

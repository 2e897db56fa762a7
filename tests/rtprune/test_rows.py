"""Row ends whose row is gone, against the rule applied to a list of words."""

import itertools

import torch
from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.rtprune.rows import drop_empty_rows
from tests.rtprune import reference


def kept_after(tokens: list[str], dropped: set[int], positions: list[int] | None = None):
    structural = torch.tensor([token != "patch" for token in tokens])
    is_kept = torch.tensor([i not in dropped for i in range(len(tokens))])
    where = torch.tensor(positions or list(range(5, 5 + len(tokens))))
    return drop_empty_rows(where, structural, is_kept).nonzero()[:, 0].tolist()


@given(st.data())
def test_equals_the_rule_on_deepseek_layouts(data):
    """A local block and a global block of rows, each row with its end, then the separator."""
    blocks = data.draw(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), max_size=2))
    rows = [columns for count, columns in blocks for _ in range(count)]
    tokens = [token for columns in rows for token in ["patch"] * columns + ["end"]]
    tokens.append("separator")
    patches = [i for i, token in enumerate(tokens) if token == "patch"]
    dropped = data.draw(st.sets(st.sampled_from(patches))) if patches else set()
    kept = kept_after(tokens, dropped)
    assert kept == reference.surviving(tokens, dropped)
    assert kept[-1] == len(tokens) - 1, "the separator stays"
    assert no_row_end_follows_another(tokens, kept)


def no_row_end_follows_another(tokens, kept):
    left = [tokens[i] for i in kept]
    return not any(a == b == "end" for a, b in itertools.pairwise(left))


def test_a_row_end_goes_only_with_its_whole_row():
    tokens = ["patch", "patch", "end"] * 3 + ["separator"]
    assert kept_after(tokens, {3}) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert kept_after(tokens, {3, 4}) == [0, 1, 2, 6, 7, 8, 9]
    assert kept_after(tokens, {3, 4, 6, 7}) == [0, 1, 2, 9]


def test_the_first_rows_end_stays_as_no_row_end_stands_before_it():
    tokens = ["patch", "patch", "end"] * 2 + ["separator"]
    assert kept_after(tokens, {0, 1}) == [2, 3, 4, 5, 6]


def test_a_begin_vector_is_no_row_end_and_the_last_token_closes_the_page():
    begin = ["begin", "patch", "end", "patch", "close"]
    assert kept_after(begin, {1}) == [0, 2, 3, 4]
    assert kept_after(begin, {3}) == [0, 1, 2, 4]


def test_row_ends_with_text_between_them_are_not_adjacent():
    tokens = ["patch", "end", "patch", "end", "patch", "end"]
    assert kept_after(tokens, {2}, [5, 6, 8, 9, 10, 11]) == [0, 1, 3, 4, 5]


def test_families_without_structural_tokens_keep_what_was_kept():
    assert kept_after(["patch"] * 5, {1, 3}) == [0, 2, 4]

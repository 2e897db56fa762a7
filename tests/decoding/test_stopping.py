"""The repetition guard: finds loops soon, cuts them to one period, spares pages that repeat."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.decoding.stopping import (
    CHECK_EVERY,
    RepetitionGuard,
    RepetitionLimits,
    suffix_period,
)

LIMITS = RepetitionLimits()


def as_text(tokens: Sequence[int]) -> str:
    return "".join(map(chr, tokens))


def run(text: str, limits: RepetitionLimits = LIMITS) -> tuple[str, int] | None:
    """Feed characters until the guard stops: the text it leaves and how many it took to stop."""
    guard = RepetitionGuard(as_text, limits)
    tokens: list[int] = []
    for char in text:
        tokens.append(ord(char))
        cut = guard.find_loop(tokens)
        if cut is not None:
            return as_text(tokens[:cut]), len(tokens)
    return None


def slow_suffix_period(tokens: list[int], max_period: int) -> tuple[int, int]:
    best = (0, 0)
    for period in range(1, min(max_period, len(tokens) - 1) + 1):
        matched = 0
        while matched < len(tokens) - period and (
            tokens[-1 - matched] == tokens[-1 - matched - period]
        ):
            matched += 1
        if matched and matched + period > sum(best):
            best = (period, matched)
    return best


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(0, 3), max_size=20),
    st.lists(st.integers(0, 3), min_size=1, max_size=8),
    st.integers(3, 6),
)
def test_suffix_period_equals_the_slow_search(
    head: list[int], period: list[int], repeats: int
) -> None:
    tokens = head + period * repeats
    expected = slow_suffix_period(tokens, 32)
    if expected[1] >= 8:  # the fast search only looks where the last 8 tokens repeat
        assert suffix_period(tokens, 32) == expected


@settings(max_examples=60, deadline=None)
@given(st.text("abcdefgh ", min_size=1, max_size=300), st.text("ijklmn", min_size=1, max_size=40))
def test_every_loop_is_found_and_cut_to_one_period(head: str, period: str) -> None:
    found = run(head + period * (2000 // len(period)))
    assert found is not None
    left, taken = found
    shortest = min(
        n for n in range(1, len(period) + 1) if period == (period[:n] * len(period))[: len(period)]
    )
    unit = shortest if len(period) % shortest == 0 else len(period)
    assert len(head) < len(left) <= len(head) + unit
    limit = max(LIMITS.min_span, LIMITS.min_repeats * unit)
    assert taken <= len(head) + limit + CHECK_EVERY + 8


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_text_without_a_loop_is_left_alone(seed: int) -> None:
    """Random words repeat short stretches all the time but never for hundreds of characters."""
    words = random.Random(seed).choices(["the", "cat", "sat", "on", "a", "mat", "and"], k=300)
    text = " ".join(words)
    assert len(text) > 3 * LIMITS.min_span
    assert run(text) is None


LEGITIMATE = {
    "a dotted leader": "Introduction " + "." * 150 + " 7\n",
    "a page of dotted leaders": "".join(
        f"{n}. Chapter {n * 37 % 101} " + "." * (90 - n % 7) + f" {n * 3}\n" for n in range(40)
    ),
    "a ruled form": ("_" * 80 + "\n") * 12,
    "an empty table": "| | | | | |\n" * 25,
    "a table rule": "|" + "---|" * 40 + "\n",
    "empty HTML cells": "<tr>" + "<td></td>" * 12 + "</tr>\n",
    "a column of equal values": "| Total | 0.00 |\n" * 30,
    "a refrain": "Row, row, row your boat gently down the stream,\n" * 4,
    "five equal form lines": "Name: ____________ Date: ____________\n" * 5,
}


@pytest.mark.parametrize("text", LEGITIMATE.values(), ids=LEGITIMATE.keys())
def test_pages_that_really_repeat_are_spared(text: str) -> None:
    assert run("Some page text before it.\n" + text + "And the page goes on after it.") is None


STUCK = {
    "a word": "the " * 600,
    "a sentence": "This sentence never ends and never ends. " * 60,
    "a paragraph": "".join(f"Sentence {n} of a long paragraph. " for n in range(12)) * 8,
    "dots": "." * 4000,
    "empty cells": "<td></td>" * 600,
    "a table row": "| a | b | c |\n" * 400,
}


@pytest.mark.parametrize("text", STUCK.values(), ids=STUCK.keys())
def test_endless_repetition_is_stopped(text: str) -> None:
    found = run("Some page text before it.\n" + text)
    assert found is not None
    assert found[1] < len(text)

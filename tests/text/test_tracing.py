"""Blocks find the tokens that wrote them, their place and their probability."""

import math
from dataclasses import replace

import pytest

from fastocr_cli.text.blocks import split_blocks
from fastocr_cli.text.tracing import find_spans, surrounding, trace_blocks
from tests.writers.examples import page, reading


def test_blocks_take_box_and_probability_of_their_tokens() -> None:
    text = "# Head\n\nbody"
    places = tuple((i / 20, 0.0, (i + 1) / 20, 0.1) for i in range(len(text)))
    logprobs = tuple(math.log(0.9 if i < 8 else 0.4) for i in range(len(text)))
    traced = trace_blocks(
        split_blocks(text), replace(reading(text), places=places, logprobs=logprobs)
    )
    assert [block.box for block in traced] == [(0.1, 0.0, 0.3, 0.1), (0.4, 0.0, 0.6, 0.1)]
    assert [block.confidence for block in traced] == pytest.approx([0.9, 0.4])


def test_word_pieces_and_tokens_that_write_nothing() -> None:
    """As in a model that writes a line's place before its words."""
    pieces = ["", "", "Hel", "lo", " ", "wor", "ld", "", "", "En", "d"]
    assert find_spans(["Hello world", "End"], pieces) == [slice(2, 7), slice(9, 11)]


def test_unwrapping_and_hyphens_do_not_hide_a_block() -> None:
    read = "An exam-\nple of\nlines\n\nEnd"
    spans = find_spans(["An example of lines", "End"], list(read))
    assert [read[span] for span in spans if span] == ["An exam-\nple of\nlines", "End"]


def test_equal_blocks_are_told_apart_by_their_order() -> None:
    assert find_spans(["same", "same"], list("same\n\nsame")) == [slice(0, 4), slice(6, 10)]


def test_what_was_not_read_has_no_tokens() -> None:
    assert find_spans(["x", "—", "end"], list("the end")) == [None, None, slice(4, 7)]


def test_what_follows_a_block_that_is_not_found_gets_no_place_inside_it() -> None:
    read = "10<sup>6</sup> has 7 parts\n\n7\n\nThe end\n\n7"
    spans = find_spans(["10⁶ has 7 parts", "7", "The end", "7"], list(read))
    assert spans[:2] == [None, None]
    assert [read[span] for span in spans if span] == ["The end", "7"]
    assert spans[3] == slice(len(read) - 1, len(read))


def test_nothing_is_made_up() -> None:
    text = "some words"
    unknown = replace(reading(text), pieces=())
    (block,) = trace_blocks(split_blocks(text), unknown)
    assert (block.box, block.confidence) == (None, None)
    placeless = replace(reading(text), places=())
    (block,) = trace_blocks(split_blocks(text), placeless)
    assert block.box is None
    assert block.confidence is not None
    assert surrounding([None, None]) is None
    assert page(1, text, is_read=False).blocks[0].box is None

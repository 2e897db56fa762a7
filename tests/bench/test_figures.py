"""Figures of made-up runs: parts add up, quotients are fair, good differs from bad."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fastocr_cli.bench.figures import Row, make_rows
from fastocr_cli.bench.runner import Runs
from fastocr_cli.results import PageStatus
from tests.bench.made_up import TEXT, document, outcome, page_run, runs, spoiled


def rows_of(*others: Runs, truth: str | None = TEXT) -> list[Row]:
    dense = Runs("dense", 1.0, tuple((page_run(),) for _ in others[0].rounds))
    return make_rows([dense, *others], [document(truth)])


def test_times_add_up() -> None:
    for row in outcome().rows:
        times = row.times
        parts = times.prepare_ms + times.prefill_ms + times.decode_ms + times.rest_ms
        assert parts == pytest.approx(times.whole_ms)
        assert times.attention_ms <= times.decode_ms
        assert abs(times.rest_ms) <= 0.05 * times.whole_ms


def test_absolute_times_are_of_one_round_and_quotients_of_all() -> None:
    rounds = tuple((page_run(speed=speed),) for speed in (1.0, 4.0, 2.0))
    _, row = rows_of(Runs("fastocr", 0.1, rounds))
    assert row.times.attention_ms == pytest.approx(250)
    speedup = row.attention_speedup
    assert speedup is not None
    assert (speedup.low, speedup.median, speedup.high) == pytest.approx((1, 2, 4))


def test_a_longer_text_does_not_make_attention_slower() -> None:
    """Half the speed per page because of twice the steps is the same speed per step."""
    stats = {"decode_steps": 1002, "kv_bytes_dense": 2 * 10**9}
    times = {"attention_ms": 1000.0, "decode_ms": 2000.0}
    _, row = rows_of(Runs("fastocr", 0.1, ((page_run(**stats, **times),),)))
    assert row.attention_speedup is not None
    assert row.decode_speedup is not None
    assert row.page_speedup is not None
    assert row.attention_speedup.median == pytest.approx(1)
    assert row.decode_speedup.median == pytest.approx(1)
    assert row.page_speedup.median < 0.6


def test_accuracy_kept_is_relative_to_dense() -> None:
    made = runs({"fastocr": 0.0})
    dense, row = make_rows(made[:2], [document()])
    assert dense.cer == pytest.approx(0.01, abs=0.002)
    assert dense.accuracy_kept == dense.agreement == 1
    assert row.accuracy_kept == pytest.approx(1)
    assert row.agreement == 1


def test_without_a_truth_the_dense_text_judges() -> None:
    wrong = Runs("fastocr", 0.1, ((page_run(spoiled(TEXT, 0.1)),),))
    _, row = rows_of(wrong, truth=None)
    assert row.cer is row.word_recall is row.accuracy_kept is None
    assert row.kept == row.agreement == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("truth", [None, TEXT])
@pytest.mark.parametrize("read", ["", TEXT])
def test_where_dense_read_nothing_nothing_is_kept(read: str, truth: str | None) -> None:
    dense = Runs("dense", 1.0, ((page_run(""), page_run("")),))
    other = Runs("fastocr", 0.1, ((page_run(read), page_run("")),))
    for row in make_rows([dense, other], [document(truth, pages=2)]):
        assert row.agreement is row.accuracy_kept is row.kept is None


def test_a_broken_selection_stands_out() -> None:
    at = {(row.method, row.keep): row for row in outcome().rows}
    good, bad = at["fastocr", 0.05].kept, at["random", 0.05].kept
    assert good is not None
    assert bad is not None
    assert good > 0.98
    assert bad < 0.8


def test_pages_without_an_end_are_counted() -> None:
    pages = (page_run(), replace(page_run(), status=PageStatus.LOOPED))
    pages += (replace(page_run(), status=PageStatus.TRUNCATED), page_run())
    dense = Runs("dense", 1.0, ((page_run(),) * 4,))
    _, row = make_rows([dense, Runs("fastocr", 0.1, (pages,))], [document(pages=4)])
    assert row.repetition_rate == 0.5


def test_documents_weigh_by_their_length() -> None:
    short, long = document("ab"), document("x" * 98)
    runs_ = Runs("dense", 1.0, ((page_run("cd"), page_run("x" * 98)),))
    (row,) = make_rows([runs_], [short, long])
    assert row.cer == pytest.approx(0.02)


def test_another_program_has_a_text_and_a_time_only() -> None:
    peer = Runs("tesseract", None, ((replace(page_run(), stats=None),),))
    _, row = rows_of(peer)
    assert row.cer == 0
    assert row.kv_share is row.attention_speedup is row.tokens_per_second is None
    assert row.page_speedup is not None
    assert row.times.rest_ms == row.times.whole_ms

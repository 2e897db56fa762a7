"""From what was read and how long it took to the figures of a row.

Accuracy is 1 - CER and never below 0. Where the text differs, so does its length; so attention is
compared by the work dense attention would have had over the same steps, and decoding by the token.
Absolute times are those of one round, the one whose whole time is the median, so that parts add up
to the whole; a quotient is the median over rounds of quotients within a round. Knows no files and
no screen.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fastocr_cli.bench.contestants import PageRun
from fastocr_cli.bench.pages import BenchDocument
from fastocr_cli.bench.runner import Runs
from fastocr_cli.bench.scoring import character_error_rate, normalise, word_recall
from fastocr_cli.results import PageStats, PageStatus


@dataclass(frozen=True)
class Quotient:
    """How many times faster than dense: median, least and greatest over the rounds."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Times:
    """Milliseconds per page. The whole is prepare + prefill + decode + rest; attention is a part
    of decode, and rest is what none of the others' clocks saw."""

    prepare_ms: float
    prefill_ms: float
    decode_ms: float
    attention_ms: float
    rest_ms: float
    whole_ms: float


@dataclass(frozen=True)
class Row:
    """One contestant's figures over all pages; None where there is nothing to tell.

    keep: None for another program. cer, word_recall: against the truth. accuracy_kept: its
    accuracy over that of dense. agreement: accuracy with the dense text as the truth; None where
    dense read nothing.
    repetition_rate: share of pages that looped or ran into their token limit.
    The keeps are shares of the visual tokens, kv_share that of K and V bytes.
    """

    method: str
    keep: float | None
    pages: int
    cer: float | None
    word_recall: float | None
    accuracy_kept: float | None
    agreement: float | None
    repetition_rate: float | None
    keep_sparse_layers: float | None
    keep_all_layers: float | None
    kv_share: float | None
    kv_bytes_read: int | None
    visual_tokens: int | None
    generated_tokens: int | None
    times: Times
    tokens_per_second: float | None
    pages_per_second: float
    prefill_speedup: Quotient | None
    attention_speedup: Quotient | None
    decode_speedup: Quotient | None
    page_speedup: Quotient | None

    @property
    def kept(self) -> float | None:
        """The share of accuracy kept, by the truth where there is one, else by the dense text."""
        return self.agreement if self.accuracy_kept is None else self.accuracy_kept


def make_rows(runs: Sequence[Runs], documents: Sequence[BenchDocument]) -> list[Row]:
    """A row each, in the order given; the one called "dense" is what the others are held to."""
    dense = next(one for one in runs if one.method == "dense")
    return [_row(one, dense, documents) for one in runs]


def _row(runs: Runs, dense: Runs, documents: Sequence[BenchDocument]) -> Row:
    first = runs.rounds[0]
    texts, dense_texts = _texts(first, documents), _texts(dense.rounds[0], documents)
    truths = [document.truth.text if document.truth else None for document in documents]
    errors, dense_errors = _error_rate(texts, truths), _error_rate(dense_texts, truths)
    accuracy, dense_accuracy = _accuracy(errors), _accuracy(dense_errors)
    is_comparable = accuracy is not None and bool(dense_accuracy)
    times = _median_times(runs.rounds)
    stats = [page.stats for page in first if page.stats]
    return Row(
        method=runs.method,
        keep=runs.keep,
        pages=len(first),
        cer=errors,
        word_recall=_recall(texts, truths),
        accuracy_kept=accuracy / dense_accuracy if is_comparable else None,  # type: ignore[operator]
        agreement=_agreement(texts, dense_texts),
        repetition_rate=_repetition_rate(first) if stats else None,
        keep_sparse_layers=_mean(stats, lambda page: page.keep_sparse_layers),
        keep_all_layers=_mean(stats, lambda page: page.keep_all_layers),
        kv_share=_kv_share(stats),
        kv_bytes_read=sum(page.kv_bytes_read for page in stats) if stats else None,
        visual_tokens=sum(page.visual_tokens for page in stats) if stats else None,
        generated_tokens=sum(page.generated_tokens for page in stats) if stats else None,
        times=times,
        tokens_per_second=_tokens_per_second(stats, times),
        pages_per_second=1000 / times.whole_ms if times.whole_ms else 0.0,
        prefill_speedup=_speedup(runs, dense, _prefill_ms),
        attention_speedup=_speedup(runs, dense, _attention_cost),
        decode_speedup=_speedup(runs, dense, _decode_cost),
        page_speedup=_speedup(runs, dense, _whole_ms),
    )


# --- accuracy


def _texts(pages: Sequence[PageRun], documents: Sequence[BenchDocument]) -> list[str]:
    """By document, what was read on its pages."""
    remaining = iter(pages)
    return ["\n\n".join(next(remaining).text for _ in one.pages) for one in documents]


def _error_rate(texts: Sequence[str], truths: Sequence[str | None]) -> float | None:
    """Errors over characters of all documents with a truth."""
    errors = characters = 0.0
    for text, truth in zip(texts, truths, strict=True):
        if truth is not None:
            length = len(normalise(truth))
            errors += character_error_rate(text, truth) * max(length, 1)
            characters += max(length, 1)
    return errors / characters if characters else None


def _recall(texts: Sequence[str], truths: Sequence[str | None]) -> float | None:
    found = words = 0.0
    for text, truth in zip(texts, truths, strict=True):
        if truth is not None:
            count = len(normalise(truth).split())
            found += word_recall(text, truth) * count
            words += count
    return found / words if words else None


def _accuracy(error_rate: float | None) -> float | None:
    return None if error_rate is None else max(0.0, 1 - error_rate)


def _agreement(texts: Sequence[str], dense_texts: Sequence[str]) -> float | None:
    has_text = any(map(normalise, dense_texts))
    return _accuracy(_error_rate(texts, dense_texts)) if has_text else None


def _repetition_rate(pages: Sequence[PageRun]) -> float:
    endless = (PageStatus.LOOPED, PageStatus.TRUNCATED)
    return sum(page.status in endless for page in pages) / len(pages)


# --- retention


def _mean(stats: Sequence[PageStats], value: Callable[[PageStats], float]) -> float | None:
    """Weighted by the pages' visual tokens and steps: the share over all that could be seen."""
    weights = [page.visual_tokens * page.decode_steps for page in stats]
    if not sum(weights):
        return statistics.fmean(map(value, stats)) if stats else None
    return statistics.fmean(map(value, stats), weights)


def _kv_share(stats: Sequence[PageStats]) -> float | None:
    dense = sum(page.kv_bytes_dense for page in stats)
    return sum(page.kv_bytes_read for page in stats) / dense if dense else None


# --- time


def _median_times(rounds: Sequence[Sequence[PageRun]]) -> Times:
    """The parts of the round whose whole time is the (lower) median."""
    pages = sorted(rounds, key=_whole_ms)[(len(rounds) - 1) // 2]
    stats = [page.stats for page in pages if page.stats]
    parts = [
        sum(getattr(page, name) for page in stats) / len(pages)
        for name in ("prepare_ms", "prefill_ms", "decode_ms", "attention_ms")
    ]
    prepare, prefill, decode, attention = parts
    whole = _whole_ms(pages) / len(pages)
    return Times(prepare, prefill, decode, attention, whole - prepare - prefill - decode, whole)


def _tokens_per_second(stats: Sequence[PageStats], times: Times) -> float | None:
    """The same tokens in every round, so one round's count will do."""
    tokens = _tokens(stats)
    return 1000 * tokens / (times.decode_ms * len(stats)) if tokens and times.decode_ms else None


def _tokens(stats: Sequence[PageStats]) -> int:
    """Tokens decoded: a page that looped has fewer left of them than it took steps, and one read
    in drafts takes fewer steps."""
    return sum(max(page.decode_steps, page.generated_tokens) for page in stats)


def _whole_ms(pages: Sequence[PageRun]) -> float:
    return sum(page.whole_ms for page in pages)


def _prefill_ms(pages: Sequence[PageRun]) -> float:
    return sum(page.stats.prefill_ms for page in pages if page.stats)


def _attention_cost(pages: Sequence[PageRun]) -> float:
    """Milliseconds per byte of K and V that dense attention would have read."""
    stats = [page.stats for page in pages if page.stats]
    work = sum(page.kv_bytes_dense for page in stats)
    return sum(page.attention_ms for page in stats) / work if work else 0.0


def _decode_cost(pages: Sequence[PageRun]) -> float:
    """Milliseconds per token."""
    stats = [page.stats for page in pages if page.stats]
    tokens = _tokens(stats)
    return sum(page.decode_ms for page in stats) / tokens if tokens else 0.0


def _speedup(
    runs: Runs, dense: Runs, cost: Callable[[Sequence[PageRun]], float]
) -> Quotient | None:
    """cost: of one round of pages; 0 where it cannot be told."""
    costs = [
        (cost(theirs), cost(ours)) for theirs, ours in zip(dense.rounds, runs.rounds, strict=True)
    ]
    quotients = [theirs / ours for theirs, ours in costs if theirs and ours]
    if not quotients:
        return None
    return Quotient(statistics.median(quotients), min(quotients), max(quotients))

"""The table of a bench and the sentences around it: all wording, no arithmetic beyond rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fastocr_cli.bench.figures import Quotient, Row
from fastocr_cli.bench.outcome import Outcome

NONE = "-"
UNLIMITED = 10_000
GOOD, FAIR = 0.98, 0.90
"""Shares of accuracy kept from which on a row is green or yellow."""

STEADY = 0.10
"""Half spread over median up to which quotients of times are worth quoting."""

LEGEND = (
    ("keep", "share of the page's visual tokens that pruned layers attend to"),
    ("attended", "what that comes to in pruned layers / in all layers / in bytes of K and V read"),
    ("wrong, found", "character errors over characters of the truth; its words that were read"),
    ("kept", "right characters relative to dense"),
    ("as dense", "agreement with the text that dense attention gave"),
    ("endless", "pages that looped or hit their token limit"),
    (
        "x dense",
        "times faster than dense, all costs of choosing included: median of the rounds ± half "
        "their spread; attention by the bytes dense would have read, decoding by the token, page "
        "from pixels to text",
    ),
)


def render(outcome: Outcome, width: int) -> RenderableType:
    """Everything the bench says on a terminal."""
    columns = _columns(outcome, width)
    return Group(
        Text(_title(outcome), style="bold"),
        Text(),
        _filled(columns, outcome),
        Text(),
        _legend(columns),
        Text(),
        Text(_parts(outcome)),
        Text(_verdict(outcome), style="bold"),
        *(Text(words, style="yellow") for words in _doubts(outcome)),
    )


def print_outcome(outcome: Outcome, console: Console) -> None:
    console.print(render(outcome, console.width))


def _title(outcome: Outcome) -> str:
    pages = sum(len(one.pages) for one in outcome.documents)
    documents = count(len(outcome.documents), "document")
    return (
        f"{outcome.model}{outcome.reads}: {count(pages, 'page')} of {documents}"
        f"{coverage(outcome)} on {outcome.device}, {outcome.dtype}, "
        f"{count(outcome.threads, 'thread')}, batch {outcome.batch_size}, "
        f"{count(outcome.rounds, 'round')}"
    )


def coverage(outcome: Outcome) -> str:
    """Which pages accuracy counts, to go behind the number of all; nothing where it is all."""
    with_truth = sum(len(one.pages) for one in outcome.documents if one.truth)
    if with_truth == sum(len(one.pages) for one in outcome.documents):
        return ""
    if not with_truth:
        return " (no page with a truth)"
    return f" (accuracy over the {count(with_truth, 'page')} with a truth)"


@dataclass(frozen=True)
class _Column:
    heading: str
    cell: Callable[[Row], str | Text]
    is_essential: bool = True


def _all_columns(outcome: Outcome) -> list[_Column]:
    has_truth = any(row.cer is not None for row in outcome.rows)
    is_prefill_pruned = any(row.method.startswith("rtprune") for row in outcome.rows)
    accuracy = [
        _Column("\nwrong", lambda row: _percent(row.cer)),
        _Column("\nfound", lambda row: _percent(row.word_recall), is_essential=False),
        _Column("accuracy\nkept", lambda row: _kept(row, row.accuracy_kept)),
        _Column("as\ndense", lambda row: _percent(row.agreement), is_essential=False),
    ]
    agreement = [_Column("as\ndense", lambda row: _kept(row, row.agreement))]
    prefill = _Column("prefill\nx dense", lambda row: _times(row.prefill_speedup))
    return [
        _Column("\nkeep", _keep),
        _Column("\nattended", _attended, is_essential=False),
        *(accuracy if has_truth else agreement),
        _Column("end-\nless", lambda row: _percent(row.repetition_rate, 0)),
        *([prefill] if is_prefill_pruned else []),
        _Column("attention\nx dense", lambda row: _times(row.attention_speedup)),
        _Column("decode\nx dense", lambda row: _times(row.decode_speedup)),
        _Column("page\nx dense", lambda row: _times(row.page_speedup)),
        _Column("tokens\n/s", lambda row: _number(row.tokens_per_second), is_essential=False),
        _Column("s per\npage", lambda row: _number(row.times.whole_ms / 1000)),
    ]


def _columns(outcome: Outcome, width: int) -> list[_Column]:
    """Where the table is not to be wider than `width`, it leaves some figures to --json."""
    columns = _all_columns(outcome)
    if _width_of(_filled(columns, outcome)) <= width:
        return columns
    return [one for one in columns if one.is_essential]


def whole_width(outcome: Outcome) -> int:
    """Columns of a screen that the table takes with all its figures."""
    return _width_of(_filled(_all_columns(outcome), outcome))


def _width_of(table: Table) -> int:
    return Console(width=UNLIMITED).measure(table).maximum


def _filled(columns: Sequence[_Column], outcome: Outcome) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("\nmethod", no_wrap=True)
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    for row in outcome.rows:
        table.add_row(row.method, *(column.cell(row) for column in columns))
    return table


def _legend(columns: Sequence[_Column]) -> Table:
    """The terms that are in the table's headings."""
    headings = [" ".join(one.heading.replace("-\n", "").split()) for one in columns]
    grid = Table.grid(padding=(0, 2, 0, 0))
    for term, meaning in LEGEND:
        if any(part in heading for part in term.split(", ") for heading in headings):
            grid.add_row(Text(term, style="dim bold"), Text(meaning, style="dim"))
    return grid


def _kept(row: Row, value: float | None) -> Text:
    if value is None or row.keep is None or row.method == "dense":
        return Text(_percent(value))
    style = "green" if value >= GOOD else "yellow" if value >= FAIR else "bold red"
    return Text(_percent(value), style=style)


def _keep(row: Row) -> str:
    return NONE if row.keep is None else f"{row.keep:g}"


def _attended(row: Row) -> str:
    shares = (row.keep_sparse_layers, row.keep_all_layers, row.kv_share)
    if None in shares:
        return NONE
    return " / ".join(f"{100 * share:.0f}" for share in shares if share is not None) + " %"


def _percent(value: float | None, digits: int = 1) -> str:
    return NONE if value is None else f"{value:.{digits}%}"


def _times(value: Quotient | None) -> str:
    if value is None:
        return NONE
    half = (value.high - value.low) / 2
    return f"{value.median:.2f} ±{half:.2f}" if half else f"{value.median:.2f}"


def _number(value: float | None) -> str:
    """Two or three figures."""
    if value is None:
        return NONE
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _parts(outcome: Outcome) -> str:
    """Where a dense page's time goes, and the most memory taken."""
    times = outcome.dense.times
    parts = " + ".join(
        f"{name} {ms / times.whole_ms:.0%}"
        for name, ms in (
            ("prepare", times.prepare_ms),
            ("prefill", times.prefill_ms),
            ("decode", times.decode_ms),
            ("rest", times.rest_ms),
        )
    )
    memory = outcome.peak_memory_bytes
    peak = f"; peak memory {memory / 1e6:,.0f} MB" if memory else ""
    attention = times.attention_ms / times.whole_ms
    whole = _number(times.whole_ms / 1000)
    return f"dense page {whole} s = {parts} (attention {attention:.0%} of it all){peak}"


def _doubts(outcome: Outcome) -> list[str]:
    """What a reader should know before believing the times."""
    if outcome.rounds == 1:
        return ["Read once only, so the spread of the times is unknown; --repeat 5 tells it."]
    quotients = [row.page_speedup for row in outcome.rows if row.page_speedup]
    widest = max((one.high - one.low) / 2 / one.median for one in quotients)
    if widest <= STEADY:
        return []
    return [
        f"The times spread by up to ±{widest:.0%}: the machine was busy. Accuracy stands, but "
        "measure speed on a quiet one."
    ]


def _verdict(outcome: Outcome) -> str:
    """The answer in a sentence, for the smallest keep of the first method."""
    pruned = [row for row in outcome.rows if row.keep is not None and row.keep < 1]
    if not pruned:
        return "Attention was not pruned; --keep with a share below 1 does that."
    first = pruned[0].method
    row = min((one for one in pruned if one.method == first), key=attrgetter("keep"))
    if row.kept is None:
        return "Dense attention read nothing, so nothing can be said."
    unit = "accuracy" if row.accuracy_kept is not None else "text"
    gains = [
        f"{name} {value.median:.1f} times as fast"
        for name, value in (
            ("attention", row.attention_speedup),
            ("decoding", row.decode_speedup),
            ("the whole page", row.page_speedup),
        )
        if value
    ]
    return (
        f"{row.method} at keep {row.keep:g} keeps {row.kept:.1%} of the dense {unit}: "
        f"{', '.join(gains)}."
    )

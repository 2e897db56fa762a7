"""The picture of a bench: what is kept and what is saved, over keep, one line per method.

Knows matplotlib, which is an extra, and the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastocr_cli.bench.figures import Quotient, Row
from fastocr_cli.bench.outcome import Outcome
from fastocr_cli.bench.table import count, coverage
from fastocr_cli.figure import new_figure, save

TARGET_KEEP, TARGET_KEPT = 0.05, 0.98
COLOURS = ("#0b6e99", "#c4512d", "#3d8b5f", "#8461b5", "#b8892b", "#5b6b7a", "#b3497f", "#3f4db3")


def draw_outcome(outcome: Outcome, path: Path) -> Path:
    """Left: accuracy kept (or, without a truth, agreement with dense). Right: times faster."""
    figure = new_figure(9.6, 4.2)
    left, right = figure.subplots(1, 2)
    lines = _lines(outcome.rows)
    coloured = list(zip(_colours(len(lines)), lines, strict=True))
    for colour, (method, rows) in reversed(coloured):  # the first method lies on top
        _draw_accuracy(left, method, rows, colour)
        _draw_speed(right, rows, colour)
    _frame_accuracy(left, outcome)
    _frame_speed(right)
    keeps = sorted({row.keep for _, rows in lines for row in rows if row.keep}, reverse=True)
    for axis in (left, right):
        _frame(axis, keeps)
    handles, labels = left.get_legend_handles_labels()
    left.legend(handles[::-1], labels[::-1], loc="lower left", frameon=False)
    figure.suptitle(_title(outcome), fontsize=9, color="#555", x=0.01, ha="left")
    return save(figure, path)


def _lines(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """By method its rows, dense first; keep 0 has no place on a logarithmic axis."""
    dense = next(row for row in rows if row.method == "dense")
    pruned = [row for row in rows if row.keep and row.keep < 1]
    methods = dict.fromkeys(row.method for row in pruned)
    return [
        (method, [dense, *sorted((r for r in pruned if r.method == method), key=_by_keep)])
        for method in methods
    ] or [("dense", [dense])]


def _by_keep(row: Row) -> float:
    return -(row.keep or 0)


def _colours(count: int) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(count)]


def _draw_accuracy(axis: Any, method: str, rows: Sequence[Row], colour: str) -> None:
    known = [row for row in rows if row.kept is not None]
    keeps, kept = [row.keep for row in known], [100 * (row.kept or 0) for row in known]
    axis.plot(keeps, kept, "o-", color=colour, label=method, linewidth=2, markersize=5, zorder=3)


def _draw_speed(axis: Any, rows: Sequence[Row], colour: str) -> None:
    styles = (("attention_speedup", "o-", 1.0), ("page_speedup", "s:", 0.75))
    for name, style, alpha in styles:
        quotients: list[tuple[float, Quotient]] = [
            (row.keep or 0, getattr(row, name)) for row in rows if getattr(row, name)
        ]
        if not quotients:
            continue
        keeps = [keep for keep, _ in quotients]
        middle = [one.median for _, one in quotients]
        axis.plot(keeps, middle, style, color=colour, alpha=alpha, linewidth=2, markersize=5)
        low, high = [one.low for _, one in quotients], [one.high for _, one in quotients]
        axis.fill_between(keeps, low, high, color=colour, alpha=0.15, linewidth=0)


def _frame_accuracy(axis: Any, outcome: Outcome) -> None:
    has_truth = outcome.dense.accuracy_kept is not None
    axis.set_title(
        "Accuracy kept, % of dense" if has_truth else "Same text as dense, %",
        loc="left", fontsize=11, fontweight="bold",
    )  # fmt: skip
    axis.set_ylim(0, 108)
    at = TARGET_KEEP, 100 * TARGET_KEPT
    axis.plot(*at, marker="*", markersize=17, color="#f2b705", markeredgecolor="#6b5200", zorder=2)
    axis.annotate(
        f"{TARGET_KEPT:.0%} at keep {TARGET_KEEP:g}", at, (0, -24), textcoords="offset points",
        ha="center", fontsize=8, color="#6b5200",
    )  # fmt: skip


def _frame_speed(axis: Any) -> None:
    axis.set_title("Times faster than dense", loc="left", fontsize=11, fontweight="bold")
    axis.axhline(1, color="#999", linewidth=1, zorder=1)
    axis.set_ylim(bottom=0)
    from matplotlib.lines import Line2D

    kinds = [
        Line2D([], [], color="#555", linestyle="-", marker="o", label="attention"),
        Line2D([], [], color="#555", linestyle=":", marker="s", label="whole page"),
    ]
    axis.legend(handles=kinds, loc="upper left", frameon=False)


def _frame(axis: Any, keeps: Sequence[float]) -> None:
    axis.set_xscale("log")
    marks = sorted({*keeps, TARGET_KEEP, 1.0})
    axis.set_xticks(marks, [f"{mark:g}" for mark in marks])
    axis.set_xticks([], minor=True)
    axis.set_xlim(1.15, min(marks) / 1.5)  # less and less is kept, so from right to left
    axis.set_xlabel("keep: share of the visual tokens attended in pruned layers", fontsize=9)
    axis.grid(color="#e4e4e4", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def _title(outcome: Outcome) -> str:
    pages = sum(len(one.pages) for one in outcome.documents)
    return (
        f"{Path(outcome.model).name}{outcome.reads}, {count(pages, 'page')}{coverage(outcome)}, "
        f"{outcome.device}, {outcome.dtype}, "
        f"{count(outcome.threads, 'thread')}, batch {outcome.batch_size}; "
        f"band: spread of {count(outcome.rounds, 'round')}"
    )

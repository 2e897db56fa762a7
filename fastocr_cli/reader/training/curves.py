"""Learning curves of a training log as a picture.

python -m fastocr_cli.reader.training.curves RUN/log.jsonl curves.png
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

CURVES = {
    "reading_accuracy": "tower: character of each column",
    "gaze_next_accuracy": "gaze: cell of the next character",
    "character_accuracy": "decoder: next character",
    "place_accuracy": "decoder: exact cell of the next word",
}


def draw(
    log: Annotated[Path, typer.Argument(help="log.jsonl of a run.")],
    picture: Annotated[Path, typer.Argument(help="PNG or SVG to write.")],
) -> None:
    """Draw accuracies over characters seen; phases are shaded."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    records = [orjson.loads(line) for line in log.read_bytes().splitlines()]
    figure, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    for name, label in CURVES.items():
        known = [record for record in records if name in record]
        axes.plot([r["characters"] / 1e6 for r in known], [r[name] for r in known], label=label)
    for i, (phase, members) in enumerate(groupby(records, key=lambda record: record["phase"])):
        _shade(axes, phase, list(members), i)
    axes.set(xlabel="million tokens seen", ylabel="share right, on noisy training crops")
    axes.set_ylim(0, 1)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(picture, dpi=130)


def _shade(axes: Any, phase: str, records: list[dict[str, Any]], number: int) -> None:
    start, stop = (records[i]["characters"] / 1e6 for i in (0, -1))
    axes.axvspan(start, stop, color="black", alpha=0.03 + 0.04 * (number % 2))
    axes.text((start + stop) / 2, 1.01, phase, ha="center", va="bottom", fontsize=9)


if __name__ == "__main__":
    typer.run(draw)

"""Make a training run's model the one that ships.

    python -m fastocr_cli.reader.training.export RUN

Weights are stored as float16: half the size, and finer than bfloat16 for weights near 1. The log
goes with them, so that the weights' history can be drawn at any time (`curves.py`).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import torch
import typer

from fastocr_cli.reader.modeling import ReaderForPageReading

WEIGHTS = Path(__file__).parent.parent / "weights"


def export(
    run: Annotated[Path, typer.Argument(help="Folder the training command wrote.")],
    out: Annotated[Path, typer.Option(help="Where the model goes.")] = WEIGHTS,
) -> None:
    """Store a run's model and log as the shipped weights."""
    model = ReaderForPageReading.from_pretrained(run / "model", dtype=torch.float16)
    model.save_pretrained(out)
    shutil.copyfile(run / "log.jsonl", out / "log.jsonl")


if __name__ == "__main__":
    typer.run(export)

"""The mean of two runs' weights, one of which went on from the other.

    python -m fastocr_cli.reader.training.average BEFORE AFTER OUT

What a run learns of new pages it takes in part from old ones; midway between before and after,
most of the one is there and little of the other is gone (M. Wortsman et al., "Robust fine-tuning
of zero-shot models", CVPR 2022).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer

from fastocr_cli.reader.modeling import ReaderForPageReading


def average(
    before: Annotated[Path, typer.Argument(help="Model folder.")],
    after: Annotated[Path, typer.Argument(help="Model folder of the same shape.")],
    out: Annotated[Path, typer.Argument(help="Where the model between them goes.")],
    share: Annotated[float, typer.Option(min=0, max=1, help="Of AFTER.")] = 0.5,
) -> None:
    """Write the weighted mean of two models."""
    model, other = (
        ReaderForPageReading.from_pretrained(folder, dtype=torch.float32)
        for folder in (before, after)
    )
    others = other.state_dict()
    with torch.no_grad():  # parameters, for a state dict names those that are shared twice
        for name, weights in model.named_parameters():
            weights.lerp_(others[name], share)
    model.save_pretrained(out)


if __name__ == "__main__":
    typer.run(average)

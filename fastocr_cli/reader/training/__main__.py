"""`python -m fastocr_cli.reader.training OUT --pdfs FOLDER --phase tower:400 --phase strips:200`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch.multiprocessing
import typer

from fastocr_cli.reader.training.batches import PHASES
from fastocr_cli.reader.training.loop import Plan, run_rank


def train(
    out: Annotated[Path, typer.Argument(help="Folder for checkpoint, log and model.")],
    phase: Annotated[
        list[str], typer.Option(help=f"NAME:BLOCKS, in order; names: {', '.join(PHASES)}.")
    ],
    pdfs: Annotated[Path | None, typer.Option(help="Folder of typeset PDFs with text.")] = None,
    rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 1e-3,
    anneal: Annotated[float, typer.Option(help="Share of the blocks over which it falls.")] = 0.3,
    clean: Annotated[float, typer.Option(help="Share of crops without noise or skew.")] = 0.33,
    seed: Annotated[int, typer.Option(help="Seed of weights and data.")] = 0,
    ranks: Annotated[int, typer.Option(help="Processes that average gradients.")] = 2,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    initial: Annotated[Path | None, typer.Option(help="Model folder to start from.")] = None,
    freeze: Annotated[list[str] | None, typer.Option(help="Module that stays as it is.")] = None,
    resume: Annotated[bool, typer.Option(help="Go on from OUT's checkpoint.")] = False,
    minutes: Annotated[float, typer.Option(help="Stop, resumably, after that time.")] = 1e9,
) -> None:
    """Train the embedded reader."""
    phases = tuple((name, int(blocks)) for name, blocks in (p.split(":") for p in phase))
    unknown = {name for name, _ in phases} - PHASES.keys()
    if unknown:
        raise typer.BadParameter(f"no such phase: {', '.join(sorted(unknown))}")
    out.mkdir(parents=True, exist_ok=True)
    plan = Plan(
        *(out, pdfs, phases, rate, anneal, clean),
        seed=seed,
        ranks=ranks,
        device=device,
        initial=initial,
        frozen=tuple(freeze or ()),
        resume=resume,
        minutes=minutes,
    )
    torch.multiprocessing.spawn(run_rank, args=(plan,), nprocs=ranks)


if __name__ == "__main__":
    typer.run(train)

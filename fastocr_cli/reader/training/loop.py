"""The training loop: ranks, schedule, checkpoints. Knows no data and no loss formula."""

from __future__ import annotations

import json
import math
import os
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pymupdf
import torch
import torch.distributed as dist
from torch import Tensor

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.configuration import ReaderConfig
from fastocr_cli.reader.modeling import ReaderForPageReading, sinusoid
from fastocr_cli.reader.training.batches import PHASES, Batch, Sources, block_batches
from fastocr_cli.reader.training.fonts import training_faces
from fastocr_cli.reader.training.found import documents
from fastocr_cli.reader.training.losses import (
    ATTENTION,
    joint_losses,
    register_attention,
    tower_losses,
)
from fastocr_cli.reader.training.muon import Muon


@dataclass(frozen=True)
class Plan:
    """One training run.

    phases: (name, blocks) in order. rate: peak learning rate; it is held, then falls to nearly
    nothing over the last `anneal` share of the blocks. frozen: modules that stay as they are, whose
    backward pass is saved. minutes: stop (resumably) after that time.
    """

    out: Path
    pdfs: Path | None
    phases: tuple[tuple[str, int], ...]
    rate: float = 1e-3
    anneal: float = 0.3
    clean: float = 0.33
    warm_up_steps: int = 30
    frozen: tuple[str, ...] = ()
    seed: int = 0
    ranks: int = 2
    device: str = "cpu"
    initial: Path | None = None
    resume: bool = False
    minutes: float = math.inf

    @property
    def blocks(self) -> int:
        return sum(count for _, count in self.phases)

    def phase_of(self, block: int) -> str:
        for name, count in self.phases:
            if block < count:
                return name
            block -= count
        raise IndexError(f"the plan has {self.blocks} blocks")

    def rate_at(self, block: int, step: int) -> float:
        warm = min(1.0, (step + 1) / self.warm_up_steps)
        left = (self.blocks - block) / max(1.0, self.anneal * self.blocks)
        fall = 1.0 if left >= 1 else 0.5 * (1 - math.cos(math.pi * left))
        return self.rate * warm * max(0.01, fall)


def run_rank(rank: int, plan: Plan) -> None:
    """Train as one of `plan.ranks` processes that average their gradients."""
    torch.set_num_threads(1)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    dist.init_process_group("gloo", rank=rank, world_size=plan.ranks)
    try:
        Trainer(rank, plan).run()
    finally:
        dist.destroy_process_group()


class Trainer:
    """One rank's model, optimiser and clock."""

    def __init__(self, rank: int, plan: Plan) -> None:
        torch.manual_seed(plan.seed)
        register_attention()
        self.rank, self.plan = rank, plan
        self.model = new_model(plan.initial).to(plan.device).train()
        self.model.decoder.config._attn_implementation = ATTENTION
        for name in plan.frozen:
            self.model.get_submodule(name).requires_grad_(False)
        self.parameters = [w for w in self.model.parameters() if w.requires_grad]
        hidden = (self.model.decoder.layers, self.model.tower.stages)
        matrices = [w for part in hidden for w in part.parameters() if w.ndim > 1]
        rest = [w for w in self.parameters if not any(w is matrix for matrix in matrices)]
        self.optimizers: list[torch.optim.Optimizer] = [
            Muon(matrices, lr=plan.rate, weight_decay=0.02),
            torch.optim.AdamW(rest, lr=plan.rate, betas=(0.9, 0.98), weight_decay=0.02),
        ]
        kind = plan.device.split(":")[0]
        self.autocast = torch.autocast(kind, torch.bfloat16, enabled=has_fast_bfloat16(kind))
        self.block = self.step = self.characters = 0
        if plan.resume:
            self._load(torch.load(self._checkpoint, map_location=plan.device))
        paths = documents(plan.pdfs, held_out=False) if plan.pdfs else ()
        self.sources = Sources(training_faces(), paths, clean=plan.clean)
        self.sums: dict[str, float] = defaultdict(float)
        self.log_steps = 0

    @property
    def _checkpoint(self) -> Path:
        return self.plan.out / "checkpoint.pt"

    @property
    def _records(self) -> Path:
        return self.plan.out / "log.jsonl"

    def run(self) -> None:
        started = saved = time.monotonic()
        while self.block < self.plan.blocks:
            phase = self.plan.phase_of(self.block)
            seed = f"{self.plan.seed}/{self.rank}/{self.block}"
            for batch in block_batches(PHASES[phase], self.sources, seed):
                self._step(phase, batch.to(self.plan.device))
            pymupdf.TOOLS.store_shrink(100)  # fonts of pages gone by
            self.block += 1
            now = time.monotonic()
            if self.block % 10 == 0:
                self._log(phase, (now - started) / 60)
            is_over = self._agree((now - started) / 60 > self.plan.minutes)
            if is_over or self._agree(now - saved > 240):
                self._save()
                saved = now
            if is_over:
                return
        self._save()

    def _agree(self, wish: bool) -> bool:
        """Rank 0's clock decides for all."""
        flag = torch.tensor([float(wish)])
        dist.broadcast(flag, 0)
        return bool(flag.item())

    def _step(self, phase: str, batch: Batch) -> None:
        rate = self.plan.rate_at(self.block, self.step)
        for group in (g for optimizer in self.optimizers for g in optimizer.param_groups):
            group["lr"] = rate
        with self.autocast:
            if PHASES[phase].is_tower_only:
                losses = tower_losses(self.model, batch)
            else:
                losses = joint_losses(self.model, batch)
        self.model.zero_grad(set_to_none=True)
        losses["total"].backward()
        average_gradients(self.parameters)
        for optimizer in self.optimizers:
            optimizer.step()
        self.step += 1
        self.characters += self.plan.ranks * int((batch.tokens != v.PAD).sum())
        self.log_steps += 1
        for name, value in losses.items():
            self.sums[name] += float(value.detach())

    def _log(self, phase: str, minutes: float) -> None:
        if self.rank == 0:
            record: dict[str, Any] = {
                "minutes": round(minutes, 1),
                "phase": phase,
                "block": self.block,
                "step": self.step,
                "characters": self.characters,
                "rate": self.plan.rate_at(self.block, self.step),
            }
            record |= {k: round(s / self.log_steps, 4) for k, s in self.sums.items()}
            with self._records.open("a") as file:
                file.write(json.dumps(record) + "\n")
        self.sums.clear()
        self.log_steps = 0

    def _save(self) -> None:
        if self.rank:
            return
        state = {
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "counters": (self.block, self.step, self.characters),
            "plan": {k: str(x) for k, x in asdict(self.plan).items()},
        }
        temporary = self._checkpoint.with_suffix(".tmp")
        torch.save(state, temporary)
        temporary.replace(self._checkpoint)
        self.model.save_pretrained(self.plan.out / "model")

    def _load(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.block, self.step, self.characters = state["counters"]
        if self.rank == 0 and self._records.exists():
            kept = [
                line
                for line in self._records.read_text().splitlines(keepends=True)
                if json.loads(line)["block"] <= self.block
            ]  # what came after the checkpoint is done again
            self._records.write_text("".join(kept))


def has_fast_bfloat16(device: str) -> bool:
    """Whether bf16 arithmetic pays there: a processor that only emulates it takes a hundred times
    as long as in fp32."""
    return device != "cpu" or torch.cpu._is_avx512_bf16_supported()


def average_gradients(parameters: list[torch.nn.Parameter], largest_norm: float = 1.0) -> None:
    """Average over ranks and clip, as one flat vector: one message a step."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    flat *= torch.clamp(largest_norm / (flat.norm() + 1e-6), max=1.0)
    for gradient, piece in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(piece.view_as(gradient))


def new_model(initial: Path | None) -> ReaderForPageReading:
    """Fresh weights, or those of a folder."""
    if initial is not None:
        return ReaderForPageReading.from_pretrained(initial, dtype=torch.float32)
    model = ReaderForPageReading(ReaderConfig())
    set_place_embeddings(model.decoder.embed_tokens.weight.data)
    return model


def set_place_embeddings(weight: Tensor, scale: float = 0.1) -> None:
    """Start the row and column tokens as the very features visual tokens carry for their places,
    so that a place can be looked up, and written down, from the first step."""
    half = weight.shape[1] // 2
    rows, columns = torch.arange(v.MAX_ROWS), torch.arange(v.MAX_COLUMNS)
    weight[v.FIRST_ROW : v.FIRST_ROW + v.MAX_ROWS, :half] += scale * sinusoid(rows, half)
    weight[v.FIRST_COLUMN : v.FIRST_ROW, half:] += scale * sinusoid(columns, half)

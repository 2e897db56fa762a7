"""What the reader is taught: to read every column, to look where it reads, to write it down."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import NOTHING_WEIGHT
from fastocr_cli.reader.modeling import ReaderForPageReading
from fastocr_cli.reader.training.batches import Batch
from fastocr_cli.reader.training.handicaps import (
    NarrowedView,
    as_misread,
    is_character,
    narrowed_view,
)
from fastocr_cli.reader.training.samples import IGNORE

ATTENTION = "fastocr_reader_training"
GAZE_WEIGHT = 0.3
START_WEIGHT = 1.0
EDGE_WEIGHT = 0.5
DIFFERENT_WEIGHT = 0.2
_KINDS = slice(min(v.LineKind), max(v.LineKind) + 1)


@dataclass
class GazeRecorder:
    """Collects, during one forward pass, the attention logits of the taught heads.

    logits: layer -> [B, heads, T, N], from text positions to visual ones.
    """

    layers: tuple[int, ...]
    heads: int
    visual: int
    logits: dict[int, Tensor] = field(default_factory=dict)

    def see(self, layer: int, query: Tensor, key: Tensor, scaling: float) -> None:
        if layer in self.layers:
            group = query.shape[1] // key.shape[1]
            keys = key[:, : -(-self.heads // group), : self.visual].repeat_interleave(group, 1)
            looking = query[:, : self.heads, self.visual :]
            self.logits[layer] = looking @ keys[:, : self.heads].transpose(-1, -2) * scaling


def recording_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    gaze: GazeRecorder | None = None,
    view: NarrowedView | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """SDPA over what each position may see (without a view: what stands before it; crops are padded
    at the end only) that also shows the gaze recorder the queries and keys."""
    if gaze is not None:
        gaze.see(module.layer_idx, query, key, scaling)
    mask = None if view is None else view.of(module.layer_idx)
    out = F.scaled_dot_product_attention(
        query, key, value, mask, is_causal=mask is None, scale=scaling, enable_gqa=True
    )
    return out.transpose(1, 2).contiguous(), None


def register_attention() -> None:
    AttentionInterface.register(ATTENTION, recording_attention)
    AttentionMaskInterface.register(ATTENTION, sdpa_mask)


def tower_losses(model: ReaderForPageReading, batch: Batch) -> dict[str, Tensor]:
    features = model.tower(batch.pixels).flatten(1, 2)
    losses = seeing_losses(model, features, batch)
    return losses | {"total": losses["seeing"]}


def seeing_losses(model: ReaderForPageReading, features: Tensor, batch: Batch) -> dict[str, Tensor]:
    """Those of the tower's own heads, from features [B, N, hidden]; `seeing` is their sum."""
    losses = reading_loss(model.column_logits(features), batch.columns)
    losses |= edge_loss(model.edge_head(features), batch)
    losses |= start_loss(model.start_head(features), batch)
    seeing = losses["reading"] + EDGE_WEIGHT * losses["edges"] + START_WEIGHT * losses["starts"]
    return losses | {"seeing": seeing}


def reading_loss(logits: Tensor, columns: Tensor) -> dict[str, Tensor]:
    """Dense reading: logits [B, N, 8, C] against the character of every 2 px column."""
    flat, target = logits.float().flatten(0, 2), columns.flatten()
    weight = torch.ones(flat.shape[-1], device=flat.device)
    weight[0] = NOTHING_WEIGHT
    inked = target > 0
    right = (flat.argmax(-1) == target)[inked]
    return {
        "reading": F.cross_entropy(flat, target, weight, ignore_index=IGNORE),
        "reading_accuracy": _share(right),
    }


def edge_loss(logits: Tensor, batch: Batch) -> dict[str, Tensor]:
    """Where characters begin among inked columns: logits [B, N, 8] against `Sample.edges`. It tells
    most where the column before shows the same character, for only an edge tells ll from l."""
    inked = batch.edges != IGNORE
    shown = batch.columns.flatten(1)
    is_same = (shown == shown.roll(1, 1)).view_as(batch.columns)[inked]
    flat, target = logits.float()[inked], batch.edges[inked].float()
    weight = torch.where(is_same, 1.0, DIFFERENT_WEIGHT)
    right = ((flat > 0) == (target > 0.5)).float()
    loss = F.binary_cross_entropy_with_logits(flat, target, weight, reduction="sum")
    return {
        "edges": loss / weight.sum().clamp(min=1),
        "edge_accuracy": ((right * weight).sum() / weight.sum().clamp(min=1)).detach(),
    }


def joint_losses(model: ReaderForPageReading, batch: Batch) -> dict[str, Tensor]:
    """Seeing, gaze and next-token losses of one batch; `total` is what is minimised."""
    features, visual = model.visual_tokens(batch.pixels, batch.origins)
    start = torch.full_like(batch.tokens[:, :1], v.BOS)
    written = as_misread(torch.cat([start, batch.tokens[:, :-1]], dim=1))
    embedded = model.embed_text(written).to(visual.dtype)
    gaze = GazeRecorder(model.config.gaze_layers, model.config.gaze_heads, visual.shape[1])
    hidden = model.decoder(
        inputs_embeds=torch.cat([visual, embedded], dim=1),
        position_ids=batch.position_ids,
        use_cache=False,
        gaze=gaze,
        view=narrowed_view(batch, visual.shape[1], model.config.gaze_layers[-1]),
    ).last_hidden_state[:, visual.shape[1] :]
    losses = seeing_losses(model, features, batch)
    losses |= token_loss(model.lm_head(hidden), batch)
    current, following = model.config.gaze_layers
    seen = torch.roll(batch.cells, 1, dims=1)
    seen[:, 0] = IGNORE
    losses["gaze_current"], losses["gaze_current_accuracy"] = gaze_loss(gaze.logits[current], seen)
    losses["gaze_next"], losses["gaze_next_accuracy"] = gaze_loss(
        gaze.logits[following], batch.cells
    )
    losses["total"] = (
        losses["tokens"]
        + losses["seeing"]
        + GAZE_WEIGHT * (losses["gaze_current"] + losses["gaze_next"])
    )
    return losses


def start_loss(logits: Tensor, batch: Batch) -> dict[str, Tensor]:
    """What begins in each cell: logits [B, N, 16] against `Sample.starts`. Where line kinds were
    only guessed, any line counts as right."""
    log_probs = logits.float().log_softmax(-1)
    target = batch.starts
    loss = -log_probs.gather(-1, target.clamp(min=0)[..., None]).squeeze(-1)
    is_line = target >= _KINDS.start
    is_guessed = is_line & ~batch.is_kind_known[:, None]
    loss = torch.where(is_guessed, -log_probs[..., _KINDS].logsumexp(-1), loss)
    weight = torch.where(target == 0, NOTHING_WEIGHT, 1.0) * (target != IGNORE)
    found = log_probs[..., _KINDS].logsumexp(-1) > math.log(0.5)
    return {
        "starts": (loss * weight).sum() / weight.sum(),
        "line_start_recall": _share(found[is_line]),
    }


def gaze_loss(logits: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy of taught attention [B, heads, T, N] with the cell to look at [B, T], and how
    often the strongest cell is the right one."""
    target = cells[:, None].expand(-1, logits.shape[1], -1).flatten()
    flat = logits.float().flatten(0, 2)
    known = target != IGNORE
    loss = F.cross_entropy(flat, target, ignore_index=IGNORE, reduction="sum")
    right = (flat.argmax(-1) == target)[known]
    return loss / known.sum().clamp(min=1), _share(right)


def token_loss(logits: Tensor, batch: Batch) -> dict[str, Tensor]:
    """Next-token loss. Where line kinds were only guessed, any kind counts as right."""
    log_probs = logits.float().log_softmax(-1)
    target = batch.tokens
    loss = -log_probs.gather(-1, target[..., None]).squeeze(-1)
    is_kind = (target >= _KINDS.start) & (target < _KINDS.stop)
    is_guessed = is_kind & ~batch.is_kind_known[:, None]
    loss = torch.where(is_guessed, -log_probs[..., _KINDS].logsumexp(-1), loss)
    real = target != v.PAD
    right = log_probs.argmax(-1) == target
    return {
        "tokens": loss[real].mean(),
        "token_accuracy": _share(right[real]),
        "character_accuracy": _share(right[is_character(target)]),
        "place_accuracy": _share(right[target >= v.FIRST_COLUMN]),
    }


def _share(right: Tensor) -> Tensor:
    """Share of what is right, all of it where there is nothing to get wrong."""
    return right.float().mean().detach() if len(right) else right.new_ones((), dtype=torch.float32)

"""Pieces of a tiny checkpoint: a byte-level tokenizer, random weights that speak up, files on disk.

Knows no model family. The families are in `families.py`; each writes a folder that looks like the
hub's (config.json, safetensors, tokenizer files, preprocessor_config.json), so that the real
loading path is exercised without a download.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from PIL import Image, ImageDraw
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import nn
from transformers import PreTrainedTokenizerFast


def recent(kind: str) -> Any:
    """transformers' module for a kind of model; skips the test where it is too old to have it."""
    reason = f"transformers {transformers.__version__} has no {kind}"
    return pytest.importorskip(f"transformers.models.{kind}", reason=reason)


def needs_image_processor(name: str) -> None:
    """Skips the test where transformers gives its Pillow class only beside torchvision."""
    hidden = getattr(getattr(transformers, f"{name}ImageProcessorPil"), "_backends", ())
    if "torchvision" in hidden:
        pytest.skip(f"transformers {transformers.__version__} wants torchvision for {name}")


def byte_tokenizer(
    specials: Sequence[str], *, named: Mapping[str, str] | None = None, **settings: Any
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer without merges: 256 byte tokens, then `specials` in order.

    named: attribute name -> special token, as `image_token` in LightOnOCR's tokenizer_config.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={char: i for i, char in enumerate(alphabet)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    return PreTrainedTokenizerFast(
        tokenizer_object=core, extra_special_tokens=dict(named or {}), **settings
    )


@torch.no_grad()
def randomise(model: nn.Module, seed: int = 0) -> nn.Module:
    """Weights of a size at which every part of the model matters and logits have no near ties.

    The library's own initialisation (0.02, or 1e-10 in SAM) would make greedy decoding a coin
    toss between almost equal logits, and would hide a picture that never reached the decoder.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
        if weight.ndim >= 2:
            fan_in = weight.shape[-1] if weight.ndim == 2 else math.prod(weight.shape[1:])
            is_table = "embed" in name or "rel_pos" in name
            weight.copy_(noise * (0.5 if is_table else 1.5 / math.sqrt(fan_in)))
        elif "norm" in name and name.endswith("weight"):
            weight.copy_(1 + 0.1 * noise)
        elif name.endswith("bias"):
            weight.copy_(0.1 * noise)
        else:  # learned vectors: row ends, separators, class tokens
            weight.copy_(noise)
    return model


def write_checkpoint(
    folder: Path,
    model: nn.Module,
    tokenizer: PreTrainedTokenizerFast,
    preprocessor: Mapping[str, Any] | None = None,
    processor: Mapping[str, Any] | None = None,
) -> Path:
    """Everything `from_pretrained` looks for, written to `folder`."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for name, content in (("preprocessor", preprocessor), ("processor", processor)):
        if content is not None:
            (folder / f"{name}_config.json").write_text(json.dumps(content))
    return folder


def page(width: int, height: int, seed: int = 0) -> Image.Image:
    """A white page with coloured boxes and bars: no two regions alike, so places matter."""
    generator = torch.Generator().manual_seed(seed)
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    for _ in range(40):
        x, y, w, h = (torch.rand(4, generator=generator) * 0.5).tolist()
        box = (2 * x * width, 2 * y * height, (2 * x + w) * width, (2 * y + 0.3 * h) * height)
        draw.rectangle(box, fill=tuple(torch.randint(0, 256, (3,), generator=generator).tolist()))
    return image

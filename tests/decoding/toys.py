"""Small models for the engine's tests: a stub that writes a given text, and a tiny real decoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from fastocr_cli.decoding import attention
from fastocr_cli.models.base import LoadRequest, ModelAdapter, PromptInputs, VisualLayout


class ToyAdapter(ModelAdapter):
    """A text model behind the adapter's interface; `detokenize` writes one letter per token.

    has_plain_head: whether the engine may write a small decoder's step out (`fused.py`).
    """

    def __init__(
        self, model: Any, stop_token_ids: Sequence[int] = (), *, has_plain_head: bool = False
    ):
        self.model = model
        self.has_plain_head = has_plain_head  # type: ignore[misc]
        self.stop_token_ids = frozenset(stop_token_ids)
        self.name, self.revision, self.prompt = "toy", None, ""

    @classmethod
    def load(cls, request: LoadRequest, config: Any) -> ToyAdapter:
        raise NotImplementedError

    def prepare(self, image: Image.Image) -> PromptInputs:
        raise NotImplementedError

    def detokenize(self, token_ids: Sequence[int]) -> str:
        return "".join(chr(ord("a") + token % 26) for token in token_ids)


def toy_llama(
    vocab_size: int = 97, *, seed: int = 0, layers: int = 3, gain: float = 2.0, **changes: Any
) -> LlamaForCausalLM:
    """A random decoder, 4 query heads over 2 KV heads, on our attention function."""
    attention.install()
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=2048,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
        attn_implementation="fastocr",
        **changes,
    )
    model = LlamaForCausalLM(config).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                noise = torch.randn(weight.shape, generator=generator)
                weight.copy_(noise * gain / weight.shape[1] ** 0.5)
    return model


def prompt(token_ids: Sequence[int], *, cap: int = 1000, visual: int = 0) -> PromptInputs:
    """Plain token ids; the first `visual` of them count as patches in one row."""
    layout = (
        VisualLayout.raster(torch.arange(visual), 1, visual) if visual else VisualLayout.empty()
    )
    return PromptInputs(torch.tensor([list(token_ids)]), {}, layout, cap)


def random_prompts(
    lengths: Sequence[int], vocab_size: int = 97, **settings: Any
) -> list[PromptInputs]:
    generator = torch.Generator().manual_seed(1)
    return [
        prompt(torch.randint(0, vocab_size, (length,), generator=generator).tolist(), **settings)
        for length in lengths
    ]


class SuccessorModel(torch.nn.Module):
    """Follows a table: after token t comes successors[t], whatever was before.

    Only the logits are made up; attention and cache work as in a real one-layer decoder.
    """

    def __init__(self, successors: Mapping[int, int], vocab_size: int = 64):
        super().__init__()
        self._inner = toy_llama(vocab_size, layers=1)
        self._table = torch.zeros(vocab_size, dtype=torch.long)
        for token, successor in successors.items():
            self._table[token] = successor
        self.config = self._inner.config
        self.generation_config = SimpleNamespace()
        self.device, self.dtype = torch.device("cpu"), torch.float32

    def get_decoder(self) -> Any:
        return self._inner.model

    def forward(
        self, input_ids: Tensor, position_ids: Tensor | None = None, cache: Any = None, **rest: Any
    ) -> Any:
        self._inner.model(
            inputs_embeds=self._inner.get_input_embeddings()(input_ids),
            position_ids=position_ids,
            cache=cache,
        )
        logits = 10.0 * F.one_hot(self._table[input_ids], len(self._table))
        return SimpleNamespace(logits=logits)

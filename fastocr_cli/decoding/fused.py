"""A small Llama- or Qwen2-type decoder's step written out as a few dozen tensor calls.

In a model of a few million parameters, most of a decode step is the library's Python around each
layer, not arithmetic. This runs the same weights with projections joined and norms folded in; the
layer classes it stands for are listed, everything else takes the model's own forward. Knows
weights and tensors; pages, policies and stopping are somebody else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import LlamaModel, Qwen2Model

from fastocr_cli.decoding.attention import DecodeSession
from fastocr_cli.models.base import ModelAdapter

_DECODERS = (LlamaModel, Qwen2Model)
_MOST_PARAMETERS = 30_000_000
"""Above this the arithmetic dominates, and joined copies of the weights cost memory."""


@dataclass(frozen=True)
class FusedLayer:
    """One layer's weights as [in, out], the norm before them multiplied in.

    qkv: [hidden, (Hq + 2 Hkv) D]; qkv_bias: the same width; out: [Hq D, hidden];
    gate_up: [hidden, 2 inner]; down: [inner, hidden].
    """

    qkv: Tensor
    qkv_bias: Tensor
    out: Tensor
    gate_up: Tensor
    down: Tensor

    @classmethod
    def of(cls, layer: Any) -> FusedLayer:
        attention, mlp = layer.self_attn, layer.mlp
        joined = [attention.q_proj, attention.k_proj, attention.v_proj]
        biases = [
            one.weight.new_zeros(one.out_features) if one.bias is None else one.bias
            for one in joined
        ]
        qkv = torch.cat([one.weight for one in joined])
        gate_up = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])
        return cls(
            _after_norm(qkv, layer.input_layernorm),
            torch.cat(biases),
            attention.o_proj.weight.t().contiguous(),
            _after_norm(gate_up, layer.post_attention_layernorm),
            mlp.down_proj.weight.t().contiguous(),
        )


class FusedDecoder:
    """The decode step of one model; weights are copied when it is built.

    capacity: position ids stay below this.
    """

    def __init__(self, adapter: ModelAdapter, capacity: int):
        decoder, config = adapter.decoder, adapter.decoder_config
        self._layers = [FusedLayer.of(layer) for layer in decoder.layers]
        head = adapter.model.get_output_embeddings()
        self._head = _after_norm(head.weight, decoder.norm)
        first = decoder.layers[0].self_attn
        self._width, self._scale = first.head_dim, first.scaling
        self._query_heads = config.num_attention_heads
        self._rotated = self._query_heads + config.num_key_value_heads
        # x / sqrt(mean(x^2) + eps) = sqrt(n) x / hypot(|x|, sqrt(n eps)); the weights have sqrt(n)
        self._epsilon = torch.tensor((config.hidden_size * config.rms_norm_eps) ** 0.5)
        self._cos, self._sin = _rotary_tables(decoder, capacity)

    @classmethod
    def of(cls, adapter: ModelAdapter, capacity: int) -> FusedDecoder | None:
        """For this adapter's model, or None where the model's own forward should run."""
        return cls(adapter, capacity) if _is_supported(adapter) else None

    def decode(self, hidden: Tensor, positions: Tensor, session: DecodeSession) -> Tensor:
        """Within `session.step()`: logits [B, T, vocabulary]. hidden: the embedded tokens,
        [B * T, hidden]; positions: [B, T]."""
        batch, places = len(positions), positions.reshape(-1, 1)
        rotation = self._cos[places], self._sin[places]
        for index, layer in enumerate(self._layers):
            mixed = self._attend(index, layer, self._normed(hidden), rotation, batch, session)
            hidden = torch.addmm(hidden, mixed, layer.out)
            gate, up = torch.mm(self._normed(hidden), layer.gate_up).chunk(2, dim=1)
            hidden = torch.addmm(hidden, F.silu(gate).mul_(up), layer.down)
        return torch.mm(self._normed(hidden), self._head).unflatten(0, (batch, -1))

    def _normed(self, hidden: Tensor) -> Tensor:
        """[B * T, hidden]; RMS norm short of what `_after_norm` folds into the weights."""
        norm = torch.linalg.vector_norm(hidden, dim=1, keepdim=True)
        return hidden / torch.hypot(norm, self._epsilon)

    def _attend(
        self,
        index: int,
        layer: FusedLayer,
        normed: Tensor,
        rotation: tuple[Tensor, Tensor],
        batch: int,
        session: DecodeSession,
    ) -> Tensor:
        """normed: [B * T, hidden]; rotation: cosines and signed sines, [B * T, 1, D].
        Returns [B * T, Hq D]."""
        heads = torch.addmm(layer.qkv_bias, normed, layer.qkv).unflatten(1, (-1, self._width))
        turned = _rotate(heads[:, : self._rotated], *rotation)
        query, key = turned[:, : self._query_heads], turned[:, self._query_heads :]
        keys, values = session.cache.append(index, key, heads[:, self._rotated :])
        query = query.unflatten(0, (batch, -1))
        return session.attend(index, query, keys, values, self._scale).flatten(2).flatten(0, 1)


def _is_supported(adapter: ModelAdapter) -> bool:
    decoder, config = adapter.decoder, adapter.decoder_config
    return (
        adapter.has_plain_head
        and type(decoder) in _DECODERS
        and adapter.device.type == "cpu"
        and adapter.dtype == torch.float32
        and config.hidden_act == "silu"
        and decoder.rotary_emb.rope_type == "default"
        and not getattr(config, "mlp_bias", False)
        and decoder.layers[0].self_attn.o_proj.bias is None
        and sum(weight.numel() for weight in decoder.parameters()) <= _MOST_PARAMETERS
    )


def _after_norm(weight: Tensor, norm: Any) -> Tensor:
    """weight [out, in] behind an RMS norm: [in, out] with the norm's gain and sqrt(in) inside."""
    return (weight * (norm.weight * weight.shape[1] ** 0.5)).t().contiguous()


def _rotary_tables(decoder: Any, capacity: int) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines of all positions, [capacity, D] each; see `_rotate`."""
    positions = torch.arange(capacity)[None]
    cos, sin = decoder.rotary_emb(decoder.embed_tokens.weight, positions)
    half = sin.shape[-1] // 2
    return cos[0], torch.cat([-sin[0, :, :half], sin[0, :, half:]], dim=1)


def _rotate(x: Tensor, cos: Tensor, signed_sin: Tensor) -> Tensor:
    """x: [B, H, D]; cos, signed_sin: [B, 1, D]. x cos + rotate_half(x) sin, the sign in sin."""
    swapped = x.roll(x.shape[-1] // 2, dims=-1)
    return torch.addcmul(x * cos, swapped, signed_sin)

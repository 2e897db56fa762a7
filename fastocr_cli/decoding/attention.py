"""The one hook into a model: an attention function registered with transformers as "fastocr".

Outside a decode scope it is the library's own SDPA with the model's own mask, so prefill (and the
library's `generate`) behave as if nothing were installed. Inside, the running session answers.
Knows nothing of tokens or model families.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from fastocr_cli.decoding.cache import KVCache
from fastocr_cli.decoding.stopwatch import Stopwatch
from fastocr_cli.errors import UsageError
from fastocr_cli.fixation.dense import dense_attention
from fastocr_cli.fixation.policy import PolicyState

ATTENTION_NAME = "fastocr"

_UNSUPPORTED = ("softcap", "s_aux", "position_bias")
"""Arguments of attention variants that the decode path does not compute."""


class DecodeSession:
    """What attention needs while one batch decodes: its cache, its policy, and a clock.

    windows: by layer index, the width of a sliding window over prompt and text alike; such layers
        already read little, so the policy is not asked.
    """

    def __init__(
        self, cache: KVCache, policy: PolicyState, windows: dict[int, int], clock: Stopwatch
    ):
        self.cache = cache
        self.policy = policy
        self.clock = clock
        self._windows = windows
        self._was_asked = False

    @contextmanager
    def step(self, widths: Sequence[int]) -> Iterator[None]:
        """One decode step: new tokens get slots, and attention asks this session.

        widths: how many tokens of each page count; the others are padded to the longest.
        Raises UsageError if the model's attention did not ask: what it computed is meaningless.
        """
        self.cache.advance(max(widths))
        self.policy.begin_step(self.cache.longest, widths)
        token = _SESSION.set(self)
        try:
            yield
        finally:
            _SESSION.reset(token)
        if not self._was_asked:
            raise UsageError("this model does not use transformers' attention registry")

    def attend(
        self, layer: int, query: Tensor, keys: Tensor, values: Tensor, scale: float
    ) -> Tensor:
        """query: [B, newest, Hq, D]; keys, values: [B, L_max, Hkv, D]. Returns query's shape."""
        self._was_asked = True
        lengths = self.cache.visible(layer)
        with self.clock:
            if query.shape[1] > 1:
                assert layer not in self._windows, "such models get no drafts"
                return self.policy.attend(layer, query, keys, values, lengths, scale)
            query = query[:, 0]
            window = self._windows.get(layer)
            if window is None:
                attended = self.policy.attend(layer, query, keys, values, lengths, scale)
            else:
                attended = dense_attention(
                    query, keys, values, lengths, scale, self.cache.longest, window=window
                )
            return attended[:, None]


_SESSION: ContextVar[DecodeSession | None] = ContextVar("fastocr_decode_session", default=None)


def install() -> None:
    """Make the name "fastocr" known to transformers; calling it again changes nothing."""
    AttentionInterface.register(ATTENTION_NAME, fastocr_attention)
    AttentionMaskInterface.register(ATTENTION_NAME, fastocr_mask)


def fastocr_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """transformers' attention signature; query [B, Hq, T, D], key and value [B, Hkv, L, D].

    Returns [B, T, Hq, D] and no weights. Raises UsageError for attention variants whose extra
    terms the decode path would silently drop.
    """
    session = _SESSION.get()
    if session is None:
        attended, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **kwargs
        )
        return attended, None
    for name in _UNSUPPORTED:
        if kwargs.get(name) is not None:
            raise UsageError(f"{type(module).__name__} needs '{name}', which fastocr cannot decode")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    layer: int = module.layer_idx  # type: ignore[assignment]
    by_token = [states.transpose(1, 2) for states in (query, key, value)]
    return session.attend(layer, by_token[0], by_token[1], by_token[2], scale), None


def fastocr_mask(**kwargs: Any) -> Tensor | None:
    """The library's own SDPA mask at prefill; none at decode, where the session knows lengths."""
    if _SESSION.get() is not None:
        return None
    mask: Tensor | None = sdpa_mask(**kwargs)
    return mask

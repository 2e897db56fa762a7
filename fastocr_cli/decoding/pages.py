"""One page while it is being generated: its tokens, its limits, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fastocr_cli.decoding.ngrams import NgramBan
from fastocr_cli.decoding.shape import DecoderFacts
from fastocr_cli.decoding.stopping import RepetitionGuard, RepetitionLimits
from fastocr_cli.fixation.policy import PolicyStats
from fastocr_cli.models.base import ModelAdapter, PromptInputs, TokenBias, VisualLayout
from fastocr_cli.results import Box, PageStats, PageStatus


@dataclass(frozen=True)
class Generation:
    """What the model wrote for one page; token_ids, logprobs and places run in parallel.

    places: where on the page the decoder looked as it wrote each token, None where unknown.
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    places: tuple[Box | None, ...]
    status: PageStatus
    stats: PageStats


class Page:
    """A page's running state; `status` is None until it has ended."""

    def __init__(
        self,
        adapter: ModelAdapter,
        prompt: PromptInputs,
        max_tokens: int | None,
        limits: RepetitionLimits | None = None,
        *,
        aided: bool = True,
    ):
        self.prompt = prompt
        self.cap = prompt.token_cap if max_tokens is None else min(prompt.token_cap, max_tokens)
        self.token_ids: list[int] = []
        self.logprobs: list[float] = []
        self.status: PageStatus | None = None
        self.prefill_ms = 0.0
        self._layout, self._prompt_tokens = prompt.layout, prompt.length
        self._decode_ms = self._attention_ms = 0.0
        self._steps: list[_Step] = []
        self._stop_token_ids = adapter.stop_token_ids
        self._guard = RepetitionGuard(adapter.detokenize, limits)
        self._adapter, self._aided = adapter, aided
        self._place = adapter.new_place()
        self._ngrams: NgramBan | None = None
        self._bias: TokenBias | None = None

    @property
    def is_finished(self) -> bool:
        return self.status is not None

    def prefilled(self, layout: VisualLayout, prompt_tokens: int, outputs: Any) -> None:
        """The prompt as the decoder saw it, after any pruning, and what the model returned."""
        self._layout, self._prompt_tokens = layout, prompt_tokens
        model = self._adapter.model
        self._ngrams = NgramBan.of(model.generation_config, self.prompt.input_ids[0].tolist())
        self._bias = self._adapter.new_bias(outputs, aided=self._aided)

    def draft(self, most: int) -> list[int]:
        """Tokens that are likely to come next, if the model foretells any; they fit the cap."""
        most = min(most, self.cap - len(self.token_ids) - 1)
        return self._bias.draft(most) if self._bias is not None and self._aided else []

    def places(self, draft: Sequence[int]) -> Sequence[tuple[int, ...]] | None:
        """Where the last token and those of a draft stand, for models that want to be told."""
        return None if self._place is None else self._place.places(draft)

    def begin_step(self, width: int) -> None:
        """A step takes in the last token and a draft, `width` tokens in all."""
        visible = self._prompt_tokens + len(self.token_ids) - 1 + width
        self._steps.append(_Step(visible, len(self.token_ids)))

    def charge_step(self, elapsed_ms: float, attention_ms: float) -> None:
        """This page's share of one decode step."""
        self._decode_ms += elapsed_ms
        self._attention_ms += attention_ms

    def weigh(self, logits: Tensor) -> None:
        """Change the next token's logits, [vocabulary], by what is known beside the decoder."""
        banned = self._ngrams.banned() if self._ngrams else []
        if banned:
            logits[banned] = -torch.inf
        if self._bias is not None:
            logits += torch.from_numpy(self._bias.bias()).to(logits.device)

    def accept(self, token: int, logprob: float) -> None:
        """The next token; a stop token ends the page and is not part of its text."""
        if token in self._stop_token_ids:
            self.status = PageStatus.OK if self.token_ids else self._empty_status
            return
        self.token_ids.append(token)
        self.logprobs.append(logprob)
        for follower in (self._ngrams, self._bias, self._place):
            if follower is not None:
                follower.add(token)
        cut = self._guard.find_loop(self.token_ids)
        if cut is not None:
            del self.token_ids[cut:], self.logprobs[cut:]
            self.status = PageStatus.LOOPED
        elif len(self.token_ids) >= self.cap:
            self.status = PageStatus.TRUNCATED

    @property
    def _empty_status(self) -> PageStatus:
        return PageStatus.BLANK if self._bias is None else self._bias.empty_status

    def result(self, policy: PolicyStats, facts: DecoderFacts, row_bytes: int) -> Generation:
        """row_bytes: K and V of one cached position in one layer."""
        assert self.status is not None
        visible = [step.visible for step in self._steps]
        pruned = self.prompt.length - self._prompt_tokens
        dense = facts.rows_seen(self.prompt.length, [count + pruned for count in visible])
        present = facts.rows_seen(self._prompt_tokens, visible)
        stats = PageStats(
            visual_tokens=self._layout.num_tokens,
            prompt_tokens=self._prompt_tokens,
            generated_tokens=len(self.token_ids),
            decode_steps=len(self._steps),
            keep_sparse_layers=policy.keep_sparse_layers,
            keep_all_layers=policy.keep_all_layers,
            kv_bytes_dense=dense * row_bytes,
            kv_bytes_read=(present - policy.kv_rows_skipped) * row_bytes,
            prefill_ms=self.prefill_ms,
            decode_ms=self._decode_ms,
            attention_ms=self._attention_ms,
            extra=policy.extra,
        )
        if self._layout.num_tokens < self.prompt.layout.num_tokens:
            before = self.prompt.layout.num_tokens
            stats = replace(stats, extra={**stats.extra, "visual_tokens_before_pruning": before})
        return Generation(
            tuple(self.token_ids), tuple(self.logprobs), self._places(policy), self.status, stats
        )

    def _places(self, policy: PolicyStats) -> tuple[Box | None, ...]:
        """Per token the box of the visual token most attended when it was predicted."""
        places: list[Box | None] = [None] * len(self.token_ids)
        if policy.gaze is None:
            return tuple(places)
        boxes = self._layout.boxes.tolist()
        # The first token comes from prefill, each step predicts those up to the next step's first.
        ends = [step.first for step in self._steps[1:]] + [len(places)]
        for step, end, gaze in zip(self._steps, ends, policy.gaze.tolist(), strict=False):
            box = boxes[gaze] if gaze >= 0 else None
            if box is not None and box[0] == box[0]:  # NaN: a token without a place of its own
                for index in range(step.first, min(end, len(places))):
                    places[index] = (box[0], box[1], box[2], box[3])
        return tuple(places)


class _Step(NamedTuple):
    """One decode step: how many positions its last token saw, and the first token it predicted."""

    visible: int
    first: int

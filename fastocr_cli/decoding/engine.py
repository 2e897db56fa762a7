"""The generation loop: greedy, batch-first, one cache.

Pages are prefilled one by one, without padding, and then decode together; a page that ends leaves
the batch. Works on token ids and tensors; knows no file, no page image and no pruning method.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from fastocr_cli.decoding.attention import DecodeSession
from fastocr_cli.decoding.cache import KVCache
from fastocr_cli.decoding.pages import Generation, Page
from fastocr_cli.decoding.prefill import PrefillHook, PrefillWatch
from fastocr_cli.decoding.shape import DecoderFacts
from fastocr_cli.decoding.step import ModelCalls
from fastocr_cli.decoding.stopping import RepetitionLimits
from fastocr_cli.decoding.stopwatch import Stopwatch
from fastocr_cli.fixation.policy import AttentionPolicy
from fastocr_cli.models.base import ModelAdapter, PromptInputs


@torch.inference_mode()
def generate(
    adapter: ModelAdapter,
    prompts: Sequence[PromptInputs],
    *,
    policy: AttentionPolicy,
    max_tokens: int | None = None,
    prefill_hook: PrefillHook | None = None,
    limits: RepetitionLimits | None = None,
) -> list[Generation]:
    """Read all pages together, greedily; one result per prompt, in order.

    max_tokens: a cap on top of each page's own. prefill_hook: shortens prompts before the decoder.
    """
    pages = [Page(adapter, prompt, max_tokens, limits) for prompt in prompts]
    if not pages:
        return []
    batch = Batch(adapter, pages, policy, prefill_hook)
    while batch.pages:
        batch.step()
    return batch.results()


class Batch:
    """Pages that decode together: prefilled when built, then one `step` per token."""

    def __init__(
        self,
        adapter: ModelAdapter,
        pages: Sequence[Page],
        policy: AttentionPolicy,
        prefill_hook: PrefillHook | None = None,
    ):
        facts = DecoderFacts.of(adapter.decoder_config)
        device = adapter.device
        capacity = max(page.prompt.length + page.cap for page in pages)
        self.pages = list(pages)
        self._all_pages = tuple(pages)
        self._facts = facts
        self._calls = ModelCalls(adapter, capacity)
        self._cache = KVCache(
            facts.shape.num_layers, len(pages), capacity, device, rings=dict(facts.rings)
        )
        prefilled, watches = self._prefill(prefill_hook)
        self._cache.set_prompt_lengths([watch.length for watch in watches])
        self._positions = _next_positions(watches, device)
        for page, watch, outputs in zip(pages, watches, prefilled, strict=True):
            page.prefilled(watch.layout, watch.length, outputs)
        state = policy.start([watch.layout for watch in watches], facts.shape, device)
        self._session = DecodeSession(self._cache, state, dict(facts.windows), Stopwatch(device))
        self._tokens = self._accept(torch.cat([outputs.logits[:, -1] for outputs in prefilled]))

    def _prefill(self, hook: PrefillHook | None) -> tuple[list[Any], list[PrefillWatch]]:
        """What the model returned for every page, and what its prefill did."""
        returned, watches = [], []
        for row, page in enumerate(self.pages):
            began = time.perf_counter()
            watch = PrefillWatch(page.prompt.layout, hook)
            with self._cache.prefilling(row), watch.on(self._calls.decoder):
                returned.append(self._calls.prefill(page.prompt, self._cache))
            _synchronise(returned[-1].logits.device)
            page.prefill_ms = (time.perf_counter() - began) * 1000
            watches.append(watch)
        return returned, watches

    def step(self) -> None:
        """One more token for every page."""
        began = time.perf_counter()
        with self._session.step():
            logits = self._calls.decode(
                self._tokens, self._positions, self._places(), self._session
            )
        self._positions += 1
        running = self.pages
        self._tokens = self._accept(logits)
        attention_ms = self._session.clock.take_ms()
        elapsed_ms = (time.perf_counter() - began) * 1000
        for page in running:
            page.charge_step(elapsed_ms / len(running), attention_ms / len(running))

    def _places(self) -> Tensor | None:
        """int64 [B, axes]: where every page's last token stands."""
        places = [page.place for page in self.pages]
        return None if places[0] is None else torch.tensor(places, device=self._tokens.device)

    def _accept(self, logits: Tensor) -> Tensor:
        """Give every page its likeliest token; pages that end leave. Returns int64 [B'].

        logits: [B, vocabulary].
        """
        logits = logits.float()
        for row, page in enumerate(self.pages):
            page.weigh(logits[row])
        best, tokens = logits.max(dim=1)
        logprobs = best - logits.logsumexp(dim=1)
        # One transfer for both; float32 holds every token id exactly.
        chosen, chances = torch.stack([tokens.float(), logprobs]).tolist()
        for page, token, logprob in zip(self.pages, chosen, chances, strict=True):
            page.accept(int(token), logprob)
        remaining = [row for row, page in enumerate(self.pages) if not page.is_finished]
        return tokens if len(remaining) == len(self.pages) else self._keep(remaining, tokens)

    def _keep(self, rows: list[int], tokens: Tensor) -> Tensor:
        self.pages = [self.pages[row] for row in rows]
        if not rows:
            return tokens[:0]
        self._cache.select_rows(rows)
        index = torch.tensor(rows)
        self._session.policy.select_rows(index)
        index = index.to(tokens.device)
        self._positions = self._positions.index_select(-2, index)
        return tokens[index]

    def results(self) -> list[Generation]:
        row_bytes = self._cache.row_bytes
        stats = self._session.policy.finish()
        return [
            page.result(one, self._facts, row_bytes)
            for page, one in zip(self._all_pages, stats, strict=True)
        ]


def _next_positions(watches: Sequence[PrefillWatch], device: torch.device) -> Tensor:
    """int64 [..., B, 1]: position ids of every page's next token, alike on all axes."""
    column = torch.tensor([watch.next_position for watch in watches], device=device)[:, None]
    axes = watches[0].position_axes
    return column.expand(*axes, *column.shape).clone()


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)

"""The generation loop: greedy, batch-first, one cache.

Pages are prefilled one by one, without padding, and then decode together; a page that ends leaves
the batch. Where a page foretells its text, a step takes in a draft of it and keeps what the model
would have written itself: fewer steps, and where nothing is pruned the same tokens (speculative
decoding with greedy verification, arXiv 2211.17192); a pruned draft shares one fixation. Works on
token ids and tensors; knows no file, no page image and no pruning method.
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

_LONGEST_DRAFT = 31
_FILLER = 0


@torch.inference_mode()
def generate(
    adapter: ModelAdapter,
    prompts: Sequence[PromptInputs],
    *,
    policy: AttentionPolicy,
    max_tokens: int | None = None,
    prefill_hook: PrefillHook | None = None,
    limits: RepetitionLimits | None = None,
    aided: bool = True,
) -> list[Generation]:
    """Read all pages together, greedily; one result per prompt, in order.

    max_tokens: a cap on top of each page's own. prefill_hook: shortens prompts before the decoder.
    aided: False leaves everything that can be left to the decoder: a step takes in one token, and
        what else the model knows of the page decides on places only.
    """
    pages = [Page(adapter, prompt, max_tokens, limits, aided=aided) for prompt in prompts]
    if not pages:
        return []
    batch = Batch(adapter, pages, policy, prefill_hook)
    while batch.pages:
        batch.step()
    return batch.results()


class Batch:
    """Pages that decode together: prefilled when built, then one `step` per token or draft."""

    def __init__(
        self,
        adapter: ModelAdapter,
        pages: Sequence[Page],
        policy: AttentionPolicy,
        prefill_hook: PrefillHook | None = None,
    ):
        facts = DecoderFacts.of(adapter.decoder_config)
        device = adapter.device
        self._longest_draft = _LONGEST_DRAFT if facts.takes_drafts else 0
        # A page with a short draft is padded to the longest of the batch.
        capacity = max(page.prompt.length + page.cap for page in pages) + self._longest_draft
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
        first = torch.cat([outputs.logits[:, -1:] for outputs in prefilled])
        self._accept(first, [[]] * len(pages))
        self._let_go()

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
        """One more token for every page, and as many as its draft foretold rightly."""
        began = time.perf_counter()
        running, drafts = self.pages, self._drafts()
        width = self._width(drafts)
        padded = [draft + [_FILLER] * (width - 1 - len(draft)) for draft in drafts]
        for page in running:
            page.begin_step(width)
        with self._session.step([1 + len(draft) for draft in drafts]):
            logits = self._calls.decode(
                self._tokens(padded), self._spread(width), self._places(padded), self._session
            )
        counts = self._accept(logits, drafts)
        self._cache.retract([width - count for count in counts])
        self._positions += torch.tensor(counts, device=self._positions.device)[:, None]
        self._let_go()
        attention_ms = self._session.clock.take_ms()
        elapsed_ms = (time.perf_counter() - began) * 1000
        for page in running:
            page.charge_step(elapsed_ms / len(running), attention_ms / len(running))

    def _drafts(self) -> list[list[int]]:
        """What every page foretells of its next tokens; they are not written yet."""
        most = self._longest_draft if self._session.policy.takes_drafts else 0
        return [page.draft(most) if most else [] for page in self.pages]

    def _width(self, drafts: list[list[int]]) -> int:
        """Tokens a page that the longest draft asks for; few different ones where kernels are
        compiled for each."""
        width = 1 + max(len(draft) for draft in drafts)
        return 1 << (width - 1).bit_length() if self._positions.is_cuda else width

    def _tokens(self, drafts: list[list[int]]) -> Tensor:
        """int64 [B, T]: every page's last token and its draft."""
        rows = [[page.token_ids[-1], *one] for page, one in zip(self.pages, drafts, strict=True)]
        return torch.tensor(rows, device=self._positions.device)

    def _spread(self, width: int) -> Tensor:
        """int64 [..., B, T]: the position ids of every page's next tokens."""
        return self._positions + torch.arange(width, device=self._positions.device)

    def _places(self, drafts: list[list[int]]) -> Tensor | None:
        """int64 [B, T, axes]: where every page's last token stands, and those of its draft."""
        places = [page.places(one) for page, one in zip(self.pages, drafts, strict=True)]
        return None if places[0] is None else torch.tensor(places, device=self._positions.device)

    def _accept(self, logits: Tensor, drafts: list[list[int]]) -> list[int]:
        """Give every page its likeliest token, and more while they are those of its draft.

        logits: [B, T, vocabulary], after the last token and after each of the draft. Returns how
        many tokens each page got.
        """
        logits = logits.float()
        counts = [0] * len(self.pages)
        rows = list(range(len(self.pages)))
        while rows:
            place = counts[rows[0]]
            here = logits[:, place] if len(rows) == len(counts) else logits[rows, place]
            pages = [self.pages[row] for row in rows]
            agreeing = []
            for row, (token, logprob) in zip(rows, _likeliest(pages, here), strict=True):
                self.pages[row].accept(token, logprob)
                counts[row] += 1
                if drafts[row][place : place + 1] == [token] and not self.pages[row].is_finished:
                    agreeing.append(row)
            rows = agreeing
        return counts

    def _let_go(self) -> None:
        """Pages that have ended leave the batch."""
        remaining = [row for row, page in enumerate(self.pages) if not page.is_finished]
        if len(remaining) == len(self.pages):
            return
        self.pages = [self.pages[row] for row in remaining]
        if not remaining:
            return
        self._cache.select_rows(remaining)
        index = torch.tensor(remaining)
        self._session.policy.select_rows(index)
        self._positions = self._positions.index_select(-2, index.to(self._positions.device))

    def results(self) -> list[Generation]:
        row_bytes = self._cache.row_bytes
        stats = self._session.policy.finish()
        return [
            page.result(one, self._facts, row_bytes)
            for page, one in zip(self._all_pages, stats, strict=True)
        ]


def _likeliest(pages: Sequence[Page], logits: Tensor) -> list[tuple[int, float]]:
    """Every page's next token and its log-probability, after what the page itself knows of it.

    logits: [B, vocabulary]; changed.
    """
    for row, page in enumerate(pages):
        page.weigh(logits[row])
    best, tokens = logits.max(dim=1)
    logprobs = best - logits.logsumexp(dim=1)
    # One transfer for both; float32 holds every token id exactly.
    chosen, chances = torch.stack([tokens.float(), logprobs]).tolist()
    return [(int(token), chance) for token, chance in zip(chosen, chances, strict=True)]


def _next_positions(watches: Sequence[PrefillWatch], device: torch.device) -> Tensor:
    """int64 [..., B, 1]: position ids of every page's next token, alike on all axes."""
    column = torch.tensor([watch.next_position for watch in watches], device=device)[:, None]
    axes = watches[0].position_axes
    return column.expand(*axes, *column.shape).clone()


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)

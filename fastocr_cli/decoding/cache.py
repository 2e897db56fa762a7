"""The key-value cache: allocated once per batch, written in place, one row a page.

Implements transformers' `Cache` interface so that any model's attention layers can fill it. Knows
nothing of tokens, policies or attention arithmetic.

Storage is [B, L_max, H_kv, D] per layer, so that all KV heads of one cached position are one
contiguous row; models are handed transposed views.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from fastocr_cli.errors import UsageError


class Timeline:
    """Per page: the slots its newest tokens are written to and how many slots the last may see.

    With a `ring`, generated tokens share that many slots behind the prompt, the newest replacing
    the oldest: a sliding window over generated text that never forgets the prompt. Keys carry
    their position, so the order of slots does not matter to attention.
    """

    def __init__(self, prompt_lengths: Sequence[int], device: torch.device, ring: int | None):
        self._ring = ring
        self._prompts = list(prompt_lengths)
        self._generated = [0] * len(prompt_lengths)
        self._device = device
        self.slots: Tensor
        self.visible: Tensor
        self.longest: int
        self._refresh()

    def advance(self, width: int = 1) -> None:
        """New tokens, `width` a page: they get slots and become visible. A ring takes one."""
        assert width == 1 or self._ring is None
        self._generated = [count + width for count in self._generated]
        if self._ring is None:
            self.slots = self.visible[:, None] + torch.arange(width, device=self._device)
            self.visible = self.visible + width
            self.longest += width
        else:
            self._refresh()

    def retract(self, counts: Sequence[int]) -> None:
        """Forget so many of each page's newest tokens."""
        pairs = zip(self._generated, counts, strict=True)
        self._generated = [generated - count for generated, count in pairs]
        self._refresh()

    def select_rows(self, rows: Sequence[int]) -> None:
        self._prompts = [self._prompts[row] for row in rows]
        self._generated = [self._generated[row] for row in rows]
        self._refresh()

    @property
    def used(self) -> list[int]:
        """Slots written so far, per page; the host's twin of `visible`."""
        pairs = zip(self._prompts, self._generated, strict=True)
        return [prompt + min(count, self._ring or count) for prompt, count in pairs]

    def _refresh(self) -> None:
        """slots: int64 [B, 1], the last; visible: int64 [B]; longest: its largest entry."""
        pairs = list(zip(self._prompts, self._generated, strict=True))
        ring = self._ring or max(self._generated, default=0) + 1
        slots = [prompt + max(count - 1, 0) % ring for prompt, count in pairs]
        self.slots = torch.tensor(slots, device=self._device, dtype=torch.long)[:, None]
        used = self.used
        self.visible = torch.tensor(used, device=self._device, dtype=torch.long)
        self.longest = max(used, default=0)


class KVLayer(CacheLayerMixin):
    """Keys and values of one decoder layer for all pages of the batch."""

    is_sliding = False

    def __init__(self, owner: KVCache, timeline: Timeline):
        super().__init__()
        # Not a cycle: a page's keys and values go when its batch does, not at the next collection.
        self._owner = weakref.proxy(owner)
        self.timeline = timeline

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Allocate for the heads and widths of these states, [1 or B, H_kv, T, D]."""
        owner = self._owner
        shape = (owner.num_rows, owner.capacity, key_states.shape[1])
        # Zeros, not garbage: a masked slot still meets a product, and 0 * NaN is NaN.
        self.storage = (
            key_states.new_zeros(*shape, key_states.shape[3]),
            value_states.new_zeros(*shape, value_states.shape[3]),
        )
        self.is_initialized = True
        self.limit_rows(owner.num_rows)

    def limit_rows(self, count: int) -> None:
        """Use the first `count` rows only; views are made once here and not once a step."""
        if not self.is_initialized:
            return
        keys, values = (store[:count] for store in self.storage)
        self._rows = keys, values
        self.keys, self.values = keys.transpose(1, 2), values.transpose(1, 2)
        self._flat = tuple(store.flatten(0, 1).flatten(1) for store in self.storage)

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write new states [B, H_kv, T, D]; return what the layer's attention should read.

        At prefill that is the page's own states; at decode the whole cache, [B, H_kv, L_max, D].
        """
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        row = self._owner.prefill_row
        if row is not None:
            for store, states in zip(self.storage, (key_states, value_states), strict=True):
                store[row, : states.shape[2]] = states[0].transpose(0, 1)
            return key_states, value_states
        self.append(*(one.transpose(1, 2).flatten(0, 1) for one in (key_states, value_states)))
        assert self.keys is not None
        assert self.values is not None
        return self.keys, self.values

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write the newest tokens' states [B * newest, H_kv, D]; returns the pages' storage."""
        where = self._owner.flat_slots(self.timeline)
        flat_keys, flat_values = self._flat
        flat_keys.index_copy_(0, where, key.flatten(1))
        flat_values.index_copy_(0, where, value.flatten(1))
        return self._rows

    def move_row(self, source: int, target: int) -> None:
        """Copy a page's slots to another row."""
        if not self.is_initialized:
            return
        used = self.timeline.used[source]
        for store in self.storage:
            store[target, :used] = store[source, :used]

    def get_seq_length(self) -> int:
        return 0 if self._owner.prefill_row is not None else self._owner.past_length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        return self._owner.capacity


class KVCache(Cache):
    """The cache of one batch.

    num_layers: decoder layers. capacity: L_max, positions per page. num_rows: pages.
    rings: by layer index, the number of slots generated tokens share (see `Timeline`).
    """

    def __init__(
        self,
        num_layers: int,
        num_rows: int,
        capacity: int,
        device: torch.device,
        rings: dict[int, int] | None = None,
    ):
        self.capacity = capacity
        self.num_rows = num_rows
        self.prefill_row: int | None = None
        self._device = device
        self._rings = rings or {}
        self._prompt_lengths = [0] * num_rows
        self._newest = 0
        self._timelines: dict[int | None, Timeline] = {}
        self._flat_slots: dict[int, Tensor] = {}
        self._restart_timelines()
        timelines = [self._timelines[self._rings.get(i)] for i in range(num_layers)]
        super().__init__(layers=[KVLayer(self, timeline) for timeline in timelines])

    @property
    def past_length(self) -> int:
        """The longest page's cached positions, those of a step under way not counted."""
        return max(self._timelines[None].longest - self._newest, 0)

    @property
    def longest(self) -> int:
        """The most positions any layer reads of any page in this step."""
        return self._timelines[None].longest

    @property
    def row_bytes(self) -> int:
        """Bytes of K and V of one cached position in one layer."""
        stores = self.layers[0].storage
        return sum(store[0, 0].numel() * store.element_size() for store in stores)

    @contextmanager
    def prefilling(self, row: int) -> Iterator[None]:
        """Within this scope, updates fill `row` from its first position on."""
        self.prefill_row = row
        try:
            yield
        finally:
            self.prefill_row = None

    def set_prompt_lengths(self, lengths: Sequence[int]) -> None:
        """How many positions prefill has written per page; decoding goes on from there."""
        if max(lengths, default=0) >= self.capacity:
            raise UsageError(
                f"a prompt of {max(lengths)} tokens leaves no room in a cache of {self.capacity}"
            )
        self._prompt_lengths = list(lengths)
        self._restart_timelines()
        for index, layer in enumerate(self.layers):
            layer.timeline = self._timelines[self._rings.get(index)]

    def advance(self, width: int = 1) -> None:
        """Begin a decode step: every page gets slots for its `width` newest tokens."""
        self._flat_slots = {}
        self._newest = width
        for timeline in self._timelines.values():
            timeline.advance(width)

    def retract(self, counts: Sequence[int]) -> None:
        """End a step: so many of each page's newest tokens were not to be."""
        self._newest = 0
        if any(counts):
            for timeline in self._timelines.values():
                timeline.retract(counts)

    def append(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Decode without the library's interface: write [B * newest, H_kv, D], read
        [B, L_max, H_kv, D]."""
        rows: tuple[Tensor, Tensor] = self.layers[layer].append(key, value)
        return rows

    def visible(self, layer: int) -> Tensor:
        """int64 [B]: positions the last token of each page sees in `layer`, itself included."""
        visible: Tensor = self.layers[layer].timeline.visible
        return visible

    def flat_slots(self, timeline: Timeline) -> Tensor:
        """int64 [B * newest]: where the newest tokens go in storage as [B * L_max, ...]."""
        key = id(timeline)
        if key not in self._flat_slots:
            starts = self._row_starts[: len(timeline.slots)]
            self._flat_slots[key] = (timeline.slots + starts).flatten()
        return self._flat_slots[key]

    def select_rows(self, rows: Sequence[int]) -> None:
        """Only these pages (ascending) go on; they move together to the front."""
        for target, source in enumerate(rows):
            if source != target:
                for layer in self.layers:
                    layer.move_row(source, target)
        for timeline in self._timelines.values():
            timeline.select_rows(rows)
        self.num_rows = len(rows)
        for layer in self.layers:
            layer.limit_rows(self.num_rows)

    def _restart_timelines(self) -> None:
        for ring in {None, *self._rings.values()}:
            self._timelines[ring] = Timeline(self._prompt_lengths, self._device, ring)
        first = torch.arange(self.num_rows, device=self._device) * self.capacity
        self._row_starts = first[:, None]

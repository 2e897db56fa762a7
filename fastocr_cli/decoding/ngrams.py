"""Blocking repeated n-grams, as some checkpoints ask for in their generation config.

The meaning is the library's: with size n, a token that would complete an n-gram seen before is
impossible; the prompt counts as seen, and with a window only that many last tokens count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class NgramBan:
    """One page's seen n-grams. history: the prompt's tokens."""

    def __init__(self, size: int, window: int | None, history: Sequence[int]):
        self._size, self._window = size, window
        self._tokens = list(history)
        self._ends: dict[tuple[int, ...], list[int]] = {}
        for end in range(size - 1, len(self._tokens)):
            self._note(end)

    @classmethod
    def of(cls, generation_config: Any, history: Sequence[int]) -> NgramBan | None:
        """The ban a generation config asks for; None if it asks for none."""
        size = getattr(generation_config, "no_repeat_ngram_size", None)
        if not size:
            return None
        window = getattr(generation_config, "no_repeat_ngram_window_size", None)
        return cls(size, window, history)

    def add(self, token: int) -> None:
        self._tokens.append(token)
        if len(self._tokens) >= self._size:
            self._note(len(self._tokens) - 1)

    def banned(self) -> list[int]:
        """Tokens that may not come next."""
        if len(self._tokens) < self._size - 1:
            return []
        first = 0 if self._window is None else max(0, len(self._tokens) - self._window)
        ends = self._ends.get(self._prefix(len(self._tokens)), [])
        return [self._tokens[end] for end in ends if end - self._size + 1 >= first]

    def _note(self, end: int) -> None:
        self._ends.setdefault(self._prefix(end), []).append(end)

    def _prefix(self, end: int) -> tuple[int, ...]:
        """The size - 1 tokens before index `end`."""
        return tuple(self._tokens[end - self._size + 1 : end])

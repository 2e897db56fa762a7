"""Standard output for the product alone, its failures in words, and quiet libraries.

While `protected_stdout` is open, file descriptor 1 and `sys.stdout` lead to standard error, so a
stray print of any library, in Python or in C, cannot end up in the document.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TextIO


@contextmanager
def protected_stdout() -> Iterator[BinaryIO]:
    """The real standard output, as bytes; everything else that is printed goes to stderr."""
    printed_to = sys.stdout
    printed_to.flush()
    is_real = _descriptor(printed_to) == 1
    product = _move_descriptor() if is_real else printed_to.buffer
    sys.stdout = sys.stderr
    try:
        yield product
        product.flush()
    finally:
        sys.stdout.flush()
        sys.stdout = printed_to
        if is_real:
            _restore_descriptor(product)


@contextmanager
def told_stdout() -> Iterator[None]:
    """What is printed in the block and cannot be written is an OutputError, whoever prints it."""
    printed_to: Any = sys.stdout
    if printed_to is None:  # a process may have been given none
        yield
        return
    sys.stdout = told = ToldStream(printed_to)
    try:
        yield
    finally:
        sys.stdout = printed_to
        if told.has_failed:
            abandon(printed_to)


class ToldStream:
    """Standard output, by whose name its failures are told."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.has_failed = False

    def write(self, text: str) -> int:
        with self._telling():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._telling():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            from fastocr_cli.writers.output import output_errors  # heavy: with the writers

            self.has_failed = True
            with output_errors("standard output"):
                raise


def abandon(stream: BinaryIO | TextIO) -> None:
    """Let what a broken stream still holds vanish, so that closing it raises nothing."""
    with suppress(OSError, ValueError):
        _lead_nowhere(stream.fileno())


def forget_lost_terminal() -> None:
    """Where the terminal behind standard error has gone, let what is still said vanish."""
    try:
        os.write(2, b"")
    except OSError:
        _lead_nowhere(2)


def quiet_libraries() -> None:
    """Silence progress bars, warnings and log lines of the libraries underneath."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    warnings.filterwarnings("ignore")
    quiet_logs()
    _quiet_loaded()


def quiet_logs() -> None:
    """Errors alone, not each of the hub's further attempts; its bars may stay. It logs at a level
    of its own, which it takes from a variable when it is loaded."""
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    logging.getLogger().setLevel(logging.ERROR)
    if "huggingface_hub" in sys.modules:
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def _quiet_loaded() -> None:
    """A library that is loaded has read its variables and is told; none is loaded for this."""
    if "huggingface_hub" in sys.modules:
        from huggingface_hub.utils import disable_progress_bars

        disable_progress_bars()
    if "transformers" in sys.modules:
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
        transformers_logging.set_verbosity_error()


def _descriptor(stream: object) -> int | None:
    try:
        return stream.fileno()  # type: ignore[attr-defined]
    except (OSError, ValueError, AttributeError):
        return None


def _lead_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _move_descriptor() -> BinaryIO:
    saved = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(saved, "wb")


def _restore_descriptor(product: BinaryIO) -> None:
    os.dup2(product.fileno(), 1)
    # Closing flushes, which fails again where writing has failed; that is told already.
    with suppress(OSError):
        product.close()

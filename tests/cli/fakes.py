"""A reader that reads no pixels' meaning: its text is a mark of the picture it was given.

The same page always gives the same text, and different pages different ones, so that an output
file shows which pages went into it and in which order.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pymupdf

from fastocr_cli.results import PageImage, PageReading, PageStats, PageStatus

Behaviour = Callable[[PageImage, float], PageStatus]


def interrupted_at(number: int, by: signal.Signals = signal.SIGINT) -> Behaviour:
    """Somebody presses Ctrl-C, or sends that signal, whenever the page of this number is read."""

    def behave(page: PageImage, keep: float) -> PageStatus:
        if page.number == number:
            os.kill(os.getpid(), by)
            time.sleep(0.1)
        return PageStatus.OK

    return behave


class FakeReader:
    """Has of `Reader` what the command uses; counts what it is asked to do.

    behave: the status of a page by its picture and the keep it is read at, or an exception.
    """

    batch_size = 2

    warning: str | None = None
    rtprune: object = None

    def __init__(self, behave: Behaviour | None = None, keep: float = 1.0) -> None:
        self.adapter = SimpleNamespace(
            name="fake", revision="r1", device=SimpleNamespace(type="cpu"), has_aids=True
        )
        self.keep = keep
        self.behave = behave or (lambda page, keep: PageStatus.OK)
        self.batches: list[int] = []
        self.pages_read: list[int] = []
        self.pruned: list[bool] = []

    def read(
        self,
        images: Sequence[PageImage],
        max_tokens: int | None = None,
        *,
        keep: float | None = None,
        is_pruned: bool = True,
    ) -> list[PageReading]:
        self.batches.append(len(images))
        self.pruned.append(is_pruned)
        return [self._read_one(page, self.keep if keep is None else keep) for page in images]

    def to_markdown(self, text: str) -> str:
        return f"# {text}"

    def _read_one(self, page: PageImage, keep: float) -> PageReading:
        status = self.behave(page, keep)
        self.pages_read.append(page.number)
        text = "" if status in (PageStatus.FAILED, PageStatus.BLANK) else mark(page)
        stats = PageStats(
            visual_tokens=100, generated_tokens=len(text), keep_all_layers=keep, decode_ms=5.0
        )
        logprobs = tuple(-0.1 for _ in text)
        places = tuple((0.1, 0.2, 0.3, 0.4) if i % 2 else None for i in range(len(text)))
        return PageReading(text, tuple(map(ord, text)), logprobs, status, stats, places)


def mark(page: PageImage) -> str:
    digest = hashlib.sha256(page.pixels.tobytes()).hexdigest()[:8]
    return f"page {page.number} {digest}"


def make_pdf(
    path: Path, pages: int, *, password: str | None = None, blank: tuple[int, ...] = ()
) -> Path:
    """A PDF whose pages each bear their number and the file's name; `blank` ones bear nothing."""
    document = pymupdf.open()
    for number in range(1, pages + 1):
        page = document.new_page(width=200, height=200)
        if number not in blank:
            page.insert_text((30, 60), f"{path.name} {number}", fontsize=16)
    secret = {}
    if password is not None:
        secret = {
            "encryption": pymupdf.PDF_ENCRYPT_AES_256, "user_pw": password, "owner_pw": password,
        }  # fmt: skip
    document.save(path, **secret)
    return path


def slow_main() -> None:
    """The command with a slow fake reader, for tests that kill a process.

    FAKE_LOG: a file that gets the number of each page as its reading begins. FAKE_NOISE: print,
    as a library might, in Python and below it.
    """
    import fastocr_cli.api
    from fastocr_cli.__main__ import main

    def behave(page: PageImage, keep: float) -> PageStatus:
        with open(os.environ["FAKE_LOG"], "a") as log:  # noqa: PTH123
            log.write(f"{page.number}\n")
        if os.environ.get("FAKE_NOISE"):
            print("noise")
            os.write(1, b"noise from below\n")
        time.sleep(float(os.environ.get("FAKE_SECONDS", "0.05")))
        return PageStatus.OK

    fastocr_cli.api.load_reader = lambda options: FakeReader(behave)  # type: ignore
    main()


if __name__ == "__main__":
    slow_main()

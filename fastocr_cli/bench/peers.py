"""Other OCR programs on the same pages: Tesseract and RapidOCR, where they are installed.

They read with as many threads as the model has. Knows how to call them and nothing else.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import torch
from PIL import Image

from fastocr_cli.bench.contestants import Contestant, PageRun
from fastocr_cli.errors import MissingModelError
from fastocr_cli.results import PageImage


class Peer:
    """A program that makes text of a picture."""

    keep: float | None = None

    def __init__(self, name: str, read_page: Callable[[PageImage], str]) -> None:
        self.method = name
        self._read_page = read_page

    def warm_up(self, page: PageImage) -> None:
        self._read_page(page)

    def read(self, pages: Sequence[PageImage]) -> list[PageRun]:
        return [self._read(page) for page in pages]

    def _read(self, page: PageImage) -> PageRun:
        began = time.perf_counter()
        text = self._read_page(page)
        return PageRun(text, (time.perf_counter() - began) * 1000)


def find_peers() -> list[Contestant]:
    """Those that are installed. Raises MissingModelError if none is."""
    peers: list[Contestant] = []
    if shutil.which("tesseract"):
        peers.append(Peer("tesseract", read_by_tesseract))
    if find_spec("rapidocr"):
        peers.append(Peer("rapidocr", _rapidocr()))
    if not peers:
        raise MissingModelError(
            "--peers found none; install Tesseract (apt install tesseract-ocr) or "
            "RapidOCR (pip install rapidocr onnxruntime)"
        )
    return peers


def read_by_tesseract(page: PageImage) -> str:
    """Its start is part of its time, as a user who calls it page by page pays for it."""
    buffer = io.BytesIO()
    Image.fromarray(page.pixels).save(buffer, "PPM")
    result = subprocess.run(
        ["tesseract", "stdin", "stdout", "--dpi", str(round(page.dpi))],
        input=buffer.getvalue(),
        capture_output=True,
        check=True,
        env={**os.environ, "OMP_THREAD_LIMIT": str(torch.get_num_threads())},
    )
    return result.stdout.decode("utf-8", "replace")


def _rapidocr() -> Callable[[PageImage], str]:
    from rapidocr import RapidOCR

    threads = torch.get_num_threads()
    engine: Any = RapidOCR(
        params={
            "Global.log_level": "error",
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
        }
    )

    def read(page: PageImage) -> str:
        found = engine(page.pixels[:, :, ::-1])  # it expects BGR
        return "\n".join(found.txts or ())

    return read

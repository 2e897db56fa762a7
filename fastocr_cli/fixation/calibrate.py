"""Takes a calibration: reads the beginnings of a few pages densely and measures every layer.

Knows the reader and the decode engine; the file is `calibration.py`'s, the picture `picture.py`'s.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from PIL import Image

from fastocr_cli.decoding.engine import generate
from fastocr_cli.decoding.shape import DecoderFacts
from fastocr_cli.errors import InputError
from fastocr_cli.fixation.calibration import Calibration
from fastocr_cli.fixation.fastocr import FastOCRPolicy
from fastocr_cli.fixation.finder import FocalFinder
from fastocr_cli.fixation.settings import FixationSettings
from fastocr_cli.record.revision import revision_of
from fastocr_cli.results import PageImage
from fastocr_cli.strips import cut

if TYPE_CHECKING:
    from fastocr_cli.reading import Reader

KEEP = 0.05
TOKENS = 256


def calibrate(
    reader: Reader,
    pages: Iterable[PageImage | Image.Image],
    *,
    keep: float = KEEP,
    max_tokens: int = TOKENS,
) -> Calibration:
    """What the first `max_tokens` tokens of every page show, each read alone and densely; those of
    every strip where a page is too tall to be read at once.

    keep: share of the patches whose mass is measured. Use pages like those to be read, and none
    that will judge the result. Raises InputError if no page has enough visual tokens.
    """
    adapter = reader.adapter
    settings = FixationSettings(keep=keep, probe_steps=sys.maxsize)
    finder = FocalFinder(settings)
    count = 0
    for page in pages:
        image = _image(page)
        for strip in cut(image, adapter.tallest(image)):
            prompt = adapter.prepare(strip)
            policy = FastOCRPolicy(settings, finder)
            generate(adapter, [prompt], policy=policy, max_tokens=max_tokens)
        count += 1
    if not finder.steps:
        raise InputError(
            "nothing to measure: no page gave the model more visual tokens than it would keep "
            "and a second token to write; give pages full of text"
        )
    return Calibration(
        model=adapter.name,
        revision=revision_of(adapter),
        layers=DecoderFacts.of(adapter.decoder_config).shape.policy_layers,
        keep=keep,
        pages=count,
        steps=finder.steps,
        masses=finder.masses(),
    )


def _image(page: PageImage | Image.Image) -> Image.Image:
    image = Image.fromarray(page.pixels) if isinstance(page, PageImage) else page
    return image.convert("RGB")

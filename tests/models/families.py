"""The registry of model families under test: name -> how to write a tiny checkpoint of it.

A family's `build(folder)` writes a random-weight checkpoint of the real architecture with the real
tokens' names and a chat template like the real one. `pages` are page sizes (width, height) in
pixels that give prompts of different lengths, the first one the cheapest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.models import (
    build_deepseek,
    build_deepseek_v1,
    build_generic,
    build_qwen,
    build_tiled,
)

PageSizes = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Family:
    name: str
    build: Callable[[Path], Path]
    pages: PageSizes


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("qwen2_5_vl", build_qwen.qwen2_5_vl, ((60, 40), (120, 90), (50, 200))),
        Family("qwen3_vl", build_qwen.qwen3_vl, ((60, 40), (120, 90), (50, 200))),
        Family("glm_ocr", build_qwen.glm_ocr, ((60, 40), (120, 90), (50, 200))),
        Family("paddleocr_vl", build_qwen.paddleocr_vl, ((60, 40), (120, 90), (50, 200))),
        Family("llava", build_generic.llava, ((60, 40), (90, 120))),
        Family("lighton_ocr", build_tiled.lighton_ocr, ((60, 40), (120, 90), (50, 200))),
        Family("internvl", build_tiled.internvl, ((40, 40), (120, 60), (100, 150))),
        Family("got_ocr2", build_tiled.got_ocr2, ((60, 60), (90, 40), (30, 90))),
        Family("smolvlm", build_tiled.smolvlm, ((60, 40), (120, 90), (50, 200))),
        Family("idefics3", build_tiled.idefics3, ((60, 40), (90, 120))),
        Family("granite_docling", build_tiled.granite_docling, ((60, 60), (60, 120), (150, 100))),
        Family("hunyuan_vl", build_tiled.hunyuan_vl, ((60, 50), (150, 90), (90, 200))),
        Family("deepseek_ocr2", build_deepseek.deepseek_ocr2, ((300, 200), (900, 450))),
        Family("unlimited_ocr", build_deepseek.unlimited_ocr, ((60, 50), (150, 90), (90, 200))),
        Family("deepseek_vl_v2", build_deepseek_v1.deepseek_ocr_v1, ((400, 300), (1300, 700))),
    )
}

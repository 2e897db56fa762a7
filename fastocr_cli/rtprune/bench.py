"""Prefill with RTPrune against prefill without it, its own cost included.

    python -m fastocr_cli.rtprune.bench --mode large --layers 3 --device cpu

A decoder of DeepSeek-OCR's true shape with random weights, at reduced depth where memory or time
asks for it; random features as redundant as a page's; a drawn page of text. Measured is the text
model's forward over one prompt with its cache, pruning inside, the vision encoder not counted: the
settings take turns within each round, and a speed-up is the median over rounds of the quotient.
On a machine busy with other work `--clock cpu` counts this process's processor time instead: on one
thread that is the wall-clock time of an idle machine.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import torch
from PIL import Image, ImageDraw
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from fastocr_cli.decoding.prefill import PrefillHook, PrefillWatch, PrunedPrompt
from fastocr_cli.models import layouts
from fastocr_cli.models.base import ModelAdapter, PromptInputs, VisualLayout
from fastocr_cli.models.deepseek_ocr import hosting_classes
from fastocr_cli.models.deepseek_pages import MODES, see
from fastocr_cli.rtprune.hook import RTPruneHook
from fastocr_cli.rtprune.settings import RTPruneSettings, parse_rtprune

FULL_DEPTH = 12
TEXT_BEFORE, TEXT_AFTER = 1, 10
"""Text tokens around the image in DeepSeek-OCR's usual prompt."""
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
MEAN_COSINE = 0.39
"""Of random page features, so that the dynamic ratio lands near the published mean of 0.16."""


def decoder(layers: int, device: torch.device, dtype: torch.dtype) -> PreTrainedModel:
    """The language model of DeepSeek-OCR: hidden 1280, 10 heads, 64 + 2 experts, 6 active."""
    classes = hosting_classes()
    config = classes.UnlimitedOcrTextConfig(
        vocab_size=8,  # prefill is timed from embeddings to hidden states
        num_hidden_layers=layers,
        layer_types=["full_attention"] * layers,
        attn_implementation="sdpa",
    )
    default = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with device:
            return classes.UnlimitedOcrTextModel(config).eval()
    finally:
        torch.set_default_dtype(default)


def drawn_page(width: int = 1240, height: int = 1754) -> Image.Image:
    """An A4 page at 150 dpi: lines of bars as dense as words."""
    page = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(page)
    generator = torch.Generator().manual_seed(0)
    for top in range(100, height - 100, 28):
        x = 100
        while x < width - 100:
            stroke, gap = torch.randint(1, 5, (2,), generator=generator).tolist()
            draw.rectangle((x, top, x + stroke, top + 14), "black")
            x += stroke + 2 * gap
    return page


def drawn_prompt(mode: str) -> PromptInputs:
    views = see(drawn_page(), MODES[mode])
    parts = views.layout_with_row_ends()
    count = sum(part.num_tokens for part in parts)
    layout = layouts.place(parts, torch.arange(count) + TEXT_BEFORE)
    pixels = torch.from_numpy(views.whole.copy()).permute(2, 0, 1)[None] / 127.5 - 1
    input_ids = torch.zeros(1, TEXT_BEFORE + count + TEXT_AFTER, dtype=torch.long)
    return PromptInputs(input_ids, {"pixel_values": pixels}, layout, 1)


def random_embeds(length: int, width: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """[1, length, width]: a common direction plus noise, of unequal norms."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(1, length, width, generator=generator)
    common = torch.randn(width, generator=generator)
    mixed = MEAN_COSINE**0.5 * common + (1 - MEAN_COSINE) ** 0.5 * noise
    scale = 0.02 * (1 + 0.3 * torch.randn(1, length, 1, generator=generator)).abs()
    return (mixed * scale).to(device, dtype)


@dataclass
class Timings:
    """One setting's milliseconds, a round each, and what was pruned."""

    prefill_ms: list[float] = field(default_factory=list)
    prune_ms: list[float] = field(default_factory=list)
    tokens: int = 0
    drop: float = 0.0


class PrefillBench:
    """One decoder, one prompt, several settings of the method in turn; clock: in seconds."""

    def __init__(self, model: PreTrainedModel, prompt: PromptInputs, clock: Callable[[], float]):
        self._model, self._prompt, self._clock = model, prompt, clock
        self._device = model.device
        self._embeds = random_embeds(
            prompt.length, model.config.hidden_size, model.device, model.dtype
        )
        self._positions = torch.arange(prompt.length, device=model.device)[None]
        fake = SimpleNamespace(
            name="bench", model=SimpleNamespace(config=SimpleNamespace(model_type="unlimited_ocr"))
        )
        self._adapter = cast(ModelAdapter, fake)

    @torch.inference_mode()
    def once(self, settings: RTPruneSettings | None, into: Timings) -> None:
        """One prefill; its times go to `into`."""
        hook = RTPruneHook(settings, self._adapter, [self._prompt]) if settings else None
        watch = PrefillWatch(self._prompt.layout, self._timed(hook, into) if hook else None)
        began = self._now()
        with watch.on(self._model):
            self._model(
                inputs_embeds=self._embeds,
                position_ids=self._positions,
                use_cache=True,
                cache=DynamicCache(config=self._model.config),
            )
        into.prefill_ms.append((self._now() - began) * 1000)
        into.tokens = watch.length
        into.drop = hook.stats[0]["ratio"] if hook else 0.0

    def _timed(self, hook: RTPruneHook, into: Timings) -> PrefillHook:
        def timed(
            inputs_embeds: Tensor, position_ids: Tensor, layout: VisualLayout
        ) -> PrunedPrompt:
            began = self._now()
            pruned = hook(inputs_embeds, position_ids, layout)
            into.prune_ms.append((self._now() - began) * 1000)
            return pruned

        return timed

    def run(self, settings: dict[str, RTPruneSettings | None], rounds: int) -> dict[str, Timings]:
        for one in settings.values():
            self.once(one, Timings())  # warm-up
        timings = {name: Timings() for name in settings}
        names = list(settings)
        for turn in range(rounds):
            shift = turn % len(names)
            for name in names[shift:] + names[:shift]:
                self.once(settings[name], timings[name])
        return timings

    def _now(self) -> float:
        """The clock once the device has done all it was given."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return self._clock()


def report(timings: dict[str, Timings]) -> str:
    """One line a setting; the first is what the others are compared with."""
    base = next(iter(timings.values()))
    lines = ["setting      tokens  drop   prefill ms       speed-up             pruning ms   share"]
    for name, own in timings.items():
        speedups = [a / b for a, b in zip(base.prefill_ms, own.prefill_ms, strict=True)]
        line = f"{name:<12} {own.tokens:>6}  {own.drop:.3f}  {_spread(own.prefill_ms, 1):<16} "
        line += f"{_spread(speedups, 2):<20} "
        if own.prune_ms:
            shares = [a / b for a, b in zip(own.prune_ms, own.prefill_ms, strict=True)]
            line += f"{statistics.median(own.prune_ms):>7.1f}      {statistics.median(shares):.1%}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def _spread(values: Sequence[float], digits: int) -> str:
    """Median and the middle half."""
    if len(values) < 3:
        return f"{statistics.median(values):.{digits}f}"
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=list(MODES), default="large", help="page mode")
    parser.add_argument("--layers", type=int, default=3, help=f"{FULL_DEPTH} is the full depth")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="bfloat16")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--settings", nargs="+", default=["dynamic", "0.25"], help="values of --rtprune"
    )
    parser.add_argument("--rtprune-option", nargs="*", default=[], help="key=value for all of them")
    given = parser.parse_args()
    device = torch.device(given.device)
    model = decoder(given.layers, device, getattr(torch, given.dtype))
    settings = {"off": None} | {
        value: parse_rtprune(value, given.rtprune_option) for value in given.settings
    }
    place = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(
        f"{given.mode}, {given.layers} of {FULL_DEPTH} layers, {given.dtype}, {place}, "
        f"{torch.get_num_threads()} threads, {given.clock} clock, {given.rounds} rounds, "
        f"median (middle half)"
    )
    bench = PrefillBench(model, drawn_prompt(given.mode), CLOCKS[given.clock])
    print(report(bench.run(settings, given.rounds)))


if __name__ == "__main__":
    main()

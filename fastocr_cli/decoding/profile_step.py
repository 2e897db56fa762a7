"""What a decode step costs and how much of it is arithmetic: python -m ...decoding.profile_step

Runs the engine on a decoder of the embedded reader's shape with random weights and a random cache
(prefill is skipped, so a long page costs nothing), and beside it the step's matrix products and
attention alone, on the same weights and the same cache. What is left is norms, rotations, cache
writes, token bookkeeping, and Python. One thread; CPU time, which a busy machine distorts less
than the clock on the wall; the tenth percentile of all steps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from PIL import Image
from transformers import Qwen2Config, Qwen2ForCausalLM

from fastocr_cli.decoding import attention
from fastocr_cli.decoding.engine import Batch
from fastocr_cli.decoding.fused import FusedLayer
from fastocr_cli.decoding.pages import Page
from fastocr_cli.decoding.prefill import PrefillHook, PrefillWatch
from fastocr_cli.decoding.stopping import RepetitionLimits
from fastocr_cli.fixation import make_policy
from fastocr_cli.fixation.dense import dense_attention
from fastocr_cli.models.base import LoadRequest, ModelAdapter, PromptInputs, VisualLayout

VOCABULARY = 500
WARM_UP_STEPS = 5
ENDLESS = RepetitionLimits(min_span=1 << 60)
"""Random weights soon repeat themselves, which shall not end a page that is being timed."""


class BareDecoder(ModelAdapter):
    """A random text model behind the adapter's interface; it never stops by itself."""

    def __init__(self, model: Any, *, has_plain_head: bool):
        self.model, self.stop_token_ids = model, frozenset()
        self.name, self.revision, self.prompt = "random", None, ""
        self.has_plain_head = has_plain_head  # type: ignore[misc]

    @classmethod
    def load(cls, request: LoadRequest, config: Any) -> BareDecoder:
        raise NotImplementedError

    def prepare(self, image: Image.Image) -> PromptInputs:
        raise NotImplementedError

    def detokenize(self, token_ids: Sequence[int]) -> str:
        return " ".join(map(str, token_ids))


class FilledBatch(Batch):
    """A batch whose cache is filled with noise instead of prefilled."""

    def _prefill(self, hook: PrefillHook | None) -> tuple[list[Any], list[PrefillWatch]]:
        watches = []
        for row, page in enumerate(self.pages):
            length, shape = page.prompt.length, self._facts.shape
            with self._cache.prefilling(row):
                for layer in range(shape.num_layers):
                    states = torch.randn(2, 1, shape.num_kv_heads, length, shape.head_dim)
                    self._cache.update(states[0], states[1], layer)
            watch = PrefillWatch(page.prompt.layout, hook)
            watch.length = watch.next_position = length
            watches.append(watch)
        outputs = [SimpleNamespace(logits=torch.randn(1, 1, VOCABULARY)) for _ in self.pages]
        return outputs, watches

    def arithmetic(self) -> Callable[[], None]:
        """The products and the dense attention of one step, on this batch's cache."""
        rows, shape = len(self.pages), self._facts.shape
        layers = [FusedLayer.of(layer) for layer in self._calls.decoder.layers]
        head = self._calls.decoder.embed_tokens.weight.t().contiguous()
        narrow = torch.randn(rows, layers[0].qkv.shape[0])
        query = torch.randn(rows, shape.num_heads, shape.head_dim)
        wide = torch.randn(rows, layers[0].down.shape[0])
        stores = [layer.storage for layer in self._cache.layers]

        def run() -> None:
            lengths, longest = self._cache.visible(0), self._cache.longest
            for layer, (keys, values) in zip(layers, stores, strict=True):
                torch.mm(narrow, layer.qkv)
                mixed = dense_attention(query, keys, values, lengths, 0.125, longest)
                torch.mm(mixed.flatten(1), layer.out)
                torch.mm(narrow, layer.gate_up)
                torch.mm(wide, layer.down)
            torch.mm(narrow, head)

        return run


def reader_shaped_model(layers: int) -> Qwen2ForCausalLM:
    attention.install()
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32768,
        tie_word_embeddings=True,
        attn_implementation=attention.ATTENTION_NAME,
    )
    model = Qwen2ForCausalLM(config).eval()
    model.generation_config = SimpleNamespace()
    return model


def measure(calls: Sequence[Callable[[], None]], rounds: int) -> list[float]:
    """Milliseconds of CPU time of each call, taken in turns; the tenth percentile of `rounds`."""
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, times in zip(calls, taken, strict=True):
            began = time.thread_time()
            call()
            times.append((time.thread_time() - began) * 1000)
    return [sorted(times)[len(times) // 10] for times in taken]


@torch.inference_mode()
def profile(
    pages: int, visual: int, keep: float, layers: int, rounds: int, *, fused: bool
) -> tuple[float, float]:
    """A step's milliseconds, and those of its (dense) products and attention alone."""
    adapter = BareDecoder(reader_shaped_model(layers), has_plain_head=fused)
    layout = VisualLayout.raster(torch.arange(visual), 1, visual)
    cap = WARM_UP_STEPS + rounds + 2  # one token comes from prefill, and none is the last
    prompt = PromptInputs(torch.zeros(1, visual + 1, dtype=torch.long), {}, layout, cap)
    batch = FilledBatch(
        adapter,
        [Page(adapter, prompt, None, ENDLESS) for _ in range(pages)],
        make_policy(keep=keep),
    )
    for _ in range(WARM_UP_STEPS):
        batch.step()
    step, arithmetic = measure([batch.step, batch.arithmetic()], rounds)
    return step, arithmetic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--visual", type=int, nargs="+", default=[4600])
    parser.add_argument("--keep", type=float, default=1.0)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--library", action="store_true", help="the model's own forward instead")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print("pages  visual  keep   step ms  dense products ms  share")
    for visual in options.visual:
        for pages in options.pages:
            step, products = profile(
                pages, visual, options.keep, options.layers, options.rounds,
                fused=not options.library,
            )  # fmt: skip
            print(
                f"{pages:5d}  {visual:6d}  {options.keep:4.2f}  {step:8.2f}  {products:17.2f}"
                f"  {products / step:5.0%}"
            )


if __name__ == "__main__":
    main()

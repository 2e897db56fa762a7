"""RTPrune inside prefill, on tiny random models of the real architectures, by the real engine."""

import numpy as np
import pytest
import torch

from fastocr_cli.decoding.engine import generate
from fastocr_cli.errors import UsageError
from fastocr_cli.fixation import make_policy
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.models.base import VisualLayout
from fastocr_cli.models.loading import load_adapter
from fastocr_cli.reader.configuration import ReaderConfig, decoder_config
from fastocr_cli.reader.modeling import ReaderForPageReading
from fastocr_cli.rtprune.hook import RTPruneHook, caution
from fastocr_cli.rtprune.settings import Merge, RTPruneSettings
from tests.models.families import FAMILIES, Family
from tests.models.tiny import page, randomise
from tests.rtprune import reference

DEEPSEEK = ("deepseek_vl_v2", "unlimited_ocr", "deepseek_ocr2")
OTHERS = ("qwen2_5_vl", "qwen3_vl", "smolvlm", "lighton_ocr", "embedded")
STEPS = 12


def tiny_reader(folder):
    """The embedded reader's architecture with random weights."""
    text = decoder_config().to_dict()
    text |= {"hidden_size": 32, "num_hidden_layers": 2, "layer_types": None, "head_dim": 8}
    config = ReaderConfig(tower_channels=(8, 8, 16), tower_blocks=(1, 1, 1), text_config=text)
    randomise(ReaderForPageReading(config)).save_pretrained(folder)
    return folder


PAGES = {"embedded": Family("embedded", tiny_reader, ((160, 120), (200, 90)))} | FAMILIES


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Name of a family to its adapter and the prompts of two pages of different sizes."""
    loaded = {}

    def load_family(name):
        if name not in loaded:
            family = PAGES[name]
            folder = family.build(tmp_path_factory.mktemp(name))
            adapter = load_adapter(str(folder), device="cpu", dtype="float32", offline=True)
            sizes = family.pages[:2]
            prompts = [adapter.prepare(page(*size, seed=i)) for i, size in enumerate(sizes)]
            loaded[name] = adapter, prompts
        return loaded[name]

    return load_family


def read(adapter, prompts, settings=None, policy=None):
    hook = settings and RTPruneHook(settings, adapter, prompts)
    policy = policy or DensePolicy()
    results = generate(adapter, prompts, policy=policy, max_tokens=STEPS, prefill_hook=hook)
    return hook.with_stats(results) if hook else results


@pytest.mark.parametrize("name", DEEPSEEK + OTHERS)
def test_dropping_nothing_is_the_identity_bit_for_bit(load, name):
    adapter, prompts = load(name)
    plain, pruned = read(adapter, prompts), read(adapter, prompts, RTPruneSettings(drop=0.0))
    for before, after in zip(plain, pruned, strict=True):
        assert after.token_ids == before.token_ids
        assert after.logprobs == before.logprobs
        assert after.stats.extra["rtprune"]["dropped"] == 0


@pytest.mark.parametrize("name", DEEPSEEK + OTHERS)
@pytest.mark.usefixtures("all_legible")
def test_tokens_equal_a_decoder_fed_the_pruned_prompt_by_hand(load, name):
    """No cache and no engine: the whole sequence again each step, with its own position ids."""
    adapter, prompts = load(name)
    settings = RTPruneSettings(drop=0.5)
    for prompt in prompts:
        [ours] = read(adapter, [prompt], settings)
        expected = decode_by_hand(adapter, prompt, settings, len(ours.token_ids))
        assert list(ours.token_ids) == expected


def decode_by_hand(adapter, prompt, settings, steps):
    """Greedy tokens, positions going on at the unpruned prompt's end."""
    arguments = decoder_arguments(adapter, prompt)
    embeds, positions = arguments["inputs_embeds"], arguments.get("position_ids")
    if positions is None:
        positions = torch.arange(prompt.length)[None]
    pruned = RTPruneHook(settings, adapter, [prompt])(embeds, positions, prompt.layout)
    embeds, ids = pruned.inputs_embeds, pruned.position_ids
    following, tokens = int(positions.max()) + 1, []
    visual = arguments.get("visual_pos_masks")
    bias, place = own_rules(adapter, prompt)
    for _ in range(steps):
        extra = {}
        if visual is not None:  # Qwen3-VL
            is_left = visual[:, pruned.kept]
            rows = [i for i, at in enumerate(visual[0].nonzero()[:, 0]) if at in pruned.kept]
            extra["visual_pos_masks"] = torch.cat([is_left, torch.zeros(1, len(tokens)).bool()], 1)
            extra["deepstack_visual_embeds"] = [
                one[rows] for one in arguments["deepstack_visual_embeds"]
            ]
        mask = torch.ones(1, embeds.shape[1], dtype=torch.long)
        hidden = adapter.decoder(
            inputs_embeds=embeds,
            position_ids=ids,
            attention_mask=unlimited_mask(adapter, pruned, embeds.shape[1]) or mask,
            use_cache=False,
            **extra,
        ).last_hidden_state
        scores = adapter.model.get_output_embeddings()(hidden[:, -1])[0]
        tokens.append(int((scores + torch.from_numpy(bias.bias()) if bias else scores).argmax()))
        for follower in filter(None, (bias, place)):
            follower.add(tokens[-1])
        where = torch.tensor([place.place]) if place else None
        new = adapter.embed_text(torch.tensor(tokens[-1:]), where)
        embeds = torch.cat([embeds, new[None]], dim=1)
        ids = torch.cat([ids, torch.full((*ids.shape[:-1], 1), following)], dim=-1)
        following += 1
    return tokens


def own_rules(adapter, prompt):
    """What the model itself says of the next token and its place, None where it says nothing."""
    with torch.inference_mode():
        seen = adapter.model(input_ids=prompt.input_ids, use_cache=False, **prompt.features)
    return adapter.new_bias(seen, aided=True), adapter.new_place()


def unlimited_mask(adapter, pruned, length):
    """Unlimited-OCR's own: a written token sees the whole prompt and the last written ones."""
    config = adapter.decoder_config
    if "reference_sliding_attention" not in (getattr(config, "layer_types", None) or ()):
        return None
    query, key = torch.arange(length)[:, None], torch.arange(length)[None]
    near = (key > query - config.sliding_window) | (key < len(pruned.kept))
    visible = ((key <= query) & near)[None, None]
    return {"full_attention": visible, "reference_sliding_attention": visible}


class CaughtError(Exception):
    pass


def decoder_arguments(adapter, prompt):
    """What the model hands its text model for this prompt."""
    caught = {}

    def catch(module, args, kwargs):
        caught.update(kwargs)
        raise CaughtError

    handle = adapter.decoder.register_forward_pre_hook(catch, with_kwargs=True)
    try:
        with torch.inference_mode(), pytest.raises(CaughtError):
            adapter.model(input_ids=prompt.input_ids, use_cache=False, **prompt.features)
    finally:
        handle.remove()
    return caught


@pytest.mark.parametrize(
    ("name", "merge"),
    [
        *(("unlimited_ocr", merge) for merge in Merge),
        *((name, Merge.MEAN) for name in ("deepseek_vl_v2", *OTHERS)),
    ],
)
def test_what_remains_is_in_its_place(load, name, merge):
    adapter, prompts = load(name)
    prompt, settings = prompts[1], RTPruneSettings(drop=0.6, merge=merge)
    embeds = decoder_arguments(adapter, prompt)["inputs_embeds"]
    positions = torch.arange(prompt.length).expand(3, 1, -1)
    pruned = RTPruneHook(settings, adapter, [prompt])(embeds, positions, prompt.layout)
    before, after = prompt.layout, pruned.layout

    assert (pruned.kept.diff() > 0).all()
    assert torch.equal(pruned.position_ids, pruned.kept.expand(3, 1, -1))
    came_from = {int(at): i for i, at in enumerate(before.positions)}
    index = torch.tensor([came_from[int(at)] for at in pruned.kept[after.positions]])
    assert torch.equal(after.structural, before.structural[index])
    assert torch.equal(after.grid, before.grid[index])
    torch.testing.assert_close(after.boxes, before.boxes[index], equal_nan=True)
    is_text = set(range(prompt.length)) - set(came_from)
    assert is_text <= set(pruned.kept.tolist())

    patches = embeds[0, before.positions[~before.structural]].numpy()
    expected, merged = reference.prune(
        patches,
        after.num_patches,
        merge=merge.value,
        temperature=settings.plan_temperature,
        strength=settings.strength,
    )
    of_patches = (~before.structural).nonzero()[:, 0]
    assert index[~after.structural].tolist() == of_patches[expected].tolist()
    ours = pruned.inputs_embeds[0, after.positions[~after.structural]]
    np.testing.assert_allclose(ours.numpy(), merged, atol=1e-5, rtol=1e-5)
    untouched = torch.ones(len(pruned.kept), dtype=torch.bool)
    untouched[after.positions[~after.structural]] = False
    assert torch.equal(pruned.inputs_embeds[0, untouched], embeds[0, pruned.kept[untouched]])


@pytest.mark.parametrize("name", ["unlimited_ocr", "embedded"])
def test_dynamic_ratio_equals_the_reference(load, name):
    adapter, prompts = load(name)
    for prompt, result in zip(prompts, read(adapter, prompts, RTPruneSettings()), strict=True):
        stats = result.stats.extra["rtprune"]
        layout = prompt.layout
        embeds = decoder_arguments(adapter, prompt)["inputs_embeds"][0]
        redundant = reference.redundancy(embeds[layout.positions[~layout.structural]].numpy())
        view = prompt.features["pixel_values"][0].expand(3, -1, -1).numpy()
        last_view = layout.grid[layout.grid[:, 0] == layout.grid[:, 0].max()]
        rows, columns = last_view[:, 1].max() + 1, last_view[:, 2].max() + 1
        density = reference.edge_density(view, int(rows), int(columns))
        keep = reference.keep_ratio(redundant, density)
        assert stats["redundancy"] == pytest.approx(redundant, abs=1e-6)
        assert stats["edge_density"] == pytest.approx(density, abs=1e-6)
        assert stats["ratio"] == pytest.approx(1 - keep, abs=1e-6)
        assert stats["kept"] == int(layout.num_patches * keep)


@pytest.mark.parametrize("name", DEEPSEEK)
def test_stats_add_up(load, name):
    adapter, prompts = load(name)
    for prompt, result in zip(prompts, read(adapter, prompts, RTPruneSettings()), strict=True):
        stats = result.stats.extra["rtprune"]
        parts = ("kept", "dropped", "protected", "row_ends_dropped")
        assert stats["tokens_in"] == prompt.layout.num_tokens == sum(stats[part] for part in parts)
        assert stats["merged"] == stats["dropped"] > 0
        assert stats["protected"] == int(prompt.layout.structural.sum())
        assert result.stats.visual_tokens == stats["kept"] + stats["protected"]
        assert 0 < stats["prune_ms"] < result.stats.prefill_ms


def test_bytes_are_held_to_the_whole_prompt(load):
    """What dense attention would have read is that of a prompt with nothing dropped."""
    adapter, prompts = load("deepseek_vl_v2")
    [plain] = read(adapter, prompts[:1])
    [pruned] = read(adapter, prompts[:1], RTPruneSettings(drop=0.5))
    assert plain.stats.decode_steps == pruned.stats.decode_steps == STEPS - 1
    assert pruned.stats.kv_bytes_dense == plain.stats.kv_bytes_dense == plain.stats.kv_bytes_read
    gone = plain.stats.prompt_tokens - pruned.stats.prompt_tokens
    dropped_share = gone * (STEPS - 1) / sum(plain.stats.prompt_tokens + n for n in range(1, STEPS))
    assert pruned.stats.kv_share == pytest.approx(1 - dropped_share)


def test_a_page_is_pruned_alike_alone_and_in_a_batch(load):
    adapter, prompts = load("deepseek_vl_v2")
    together = read(adapter, prompts, RTPruneSettings())
    for prompt, result in zip(prompts, together, strict=True):
        [alone] = read(adapter, [prompt], RTPruneSettings())
        assert alone.token_ids == result.token_ids


def test_fixation_works_on_what_is_left(load):
    """Full keep over a pruned prompt equals dense; a small keep counts the remaining tokens."""
    adapter, prompts = load("deepseek_vl_v2")
    settings = RTPruneSettings(drop=0.5)
    dense = read(adapter, prompts, settings)
    full = read(adapter, prompts, settings, make_policy("fastocr", 1.0))
    assert [one.token_ids for one in full] == [one.token_ids for one in dense]
    narrow = read(adapter, prompts, settings, make_policy("fastocr", 0.25, focal_layers=(0,)))
    for one in narrow:
        assert one.stats.visual_tokens < one.stats.extra["rtprune"]["tokens_in"]
        assert one.stats.keep_sparse_layers < 1
        boxes = [place for place in one.places if place is not None]
        assert boxes
        assert all(0 <= side <= 1 for box in boxes for side in box)


def test_a_prompt_without_an_image_passes_through(load):
    adapter, prompts = load("deepseek_vl_v2")
    hook = RTPruneHook(RTPruneSettings(), adapter, prompts)
    embeds, positions = torch.randn(1, 7, 32), torch.arange(7)[None]
    hook._prompts = [type(prompts[0])(positions, {}, VisualLayout.empty(), 1)]
    pruned = hook(embeds, positions, VisualLayout.empty())
    assert pruned.inputs_embeds is embeds
    assert hook.stats[0]["tokens_in"] == 0


def test_refuses_tokens_without_places(load):
    with pytest.raises(UsageError, match="leave out --rtprune"):
        read(*load("llava"), RTPruneSettings(drop=0.5))


def test_refuses_a_dynamic_ratio_without_the_page_in_one_piece(load):
    with pytest.raises(UsageError, match="give a share to drop"):
        read(*load("qwen2_5_vl"), RTPruneSettings())


def test_caution_says_what_is_not_the_published_case(load):
    assert caution(load("deepseek_vl_v2")[0]) is None
    assert "queries" in caution(load("deepseek_ocr2")[0])
    assert "experimental" in caution(load("smolvlm")[0])

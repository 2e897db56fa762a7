"""Attention of several new tokens at once, against the tokens one by one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fastocr_cli.fixation import make_policy
from fastocr_cli.fixation.dense import DensePolicy, dense_attention
from fastocr_cli.fixation.drafts import fold, folded_heads
from fastocr_cli.fixation.policy import PolicyState
from fastocr_cli.fixation.state import Call
from tests.fixation.scene import Page, Scene

PAGES = [Page(6, 9, row_ends=True), Page(5, 8, before=0, after=7)]
WIDTH = 3


def drafted(scene: Scene, state: PolicyState, layers: int = 4) -> Tensor:
    """All layers of one step that takes in `WIDTH` tokens a page: [layers, B, T, Hq, D]."""
    lengths = scene.lengths(WIDTH - 1)
    state.begin_step(int(lengths.max()), [WIDTH] * len(lengths))
    return torch.stack(
        [
            state.attend(
                layer,
                scene.queries[:, layer].transpose(0, 1),
                scene.keys[layer],
                scene.values[layer],
                lengths,
                scene.scale,
            )
            for layer in range(layers)
        ]
    )


def test_dense_tokens_see_what_stands_before_them() -> None:
    scene = Scene(PAGES, steps=WIDTH)
    together = drafted(scene, scene.start(DensePolicy()))
    for token in range(WIDTH):
        for layer in range(4):
            alone = dense_attention(
                scene.queries[token, layer],
                scene.keys[layer],
                scene.values[layer],
                scene.lengths(token),
                scene.scale,
                int(scene.lengths(token).max()),
            )
            torch.testing.assert_close(together[layer, :, token], alone)


def test_a_draft_has_one_fixation_for_all_its_tokens() -> None:
    """Outside of it nothing is read; inside, every token attends as one alone would."""
    scene = Scene(PAGES, steps=WIDTH)
    policy = make_policy("fastocr", 0.2, focal_layers="1", minimum=1)
    state = scene.start(policy)
    drafted(scene, state)
    again = drafted(scene, state)
    fixation = state._fixation
    assert fixation.counts.tolist() == [11, 8]
    for row, page in enumerate(PAGES):
        prompt = torch.ones(page.prompt, dtype=torch.bool)
        layout = page.layout
        prompt[layout.positions[~layout.structural]] = False
        chosen = fixation.positions[row]
        prompt[chosen[chosen >= 0]] = True
        for token in range(WIDTH):
            seen = torch.cat([prompt, torch.ones(token + 1, dtype=torch.bool)])
            length = len(seen)
            keys, values = (
                cache[2, row, :length][seen][None] for cache in (scene.keys, scene.values)
            )
            count = torch.tensor([int(seen.sum())])
            alone = dense_attention(
                scene.queries[token, 2, row][None], keys, values, count, scene.scale, int(count)
            )
            torch.testing.assert_close(again[2, row, token], alone[0])


@pytest.mark.parametrize("heads", [None, [1, 2], [3]])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_scores_of_a_draft_are_the_mean_of_its_tokens(heads: list[int] | None, width: int) -> None:
    """All see the first token and no other, and padding adds to all patches alike."""
    scene = Scene(PAGES[:1], steps=WIDTH)
    state = scene.start(make_policy("fastocr", 0.2, focal_layers="1"))
    state.begin_step(0, [width])
    query = scene.queries[:, 1].transpose(0, 1)
    lengths = scene.lengths(WIDTH - 1)
    call = Call(1, query, scene.keys[1], scene.values[1], lengths, scene.scale)
    scores = state.scores(call, heads)[0]
    before = int(scene.prompts[0]) + 1
    keys = scene.keys[1, 0, :before].repeat_interleave(2, dim=1)
    logits = torch.einsum("thd,nhd->thn", scene.queries[:width, 1, 0], keys) * scene.scale
    positions = PAGES[0].layout.positions[~PAGES[0].layout.structural]
    weights = logits.softmax(-1)[:, heads or slice(None)].mean(dim=(0, 1))[positions]
    padding = (WIDTH - width) / before
    torch.testing.assert_close(scores, (width * weights + padding) / WIDTH)


def test_folded_heads_are_found_again() -> None:
    query = torch.arange(2 * 3 * 8).view(2, 3, 8, 1)
    folded = fold(query, 4)
    assert folded.shape == (2, 24, 1)
    for head in range(8):
        where = folded_heads([head], 3, 2)
        assert torch.equal(folded[:, where], query[:, :, head])
        assert all(place // 6 == head // 2 for place in where)

"""The whole method on tensors against the slow reference, and its properties."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.rtprune.prune import Pruned, prune_features
from fastocr_cli.rtprune.settings import Merge, RTPruneSettings
from tests.rtprune import reference

seeds = st.integers(0, 2**32 - 1)
merges = st.sampled_from(Merge)


def page_features(generator, batch, tokens, width, common=0.5):
    """Features with a common direction and norms that differ, as projected patches have."""
    features = generator.normal(size=(batch, tokens, width)) + common
    return torch.from_numpy((features * generator.uniform(0.5, 2, (batch, tokens, 1))).astype("f4"))


def assert_equals_reference(pruned: Pruned, features, counts, options):
    for row, count in enumerate(counts):
        kept, merged = reference.prune(
            features[row].numpy(),
            count,
            merge=options.merge.value,
            temperature=options.plan_temperature,
            strength=options.strength,
        )
        real = pruned.is_real[row]
        assert pruned.index[row][real].tolist() == kept
        np.testing.assert_allclose(pruned.features[row][real].numpy(), merged, atol=1e-5, rtol=1e-5)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 3), st.integers(1, 20), st.integers(1, 12), merges)
def test_equals_the_reference(seed, batch, tokens, width, merge):
    generator = np.random.default_rng(seed)
    features = page_features(generator, batch, tokens, width)
    counts = generator.integers(1, tokens + 1, batch)
    options = RTPruneSettings(merge=merge, strength=float(generator.uniform(0, 1)))
    pruned = prune_features(features, torch.from_numpy(counts), options)
    assert_equals_reference(pruned, features, counts, options)


MODES = {"tiny": 64, "small": 100, "base": 256, "large": 400, "gundam-2x2": 656}


@pytest.mark.parametrize(
    "mode",
    ["tiny", "small", *(pytest.param(mode, marks=pytest.mark.slow) for mode in list(MODES)[2:])],
)
def test_equals_the_reference_at_the_sizes_of_each_mode(mode):
    tokens = MODES[mode]
    features = page_features(np.random.default_rng(tokens), 1, tokens, 32)
    counts = torch.tensor([int(0.8 * tokens)])
    pruned = prune_features(features, counts, RTPruneSettings())
    assert_equals_reference(pruned, features, counts.tolist(), RTPruneSettings())


@settings(max_examples=25, deadline=None)
@given(seeds, merges)
def test_a_row_of_a_padded_batch_equals_the_batch_of_one(seed, merge):
    """Padding holds NaN, so that reading it anywhere would show."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 15, 3)
    counts = torch.from_numpy(np.array([generator.integers(1, n + 1) for n in lengths]))
    features = page_features(generator, 3, 15, 6)
    is_real = torch.arange(15) < torch.from_numpy(lengths)[:, None]
    options = RTPruneSettings(merge=merge)
    together = prune_features(
        features.masked_fill(~is_real[:, :, None], torch.nan), counts, options, is_real=is_real
    )
    for row, length in enumerate(lengths):
        alone = prune_features(features[row : row + 1, :length], counts[row : row + 1], options)
        real = together.is_real[row]
        torch.testing.assert_close(together.index[row][real], alone.index[0])
        torch.testing.assert_close(together.features[row][real], alone.features[0])
        assert (together.features[row][~real] == 0).all()


@settings(max_examples=25, deadline=None)
@given(seeds, merges)
def test_permuting_the_dropped_tokens_changes_nothing(seed, merge):
    generator = np.random.default_rng(seed)
    features = page_features(generator, 1, 20, 8)
    options, counts = RTPruneSettings(merge=merge), torch.tensor([12])
    before = prune_features(features, counts, options)
    dropped = np.setdiff1d(np.arange(20), before.index[0].numpy())
    shuffled = features.clone()
    shuffled[0, dropped] = features[0, generator.permutation(dropped)]
    after = prune_features(shuffled, counts, options)
    assert torch.equal(after.index, before.index)
    torch.testing.assert_close(after.features, before.features, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("merge", Merge)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_keeping_all_is_the_identity_bit_for_bit(merge, dtype):
    features = page_features(np.random.default_rng(0), 2, 11, 5).to(dtype)
    pruned = prune_features(features, torch.tensor([11, 11]), RTPruneSettings(merge=merge))
    assert torch.equal(pruned.features, features)
    assert pruned.index.tolist() == [list(range(11))] * 2
    assert pruned.is_real.all()


def test_without_merge_kept_tokens_are_untouched():
    features = page_features(np.random.default_rng(0), 1, 11, 5)
    pruned = prune_features(features, torch.tensor([4]), RTPruneSettings(merge=Merge.NONE))
    assert torch.equal(pruned.features, features[:, pruned.index[0]])


def test_mean_is_the_limit_of_the_plan_at_high_temperature():
    features = page_features(np.random.default_rng(0), 1, 30, 8)
    mean, hot = (
        prune_features(features, torch.tensor([20]), options).features
        for options in (RTPruneSettings(merge=Merge.MEAN), RTPruneSettings(temperature=100.0))
    )
    torch.testing.assert_close(mean, hot, atol=2e-4, rtol=0)


def test_low_precision_costs_no_more_than_its_rounding():
    features = page_features(np.random.default_rng(0), 1, 64, 16).bfloat16()
    pruned = prune_features(features, torch.tensor([48]), RTPruneSettings())
    wide = prune_features(features.float(), torch.tensor([48]), RTPruneSettings())
    assert pruned.features.dtype is torch.bfloat16
    assert torch.equal(pruned.index, wide.index)
    assert torch.equal(pruned.features, wide.features.bfloat16())

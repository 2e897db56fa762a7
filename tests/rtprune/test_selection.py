"""Edge density, redundancy, prune ratio and choice, against the slow reference and by property."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.rtprune.density import edge_density
from fastocr_cli.rtprune.prune import unit_features
from fastocr_cli.rtprune.selection import keep_count, keep_highest, prune_ratio, redundancy
from tests.rtprune import reference

seeds = st.integers(0, 2**32 - 1)


def page_views(generator, batch, height, width):
    """Pages as processors give them: 8-bit values in -1..1; ink on a share of the pixels."""
    ink = generator.random((batch, 1, height, width)) < generator.random((batch, 1, 1, 1))
    levels = np.where(ink, generator.integers(0, 256, (batch, 3, height, width)), 255)
    return (levels / 127.5 - 1).astype(np.float32)


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.sampled_from([1, 2, 7]))
def test_density_equals_the_reference(seed, batch, rows, columns, side):
    views = page_views(np.random.default_rng(seed), batch, rows * side, columns * (side + 1))
    ours = edge_density(torch.from_numpy(views), (rows, columns))
    expected = [reference.edge_density(view, rows, columns) for view in views]
    np.testing.assert_allclose(ours.numpy(), expected, atol=1e-6)


def test_density_equals_the_reference_at_the_published_patch_size():
    views = page_views(np.random.default_rng(0), 1, 128, 192)
    ours = edge_density(torch.from_numpy(views), (2, 3)).item()
    assert ours == pytest.approx(reference.edge_density(views[0], 2, 3), abs=1e-6)


@pytest.mark.parametrize("pitch", [64, 16])
def test_an_empty_white_page_has_the_density_of_its_patch_rims(pitch):
    views = torch.ones(2, 1, 4 * pitch, 3 * pitch)
    expected = 1 - (1 - 2 / pitch) ** 2
    torch.testing.assert_close(edge_density(views, (4, 3)), torch.full((2,), expected))


def test_density_of_mid_grey_is_zero_and_more_ink_is_denser():
    assert edge_density(torch.zeros(1, 3, 64, 64), (1, 1)).item() == 0
    page = torch.ones(3, 1, 128, 128)
    page[1, :, ::16] = -1
    page[2, :, ::8] = -1
    densities = edge_density(page, (2, 2))
    assert densities[0] < densities[1] < densities[2]


def test_density_refuses_a_view_that_patches_do_not_fill():
    with pytest.raises(ValueError, match="60 x 64"):
        edge_density(torch.zeros(1, 3, 60, 64), (7, 8))


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 3), st.integers(1, 24), st.integers(1, 24), st.floats(0, 3))
def test_redundancy_equals_the_reference(seed, batch, tokens, width, common):
    """Both sides of tokens = width: the sum is taken from the smaller product."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(batch, tokens, width)) + common
    directions, _ = unit_features(torch.from_numpy(features.astype(np.float32)))
    ours = redundancy(directions, torch.full((batch,), tokens))
    expected = [reference.redundancy(page) for page in features.astype(np.float32)]
    np.testing.assert_allclose(ours.numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("width", [4, 64])
def test_padding_does_not_count_as_tokens(width):
    features = torch.randn(1, 9, width, generator=torch.Generator().manual_seed(1))
    directions, _ = unit_features(features)
    padded = torch.cat([directions, torch.zeros(1, 20, width)], dim=1)
    alone = redundancy(directions, torch.tensor([9]))
    torch.testing.assert_close(redundancy(padded, torch.tensor([9])), alone)


@given(st.floats(0, 1), st.floats(0, 1))
def test_ratio_equals_the_published_form(redundant, density):
    ours = prune_ratio(torch.tensor([redundant]), torch.tensor([density])).item()
    assert ours == pytest.approx(1 - reference.keep_ratio(redundant, density), abs=1e-6)


def test_ratio_falls_with_edge_density_and_rises_with_redundancy():
    steps = torch.linspace(0, 1, 11)
    assert (prune_ratio(torch.tensor(0.4), steps).diff() < 0).all()
    assert (prune_ratio(steps, torch.tensor(0.4)).diff() > 0).all()


@given(st.integers(1, 1500), st.integers(0, 999))
def test_fixed_share_is_truncated_as_if_the_arithmetic_were_exact(tokens, thousandths):
    share = thousandths / 1000
    assert keep_count(tokens, share) == reference.fixed_keep_count(tokens, share)


def test_at_least_one_token_stays():
    assert keep_count(256, 1.0) == 1
    assert keep_count(10, 0.9) == 1


@settings(max_examples=50, deadline=None)
@given(seeds, st.integers(1, 4), st.integers(1, 40))
def test_kept_tokens_have_the_highest_norms(seed, batch, tokens):
    generator = torch.Generator().manual_seed(seed)
    norms = torch.randint(0, 9, (batch, tokens), generator=generator).float()  # with ties
    counts = torch.randint(1, tokens + 1, (batch,), generator=generator)
    kept = keep_highest(norms, counts)
    assert kept.sum(-1).tolist() == counts.tolist()
    for row, mask, count in zip(norms.tolist(), kept.tolist(), counts.tolist(), strict=True):
        order = sorted(range(tokens), key=lambda i: (-row[i], i))  # of equals, the first
        assert {i for i in range(tokens) if mask[i]} == set(order[:count])

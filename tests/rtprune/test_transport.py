"""The transport plan against the log-domain form, its marginals, and the early stop's promise."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.rtprune import transport
from fastocr_cli.rtprune.transport import ITERATIONS, flat_share, rounds_needed, transport_plan
from tests.rtprune import reference

seeds = st.integers(0, 2**32 - 1)
temperatures = st.sampled_from([0.05, 0.1, 0.5, 1.0, 10.0])


def random_scores(seed, kept, dropped):
    generator = np.random.default_rng(seed)
    low, high = sorted(generator.uniform(-1, 1, 2))
    return generator.uniform(low, high, (kept, dropped)).astype(np.float32)


def whole_plan(scores, temperature):
    kept, dropped = (torch.ones(1, size, dtype=torch.bool) for size in scores.shape)
    return transport_plan(torch.from_numpy(scores)[None], kept, dropped, temperature)[0]


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 9), st.integers(1, 9), temperatures)
def test_equals_the_log_domain_reference(seed, kept, dropped, temperature):
    scores = random_scores(seed, kept, dropped)
    expected = np.array(reference.log_sinkhorn(scores.tolist(), temperature, ITERATIONS))
    np.testing.assert_allclose(
        whole_plan(scores, temperature).numpy(), expected[:-1, :-1], rtol=1e-5, atol=1e-6
    )


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 40), st.integers(1, 40), temperatures)
def test_early_stop_differs_from_a_hundred_rounds_by_rounding_only(
    seed, kept, dropped, temperature
):
    """In float64, where rounding hides nothing, the plan stays within TOLERANCE."""
    scores = torch.from_numpy(random_scores(seed, kept, dropped)).double()
    rounds = rounds_needed(scores, temperature)
    ours, full = (sinkhorn_float64(scores, temperature, n) for n in (rounds, ITERATIONS))
    assert ((ours - full).abs() <= transport.TOLERANCE * full + 1e-14).all()


def sinkhorn_float64(scores, temperature, rounds):
    kept, dropped = scores.shape
    kernel = torch.full((kept + 1, dropped + 1), 0.2, dtype=torch.float64)
    kernel[:-1, :-1] = scores
    kernel = (kernel / temperature).exp()
    rows = torch.cat([torch.ones(kept), torch.tensor([float(dropped)])]).double()
    columns = torch.cat([torch.ones(dropped), torch.tensor([float(kept)])]).double()
    column_scale = torch.ones_like(columns)
    for _ in range(rounds):
        row_scale = rows / (kernel @ column_scale)
        column_scale = columns / (kernel.T @ row_scale)
    return row_scale[:, None] * kernel * column_scale


def test_flat_scores_need_few_rounds_and_peaked_ones_all():
    scores = torch.linspace(0.2, 0.6, 20).reshape(4, 5)
    assert rounds_needed(scores, 1.0) <= 10
    assert rounds_needed(scores, 0.01) == ITERATIONS
    assert rounds_needed(torch.full((4, 5), 0.2), 1.0) == 1
    assert rounds_needed(torch.tensor([[-1.0, 1.0]]), 1.0) <= 40, "the worst cosines can do"


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 60), st.integers(1, 60))
def test_marginals_hold_at_the_published_temperature(seed, kept, dropped):
    """Mass one for each real row and column once the dustbin, here implied, is counted in."""
    plan = whole_plan(random_scores(seed, kept, dropped), 1.0)
    assert (plan > 0).all()
    assert (plan.sum(0) < 1).all()
    assert (plan.sum(1) < 1).all()


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 8), st.integers(1, 8))
def test_marginals_with_the_dustbin(seed, kept, dropped):
    """The dustbin's share is recovered from the plan's own scaling: K_iz / K_ij per entry."""
    scores = random_scores(seed, kept, dropped)
    plan = whole_plan(scores, 1.0).double().numpy()
    full = np.array(reference.log_sinkhorn(scores.tolist(), 1.0, ITERATIONS))
    np.testing.assert_allclose(plan.sum(1) + full[:-1, -1], 1, atol=1e-5)
    np.testing.assert_allclose(plan.sum(0) + full[-1, :-1], 1, atol=1e-5)
    np.testing.assert_allclose(full[-1].sum(), dropped, atol=1e-9)
    np.testing.assert_allclose(full[:, -1].sum(), kept, atol=1e-9)


def test_high_temperature_tends_to_the_flat_share():
    """One source of one at a time: what each kept row receives is its entry in the plan."""
    plan = whole_plan(random_scores(3, 12, 7), 100.0)
    kept, dropped = torch.ones(1, 12, dtype=torch.bool), torch.ones(1, 7, dtype=torch.bool)
    flat = flat_share(torch.eye(7)[None], kept, dropped)[0]
    torch.testing.assert_close(flat, torch.full((12, 7), 1 / 19))
    torch.testing.assert_close(plan, flat, rtol=0.03, atol=0)


def test_a_peaked_plan_sends_a_token_to_its_like():
    scores = torch.full((6, 3), 0.3)
    scores[4, 1] = 0.95
    peaked, published = (whole_plan(scores.numpy(), t) for t in (0.05, 1.0))
    assert peaked[4, 1] > 0.9 > 0.3 > published[4, 1]


@settings(max_examples=20, deadline=None)
@given(seeds, temperatures)
def test_padding_receives_and_sends_nothing_and_changes_nothing(seed, temperature):
    scores = random_scores(seed, 9, 6)
    alone = whole_plan(scores[:5, :4].copy(), temperature)
    kept, dropped = torch.arange(9)[None] < 5, torch.arange(6)[None] < 4
    padded = transport_plan(torch.from_numpy(scores)[None], kept, dropped, temperature)[0]
    assert (padded[5:] == 0).all()
    assert (padded[:, 4:] == 0).all()
    torch.testing.assert_close(padded[:5, :4], alone, rtol=1e-5, atol=1e-6)

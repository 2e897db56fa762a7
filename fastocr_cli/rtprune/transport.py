"""Sharing out the dropped tokens among the kept ones by entropic optimal transport.

Knows score matrices; does not know how they came about. The plan is SuperGlue's: a dustbin row and
column take what fits nowhere, and alternating scaling (Sinkhorn) brings the row and column sums to
their marginals. The published form works on logarithms; at temperatures from 0.05 up nothing can
overflow, so the same iteration runs here on the matrix itself, as two small products a round.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

DUSTBIN_SCORE = 0.2
ITERATIONS = 100
TOLERANCE = 1e-7
"""Largest relative error of a plan entry from stopping early; float32 rounds at 6e-8."""


def transport_plan(
    scores: torch.Tensor,
    kept: torch.Tensor,
    dropped: torch.Tensor,
    temperature: float,
) -> torch.Tensor:
    """The plan [B, M, P]: how much of dropped token j goes to kept token i, dustbin left out.

    scores: [B, M, P] cosines. kept [B, M], dropped [B, P]: which rows and columns are real; the
    others receive and send nothing. Every real row and column has mass one, the row dustbin takes
    up to P and the column dustbin up to M. Columns are scaled last, so their sums are exact.
    """
    kernel = (F.pad(scores, (0, 1, 0, 1), value=DUSTBIN_SCORE) / temperature).exp()
    rows, columns = _marginals(kept, dropped), _marginals(dropped, kept)
    kernel = kernel * (rows > 0)[:, :, None] * (columns > 0)[:, None, :]
    row_scale, column_scale = torch.zeros_like(rows), (columns > 0).to(kernel)
    for _ in range(rounds_needed(scores, temperature)):
        row_scale = _scale(rows, kernel @ column_scale[:, :, None])
        column_scale = _scale(columns, kernel.mT @ row_scale[:, :, None])
    return (row_scale[:, :, None] * kernel * column_scale[:, None, :])[:, :-1, :-1]


def flat_share(sources: torch.Tensor, kept: torch.Tensor, dropped: torch.Tensor) -> torch.Tensor:
    """What the plan sends at infinite temperature, where each real entry is 1 / (M + P).

    sources: [B, P, D], zero in padding. Returns [B, M, D], alike in all kept rows.
    """
    total = kept.sum(-1) + dropped.sum(-1)
    return kept[:, :, None] * (sources.sum(1) / total[:, None])[:, None]


def rounds_needed(scores: torch.Tensor, temperature: float) -> int:
    """Rounds after which the plan differs from the hundredth round's by less than TOLERANCE.

    Every round contracts Hilbert's projective distance to the fixed point by tanh(D/4)^2, where D,
    the kernel's projective diameter, is at most twice the range of scores / temperature (Birkhoff);
    after the first round the distance is at most D. A column of the plan is K_ij r_i normalised, so
    its relative error is at most that distance, and stopping at half the tolerance covers the
    hundredth round's own distance too. Flat plans need about ten rounds, peaked ones all hundred.
    """
    low, high = (bound.item() for bound in scores.aminmax())
    spread = max(high, DUSTBIN_SCORE) - min(low, DUSTBIN_SCORE)
    diameter = 2 * spread / temperature
    if diameter <= TOLERANCE / 2:
        return 1
    shrinkage = 2 * math.log(math.tanh(diameter / 4))
    if shrinkage == 0:
        return ITERATIONS
    rounds = 1 + math.ceil(math.log(TOLERANCE / 2 / diameter) / shrinkage)
    return min(rounds, ITERATIONS)


def _marginals(own: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """One for each real token, and for the dustbin as much as the other side has. [B, n + 1]."""
    return torch.cat([own.float(), other.sum(-1, keepdim=True).float()], dim=-1)


def _scale(marginals: torch.Tensor, sums: torch.Tensor) -> torch.Tensor:
    """marginals [B, n] / sums [B, n, 1]; zero in padding, where both are."""
    sums = sums[:, :, 0]
    return torch.where(marginals > 0, marginals / sums, 0)

"""Muon: momentum whose matrices are made orthogonal before they are applied.

torch.optim.Muon does the same, but multiplies in bfloat16 whatever the processor, which processors
without bf16 units only emulate; here the products are in the weights' own type.

Source: K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024), with
the step size of J. Liu et al., "Muon is scalable for LLM training" (2025), equation 4, which makes
AdamW's learning rates and weight decay fit.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_STEPS = 5


class Muon(torch.optim.Optimizer):
    """For hidden layers only: matrices [out, in], and convolutions as matrices [out, the rest]."""

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        weight_decay: float = 0.02,
        momentum: float = 0.95,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["momentum"] = torch.zeros_like(weight)
                momentum = state["momentum"]
                momentum.lerp_(weight.grad, 1 - group["momentum"])
                matrix = weight.grad.lerp(momentum, group["momentum"]).flatten(1)
                update = orthogonal(matrix).view_as(weight)
                weight.mul_(1 - group["lr"] * group["decay"])
                weight.add_(update, alpha=-0.2 * max(matrix.shape) ** 0.5 * group["lr"])


def orthogonal(matrix: Tensor) -> Tensor:
    """About U V^T of matrix [n, m] = U S V^T, by five Newton-Schulz steps: singular values come to
    lie between 0.7 and 1.2."""
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / (x.norm() + 1e-7)
    a, b, c = _COEFFICIENTS
    for _ in range(_STEPS):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x

"""The profile of a decode step: it lasts as long as it is asked to."""

from __future__ import annotations

import torch

from fastocr_cli.decoding.profile_step import profile


def test_repetition_ends_no_profile() -> None:
    """Random weights repeat themselves long before so many steps."""
    torch.manual_seed(0)
    step, arithmetic = profile(1, 20, 1.0, 1, 600, fused=True)
    assert step > 0
    assert arithmetic > 0

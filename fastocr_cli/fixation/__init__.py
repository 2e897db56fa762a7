"""Attention policies: what each decode step reads of the cached page."""

from __future__ import annotations

from typing import Any

from fastocr_cli.errors import UsageError
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.fixation.policy import AttentionPolicy, DecoderShape, PolicyState, PolicyStats

__all__ = ["AttentionPolicy", "DecoderShape", "PolicyState", "PolicyStats", "make_policy"]


def make_policy(method: str = "fastocr", keep: float = 1.0, **options: Any) -> AttentionPolicy:
    """The policy called `method` at `keep`, a share of the visual tokens above 0 and at most 1.

    Raises UsageError for an unknown method, option or an impossible keep.
    """
    if not 0 < keep <= 1:
        raise UsageError(f"keep must be above 0 and at most 1, not {keep}")
    if method == "dense" or keep == 1.0:
        return DensePolicy()
    raise UsageError(f"unknown method '{method}'; known: dense")

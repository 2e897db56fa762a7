"""Attention policies: what each decode step reads of the cached page."""

from __future__ import annotations

from typing import Any

from fastocr_cli.fixation.calibration import Calibration
from fastocr_cli.fixation.dense import DensePolicy
from fastocr_cli.fixation.fastocr import FastOCRPolicy
from fastocr_cli.fixation.finder import FocalFinder
from fastocr_cli.fixation.focal import TaughtGaze
from fastocr_cli.fixation.h2o import H2OPolicy
from fastocr_cli.fixation.omnikv import OmniKVPolicy
from fastocr_cli.fixation.oracle import OraclePolicy
from fastocr_cli.fixation.policy import AttentionPolicy, DecoderShape, PolicyState, PolicyStats
from fastocr_cli.fixation.quest import QuestPolicy
from fastocr_cli.fixation.random import RandomPolicy
from fastocr_cli.fixation.selector import SelectorPolicy
from fastocr_cli.fixation.settings import (
    FixationSettings,
    check_name,
    read_settings,
    require,
)
from fastocr_cli.fixation.snapkv import SnapKVPolicy
from fastocr_cli.fixation.tidal import TidalPolicy

__all__ = [
    "METHODS",
    "AttentionPolicy",
    "DecoderShape",
    "PolicyState",
    "PolicyStats",
    "make_policy",
]

_RIVALS: dict[str, Any] = {
    policy.name: policy
    for policy in (
        OraclePolicy,
        SelectorPolicy,
        TidalPolicy,
        OmniKVPolicy,
        QuestPolicy,
        SnapKVPolicy,
        H2OPolicy,
        RandomPolicy,
    )
}

METHODS = ("fastocr", "dense", *_RIVALS)
"""Names `make_policy` knows; all but the first two are there to be compared with."""


def make_policy(
    method: str = "fastocr",
    keep: float = 1.0,
    *,
    calibration: Calibration | TaughtGaze | None = None,
    **options: Any,
) -> AttentionPolicy:
    """The policy called `method` at `keep`, a share of the visual tokens from 0 to 1.

    calibration: measured or taught focal layers for "fastocr", where the options name none.
    options: further settings by name, text or values; `FixationSettings` documents those of
        "fastocr", each rival's dataclass its own.
    Raises UsageError for an unknown method or option and for a value that cannot be meant.
    """
    check_name(method, METHODS, "method")
    require(0 <= keep <= 1, "keep", keep, "a share from 0 to 1")
    if method == "fastocr":
        settings = read_settings(FixationSettings, {**options, "keep": keep})
        choice = calibration.choice(settings) if calibration else None
        return FastOCRPolicy(settings, FocalFinder(settings, choice))
    if method == "dense":
        return read_settings(DensePolicy, options)
    policy: AttentionPolicy = read_settings(_RIVALS[method], {**options, "keep": keep})
    return policy

"""What the user may choose about RTPrune, and how it is spelt.

Knows no tensors, so that the command line can use it without loading torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from fastocr_cli.errors import SettingError, UsageError


class Merge(StrEnum):
    """What becomes of the dropped tokens.

    none: they are gone. published: an optimal transport plan at temperature 1 shares them out
    among the kept ones. peaked: the same plan at temperature 0.05, so that a dropped token goes to
    those it resembles. mean: every kept token gets the same, the plan's limit at high temperature.
    """

    NONE = "none"
    MEAN = "mean"
    PUBLISHED = "published"
    PEAKED = "peaked"


PLAN_TEMPERATURES = {Merge.PUBLISHED: 1.0, Merge.PEAKED: 0.05}
MIN_TEMPERATURE = 0.05
"""Below this, exp(cosine / temperature) would leave the range in which float32 is exact enough."""


@dataclass(frozen=True, slots=True)
class RTPruneSettings:
    """The method's settings; the defaults are the published constants.

    drop: share of the patch tokens to drop, 0 <= drop < 1, or None: each page's own (dynamic).
    merge: what becomes of the dropped tokens.
    temperature: of the transport plan; None: the merge variant's own.
    strength: how much of what the plan sends is added to a kept token.
    Raises UsageError where a value cannot be meant.
    """

    drop: float | None = None
    merge: Merge = Merge.PUBLISHED
    temperature: float | None = None
    strength: float = 0.1

    def __post_init__(self) -> None:
        if self.drop is not None and not 0 <= self.drop < 1:
            reason = "give a share to drop, from 0 to less than 1, such as 0.25"
            raise SettingError("rtprune", f"{self.drop:g}", reason)
        if self.temperature is not None:
            if self.merge not in PLAN_TEMPERATURES:
                reason = "has no plan, so no temperature"
                raise SettingError("rtprune_option", f"merge={self.merge}", reason)
            if not MIN_TEMPERATURE <= self.temperature <= 100:
                given, reason = f"temperature={self.temperature}", f"give {MIN_TEMPERATURE} to 100"
                raise SettingError("rtprune_option", given, reason)
        if not 0 <= self.strength <= 1:
            raise SettingError("rtprune_option", f"strength={self.strength}", "give 0 to 1")

    @property
    def plan_temperature(self) -> float:
        """The temperature in force; infinite for the plain mean."""
        if self.temperature is not None:
            return self.temperature
        return PLAN_TEMPERATURES.get(self.merge, float("inf"))


def parse_rtprune(value: str | None, options: Sequence[str] = ()) -> RTPruneSettings | None:
    """Settings from `--rtprune`'s value and `--rtprune-option key=value`; None: switched off.

    value: "dynamic", a share to drop such as "0.25", "off", or None where the option was not given.
    options: temperature, strength and merge.
    Raises UsageError for anything else.
    """
    if value is None and options:
        reason = "needs --rtprune: add it, or leave the option out"
        raise SettingError("rtprune_option", ",".join(options), reason)
    if value is None or value == "off":
        return None
    settings = RTPruneSettings(drop=_parse_drop(value))
    changes = dict(_parse_option(option) for option in options)
    return replace(settings, **changes)


def parse_variant(text: str) -> RTPruneSettings:
    """Settings written in one word, as a bench lists them: SHARE or SHARE:MERGE, such as
    "dynamic" or "0.25:peaked". Raises UsageError for anything else."""
    drop, _, merge = text.partition(":")
    settings = parse_rtprune(drop, [f"merge={merge}"] if merge else ())
    if settings is None:
        raise UsageError("--rtprune off: the unpruned page is always there to compare with")
    return settings


def _parse_drop(value: str) -> float | None:
    if value == "dynamic":
        return None
    try:
        return float(value)
    except ValueError:
        reason = "give dynamic, off or a share to drop such as 0.25"
        raise SettingError("rtprune", value, reason) from None


OPTION_PARSERS: dict[str, Callable[[str], Any]] = {
    "temperature": float,
    "strength": float,
    "merge": Merge,
}


def _parse_option(option: str) -> tuple[str, Any]:
    key, _, text = option.partition("=")
    if key not in OPTION_PARSERS:
        raise SettingError("rtprune_option", option, f"known are {', '.join(OPTION_PARSERS)}")
    try:
        return key, OPTION_PARSERS[key](text)
    except ValueError:
        wanted = "one of " + ", ".join(Merge) if key == "merge" else "a number"
        raise SettingError("rtprune_option", option, f"{key} must be {wanted}") from None

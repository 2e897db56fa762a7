"""What `--rtprune` and `--rtprune-option` accept, and how they refuse."""

import subprocess
import sys

import pytest

from fastocr_cli.errors import UsageError
from fastocr_cli.rtprune.settings import Merge, RTPruneSettings, parse_rtprune, parse_variant


@pytest.mark.parametrize("value", [None, "off"])
def test_off(value):
    assert parse_rtprune(value) is None


@pytest.mark.parametrize(("value", "drop"), [("dynamic", None), ("0.25", 0.25), ("0", 0.0)])
def test_share_to_drop(value, drop):
    assert parse_rtprune(value) == RTPruneSettings(drop=drop)


def test_defaults_are_the_published_constants():
    settings = RTPruneSettings()
    assert settings.drop is None
    assert settings.merge is Merge.PUBLISHED
    assert settings.plan_temperature == 1.0
    assert settings.strength == 0.1


def test_options():
    options = ["merge=peaked", "temperature=0.1", "strength=0.5"]
    assert parse_rtprune("dynamic", options) == RTPruneSettings(None, Merge.PEAKED, 0.1, 0.5)


def test_temperature_follows_the_variant():
    assert parse_rtprune("dynamic", ["merge=peaked"]).plan_temperature == 0.05
    assert parse_rtprune("dynamic", ["merge=mean"]).plan_temperature == float("inf")


def test_a_bench_writes_settings_in_a_word() -> None:
    assert parse_variant("dynamic") == RTPruneSettings()
    assert parse_variant("0.25:none") == RTPruneSettings(0.25, Merge.NONE)
    for wrong in ("off", "0.25:nonsense", "much"):
        with pytest.raises(UsageError):
            parse_variant(wrong)


@pytest.mark.parametrize(
    ("value", "options", "named"),
    [
        ("a lot", [], "a lot"),
        ("1", [], "1"),
        ("-0.1", [], "-0.1"),
        ("nan", [], "nan"),
        (None, ["strength=0.1"], "--rtprune"),
        ("dynamic", ["strenght=0.1"], "strenght"),
        ("dynamic", ["strength"], "strength"),
        ("dynamic", ["strength=2"], "2"),
        ("dynamic", ["temperature=0.001"], "0.001"),
        ("dynamic", ["temperature=nan"], "nan"),
        ("dynamic", ["merge=none", "temperature=1"], "merge=none"),
        ("dynamic", ["merge=sinkhorn"], "published"),
    ],
)
def test_refuses_and_names_what_is_wrong(value, options, named):
    with pytest.raises(UsageError, match=named.replace("-", r"\-")):
        parse_rtprune(value, options)


def test_settings_load_no_torch():
    code = "import sys, fastocr_cli.rtprune.settings; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Settings: read from words, refused with a hint, never silently ignored."""

from __future__ import annotations

import pytest

from fastocr_cli.errors import UsageError
from fastocr_cli.fixation import METHODS, make_policy
from fastocr_cli.fixation.settings import FixationSettings, read_settings


def read(*words: str) -> FixationSettings:
    return read_settings(FixationSettings, dict(word.split("=") for word in words))


def test_every_field_is_read_by_its_type() -> None:
    settings = read(
        "keep=0.05",
        "minimum=8",
        "focal_fraction=0.2",
        "focal_layers=9,4",
        "dense_layers=0",
        "heads=chosen",
        "focal_output=sparse",
        "focal_stride=1",
        "reuse=off",
        "dilation=1",
        "refresh=32",
        "min_mass=0.5",
        "probe_steps=4",
        "trace=3",
    )
    assert settings == FixationSettings(
        keep=0.05,
        minimum=8,
        focal_fraction=0.2,
        focal_layers=(4, 9),
        dense_layers=(0,),
        heads="chosen",
        focal_output="sparse",
        focal_stride=1,
        reuse=False,
        dilation=1,
        refresh=32,
        min_mass=0.5,
        probe_steps=4,
        trace=3,
    )


def test_zero_and_off_are_respected() -> None:
    assert read("keep=0", "minimum=0", "reuse=no") == FixationSettings(
        keep=0.0, minimum=0, reuse=False
    )


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("refesh=3", "did you mean 'refresh'"),
        ("focal-layers=3", "did you mean 'focal_layers'"),
        ("zzz=3", "known are keep, minimum"),
        ("refresh=soon", "cannot read 'soon' as refresh"),
        ("reuse=maybe", "write on or off"),
        ("focal_layers=1,x", "cannot read '1,x' as focal_layers"),
        ("focal_layers=,", "must be one layer or more"),
        ("focal_layers=-1", "counted from 0"),
        ("heads=median", "mean or max or chosen"),
        ("rest=keep", "drop or mean"),
        ("keep=1.5", "a share from 0 to 1"),
        ("keep=nan", "a share from 0 to 1"),
        ("dilation=-1", "0 or more"),
        ("probe_steps=0", "1 or more"),
        ("focal_stride=0", "1 or more"),
        ("focal_fraction=0", "in (0, 1]"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_hint(word: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(word)
    assert hint in str(caught.value)


def test_one_number_is_a_list_of_one() -> None:
    assert read_settings(FixationSettings, {"focal_layers": 2}).focal_layers == (2,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("minimum", 2.5),
        ("minimum", "2.5"),
        ("refresh", 2.5),
        ("refresh", True),
        ("min_mass", True),
        ("min_mass", [0.5]),
        ("reuse", 1),
        ("focal_layers", [1, 2.5]),
        ("focal_layers", [True]),
        ("focal_layers", {"1": 2}),
        ("dense_layers", None),
        ("heads", 3),
    ],
)
def test_values_are_checked_as_text_is(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=name):
        read_settings(FixationSettings, {name: value})


def test_values_are_converted_as_text_is() -> None:
    options = {"min_mass": 1, "focal_layers": [9, "4"], "focal_stride": None, "reuse": False}
    settings = read_settings(FixationSettings, options)
    assert settings == FixationSettings(min_mass=1.0, focal_layers=(4, 9), reuse=False)
    assert isinstance(settings.min_mass, float)


def test_strides_need_reuse() -> None:
    assert read("focal_stride=4").focal_stride == 4
    with pytest.raises(UsageError, match="1 without reuse"):
        read("focal_stride=4", "reuse=off")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_made_by_its_name(method: str) -> None:
    assert make_policy(method, keep=0.1).name == method


def test_rivals_read_their_own_options() -> None:
    assert make_policy("quest", keep=0.1, page="8").page == 8  # type: ignore[attr-defined]
    assert make_policy("omnikv", keep=0.1, filters="2,5").filters == (2, 5)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="did you mean 'window'"):
        make_policy("snapkv", keep=0.1, windows="8")
    with pytest.raises(UsageError, match="odd number"):
        make_policy("snapkv", keep=0.1, pool="4")


def test_an_unknown_method_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="unknown method 'snapvk': did you mean 'snapkv'"):
        make_policy("snapvk", keep=0.1)
    with pytest.raises(UsageError, match="keep is 2"):
        make_policy("dense", keep=2)

"""Damaged bytes never raise anything but a FastocrError with a one-line message."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.raster.fuzz_inputs import damage, read_damaged, seeds


@pytest.fixture(autouse=True)
def _low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000_000)


@pytest.mark.parametrize("name", seeds())
def test_seeds_are_good(name: str) -> None:
    assert read_damaged(seeds()[name]) == "read"


@pytest.mark.parametrize("name", seeds())
def test_damaged_documents(name: str) -> None:
    rng = random.Random(name)
    for _ in range(15):
        read_damaged(damage(seeds()[name], rng))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([data[:12] for data in seeds().values()]), st.binary(max_size=300))
def test_anything_after_a_good_beginning(head: bytes, rest: bytes) -> None:
    read_damaged(head + rest)

"""Each format's output, byte for byte, against files that a person has looked at."""

import pytest

from fastocr_cli.writers import FORMATS
from tests.writers.examples import GOLDEN, golden_text


@pytest.mark.parametrize("name", FORMATS)
def test_output_equals_the_golden_file(name: str) -> None:
    assert golden_text(name).encode() == (GOLDEN / f"example.{name}").read_bytes()

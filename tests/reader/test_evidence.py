"""What the tower saw, and whether it is writing at all."""

from __future__ import annotations

import numpy as np
import pytest

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Evidence
from fastocr_cli.reader.order import ReadingOrder
from fastocr_cli.results import PageStatus
from tests.reader.test_order import COLUMNS, ROWS, page_of


def doubtful_page(certainty: float) -> Evidence:
    """Every column shows some character, of which one is as likely as `certainty`."""
    columns = np.full((ROWS, COLUMNS, 4, v.FIRST_COLUMN), 1e-9, np.float32)
    spread = 60
    first = v.FIRST_CHARACTER
    columns[..., first : first + spread] = (1 - certainty) / (spread - 1)
    columns[..., first] = certainty
    starts = np.full((ROWS, COLUMNS, v.FIRST_CHARACTER), 1e-6, np.float32)
    starts[..., 6] = 1.0
    return Evidence(np.log(starts), np.log(columns))


def test_chances_count_nothing_at_its_own_frequency() -> None:
    starts = np.full((1, 1, v.FIRST_CHARACTER), 1e-9, np.float32)
    starts[..., 0] = starts[..., 6] = 0.5  # as likely, for training counts nothing a tenth
    columns = np.full((1, 1, 4, v.FIRST_COLUMN), 1e-9, np.float32)
    columns[..., v.FIRST_CHARACTER] = 1.0
    assert Evidence(np.log(starts), np.log(columns)).line[0, 0] == pytest.approx(1 / 11, abs=0.01)


@pytest.mark.parametrize(
    ("certainty", "status"), [(0.2, PageStatus.BLANK), (0.7, PageStatus.FAILED)]
)
def test_what_is_not_our_writing_is_not_read(certainty: float, status: PageStatus) -> None:
    seen = doubtful_page(certainty)
    assert not seen.is_legible
    order = ReadingOrder(seen)
    assert np.flatnonzero(np.isfinite(order.bias())).tolist() == [v.EOS]
    assert order.empty_status is status


def test_clear_print_is_read() -> None:
    assert page_of((2, 3, "we read")).is_legible
    assert doubtful_page(0.99).is_legible


def test_the_seam_between_two_characters_is_none() -> None:
    seen = page_of((2, 3, "ab"))
    seam = 3 * 4 + 2
    seen.shows[2, seam] = 1 / v.FIRST_COLUMN
    seen.ink[2, seam] = v.character_id("z")
    glyph = seen.glyph(2, seam, seam + 4)
    assert glyph is not None
    assert (glyph.start, glyph.likeliest) == (seam + 1, v.character_id("b"))


def test_large_type_is_told_from_its_letters() -> None:
    seen = page_of((2, 3, "n o n o"))
    seen.ink[2] = np.repeat(seen.ink[2][: seen.ink.shape[1] // 2], 2)
    assert seen.type_size(2, 24) > 1.5 * page_of((2, 3, "n o n o")).type_size(2, 12)

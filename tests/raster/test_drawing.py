"""Pages drawn ahead by other processes: the same pages, in the same order, none lost."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from fastocr_cli.errors import InputError
from fastocr_cli.inputs.documents import document_from_file
from fastocr_cli.raster import RasterSettings, drawing, open_document
from fastocr_cli.raster.drawing import Drawer, Order, draw_now, hold_ahead
from tests.cli.fakes import make_pdf


def order(path: Path, number: int) -> Order:
    document = document_from_file(path, str(path), Path(path.name))
    return Order(document, number, RasterSettings(), has_thumbnail=True)


@pytest.mark.parametrize("window", [0, 1, 3, 100])
def test_nothing_is_lost_and_no_more_than_the_window_waits(window):
    given: list[int] = []

    def items():
        for item in range(20):
            assert sum(n % 3 > 0 for n in range(item)) - sum(n % 3 > 0 for n in given) <= window
            yield item

    for item in hold_ahead(items(), lambda: window, lambda n: n % 3 > 0):
        given.append(item)
    assert given == list(range(20))


def test_processes_draw_what_this_one_would(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", 3, blank=(2,))
    with Drawer(lambda: 1) as drawer, open_document(order(path, 1).document) as pages:
        drawings = [drawer.draw(order(path, number), pages) for number in (1, 2, 3)]
        assert drawer.window == 2
        for number, page in enumerate(drawings, 1):
            here, there = draw_now(order(path, number), pages), page()
            assert np.array_equal(here.image.pixels, there.image.pixels)
            assert (here.is_blank, here.thumbnail) == (there.is_blank, there.thumbnail)
            assert here.is_blank == (number == 2)
        with pytest.raises(InputError, match="page 9"):
            drawer.draw(order(path, 9), pages)()


def crash_on_page_2(order):
    if order.number == 2:
        os._exit(11)
    return drawing._draw_elsewhere(order)


def test_a_page_that_kills_its_process_fails_alone(tmp_path, monkeypatch):
    path = make_pdf(tmp_path / "a.pdf", 3)
    original = drawing.ProcessPoolExecutor.submit
    monkeypatch.setattr(
        drawing.ProcessPoolExecutor,
        "submit",
        lambda pool, function, order: original(pool, crash_on_page_2, order),
    )
    with Drawer(lambda: 1) as drawer, open_document(order(path, 1).document) as pages:
        drawings = [drawer.draw(order(path, number), pages) for number in (1, 2, 3)]
        assert drawings[0]().image.number == 1
        with pytest.raises(InputError, match="page 2: the library that draws it crashed"):
            drawings[1]()
        assert drawings[2]().image.number == 3

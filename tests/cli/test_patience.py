"""Further attempts at a page, and going on when memory runs out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fastocr_cli.errors import UsageError
from fastocr_cli.patience import PatientReader
from fastocr_cli.results import PageImage, PageReading, PageStats, PageStatus
from tests.cli.fakes import FakeReader

WIDTH = 100
LOOPED, OK, TRUNCATED = PageStatus.LOOPED, PageStatus.OK, PageStatus.TRUNCATED


def page(number: int = 1) -> PageImage:
    return PageImage(np.full((80, WIDTH, 3), number, np.uint8), number, 144.0, "a.pdf")


def patient(reader: FakeReader, **more) -> PatientReader:
    return PatientReader(lambda: reader, **more)


def test_complete_pages_are_read_once():
    reader = FakeReader()
    (attempt,) = patient(reader).read([page()])
    assert (attempt.reading.status, attempt.warnings) == (OK, ())
    assert reader.batches == [1]


def test_other_scale_comes_first_then_dense_attention():
    tried = []

    def behave(image, keep):
        tried.append((image.width_px, keep))
        return OK if keep == 1.0 else LOOPED

    (attempt,) = patient(FakeReader(behave, keep=0.25)).read([page()])
    assert tried == [(100, 0.25), (85, 0.25), (100, 1.0)]
    assert attempt.reading.status is PageStatus.RETRIED
    assert attempt.warnings == ("looped at first, read again with dense attention",)


@pytest.mark.parametrize("last", [OK, LOOPED])
def test_the_time_of_every_attempt_is_the_page_s(last):
    """Each takes 5 ms."""
    reader = FakeReader(lambda image, keep: last if keep == 1.0 else LOOPED, keep=0.25)
    (attempt,) = patient(reader).read([page()])
    assert len(reader.batches) == 3
    assert attempt.reading.stats.decode_ms == 15
    assert attempt.reading.stats.generated_tokens == len(attempt.reading.token_ids)


def test_the_last_attempt_prunes_nothing_before_the_decoder_either():
    reader = FakeReader(lambda image, keep: LOOPED)
    reader.rtprune = "some settings"
    patient(reader).read([page()])
    assert reader.pruned == [True, True, False]


def test_what_to_know_of_the_model_is_said_once():
    reader, notes = FakeReader(), []
    reader.warning = "experimental"
    reading = patient(reader, notify=notes.append)
    reading.read([page(1)])
    reading.read([page(2)])
    assert notes == ["experimental"]


def test_only_the_pages_in_trouble_are_read_again():
    def behave(image, keep):
        return LOOPED if image.number == 2 and image.width_px == WIDTH else OK

    reader = FakeReader(behave)
    attempts = patient(reader, batch_size=4).read([page(n) for n in (1, 2, 3)])
    assert [a.reading.status for a in attempts] == [OK, PageStatus.RETRIED, OK]
    assert reader.pages_read == [1, 2, 3, 2]


def test_the_best_attempt_is_kept_when_none_is_complete():
    def behave(image, keep):
        return TRUNCATED if image.width_px < WIDTH else LOOPED

    (attempt,) = patient(FakeReader(behave, keep=0.5)).read([page()])
    assert attempt.reading.status is TRUNCATED
    (attempt,) = patient(FakeReader(lambda image, keep: LOOPED, keep=0.5)).read([page()])
    assert attempt.reading.text.startswith("page 1")


@pytest.mark.parametrize(("most", "reads"), [(0, 1), (1, 2), (2, 3), (9, 3)])
def test_attempts_are_limited(most, reads):
    reader = FakeReader(lambda image, keep: LOOPED, keep=0.5)
    patient(reader, max_retries=most).read([page()])
    assert len(reader.batches) == reads


@pytest.mark.parametrize(("limit", "reads"), [(5, 1), (5000, 2)])
def test_a_limit_of_the_user_s_is_no_reason_to_try_again(limit, reads):
    reader = FakeReader(lambda image, keep: TRUNCATED)
    patient(reader, max_tokens=limit).read([page()])
    assert len(reader.batches) == reads


def test_what_a_reading_warns_of_is_told():
    class Warning(FakeReader):
        def read(self, images, max_tokens=None, **more):
            return [replace(one, warnings=("half",)) for one in super().read(images, **more)]

    (attempt,) = patient(Warning(lambda image, keep: TRUNCATED)).read([page()])
    assert attempt.warnings == ("half",)


class SmallMemory(FakeReader):
    """Holds at most `room` pages."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def read(self, images, max_tokens=None, **more):
        if len(images) > self.room:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return super().read(images, max_tokens, **more)


def test_batch_is_halved_for_good_when_memory_runs_out():
    reader, notes = SmallMemory(2), []
    reading = patient(reader, batch_size=8, notify=notes.append)
    attempts = reading.read([page(n) for n in range(8)])
    assert [a.reading.text[:6] for a in attempts] == [f"page {n}" for n in range(8)]
    assert reading.batch_size == 2
    assert notes == [
        "out of memory: going on with 4 page(s) at a time",
        "out of memory: going on with 2 page(s) at a time",
    ]
    reading.read([page(n) for n in range(4)])
    assert reader.batches == [2] * 6


def test_a_page_too_large_on_its_own_fails_alone():
    attempts = patient(SmallMemory(0), batch_size=2, max_retries=0).read([page(1), page(2)])
    assert [a.reading.status for a in attempts] == [PageStatus.FAILED] * 2
    assert "out of memory" in attempts[0].warnings[0]


def test_errors_of_the_request_are_not_pages_faults():
    def behave(image, keep):
        raise UsageError("this model has no such mode")

    with pytest.raises(UsageError):
        patient(FakeReader(behave)).read([page()])


def test_model_is_loaded_once_and_only_when_needed():
    loads = []

    def load():
        loads.append(1)
        return FakeReader()

    reading = PatientReader(load)
    assert not reading.is_loaded
    reading.read([page()])
    reading.read([page()])
    assert (reading.is_loaded, loads) == (True, [1])


def test_failed_reading_has_a_status_a_script_can_trust():
    def behave(image, keep):
        raise ValueError("odd")

    (attempt,) = patient(FakeReader(behave)).read([page()])
    assert attempt.reading == PageReading("", (), (), PageStatus.FAILED, PageStats())


def turning(turn: int, status: PageStatus = PageStatus.FAILED) -> FakeReader:
    """Reads a page whose dark upper left corner has come to where `turn` degrees clockwise bring
    it, and nothing else."""

    def behave(image, keep):
        corners = {0: (0, 0), 90: (0, -1), 180: (-1, -1), 270: (-1, 0)}
        return OK if image.pixels[corners[turn]][0] == 0 else status

    return FakeReader(behave)


def cornered() -> PageImage:
    pixels = np.full((80, WIDTH, 3), 255, np.uint8)
    pixels[0, 0] = 0
    return PageImage(pixels, 1, 144.0, "a.pdf")


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_page_with_nothing_to_read_is_turned(turn):
    reader = turning(turn)
    (attempt,) = patient(reader, turns=True, max_retries=0).read([cornered()])
    assert attempt.reading.status is PageStatus.RETRIED
    assert attempt.warnings == (f"failed at first, read again turned by {turn} degrees",)
    box = {90: (0.2, 0.7, 0.4, 0.9), 180: (0.7, 0.6, 0.9, 0.8), 270: (0.6, 0.1, 0.8, 0.3)}[turn]
    assert attempt.reading.places[1] == pytest.approx(box)


def test_a_page_that_no_turn_helps_stays_as_it_was():
    reader = FakeReader(lambda image, keep: PageStatus.FAILED)
    (attempt,) = patient(reader, turns=True, max_retries=0).read([page()])
    assert attempt.reading.status is PageStatus.FAILED
    assert reader.batches == [1, 1, 1, 1]


@pytest.mark.parametrize("notices", [lambda image: image.width_px == WIDTH, lambda image: False])
def test_writing_that_one_attempt_could_not_make_out_is_not_called_blank_by_another(notices):
    def behave(image, keep):
        return PageStatus.FAILED if notices(image) else PageStatus.BLANK

    (attempt,) = patient(FakeReader(behave), turns=True).read([page()])
    assert attempt.reading.status is behave(page(), 1.0)


def test_what_is_read_after_a_turn_stays_turned():
    """On its head and too long for the first attempt: the other scale reads it turned as well."""

    def behave(image, keep):
        if image.pixels[-1, -1].mean() > 128:
            return PageStatus.FAILED
        return OK if image.width_px < WIDTH else LOOPED

    page = cornered()
    page.pixels[:4, :4] = 0
    (attempt,) = patient(FakeReader(behave), turns=True).read([page])
    assert (attempt.reading.status, attempt.turn) == (PageStatus.RETRIED, 180)
    assert attempt.reading.places[1] == pytest.approx((0.7, 0.6, 0.9, 0.8))


@pytest.mark.parametrize("asked", [True, False])
def test_pages_are_turned_only_if_asked_and_the_model_knows_what_it_cannot_read(asked):
    reader = turning(180)
    reader.adapter.has_aids = not asked
    (attempt,) = patient(reader, turns=asked, max_retries=0).read([cornered()])
    assert attempt.reading.status is PageStatus.FAILED
    assert reader.batches == [1]

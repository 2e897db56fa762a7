"""The soak folder through the input layer: each input ends as its manifest says, in flat memory."""

import resource
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fastocr_cli.errors import FastocrError
from fastocr_cli.inputs.documents import Document
from fastocr_cli.inputs.sources import BadInput, Inputs, resolve
from fastocr_cli.raster import iter_pages
from fastocr_cli.raster.blank import is_blank
from fastocr_cli.results import PageImage
from tests.soak.make_soak import BROKEN, INPUTS, Entry, make_soak
from tests.soak.sheets import Sheet

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def soak(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Entry], Inputs]:
    folder = tmp_path_factory.mktemp("soak")
    return make_soak(folder), resolve([folder / "inputs"])


def test_the_folder_is_what_it_promises(soak: tuple[list[Entry], Inputs]) -> None:
    entries, _ = soak
    assert len(entries) == INPUTS == 300
    assert sum(1 for e in entries if not e.pages or "failed" in e.pages) == BROKEN == 60
    assert len({entry.kind for entry in entries}) >= 40


def test_every_input_is_found_once(soak: tuple[list[Entry], Inputs]) -> None:
    entries, inputs = soak
    found = [Path(item.source).name for item in inputs.items]
    assert sorted(found) == sorted(Path(entry.path).name for entry in entries)


def test_every_input_ends_as_it_should(soak: tuple[list[Entry], Inputs]) -> None:
    entries, inputs = soak
    expected = {Path(entry.path).name: entry for entry in entries}
    wrong, memory, begin = [], [], time.monotonic()
    for item in inputs.items:
        entry = expected[Path(item.source).name]
        if (outcome := end_of(item, entry)) != (entry.pages, entry.exit_code):
            wrong.append((entry, outcome))
        memory.append(resident_mib())
    assert not wrong
    seconds = time.monotonic() - begin
    print(f"{len(memory)} inputs in {seconds:.0f} s; MiB: {memory[50]} early, {memory[-1]} at last")
    assert memory[-1] - memory[50] < 100


def resident_mib() -> int:
    """Memory in use now; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * resource.getpagesize() // 2**20


def end_of(item: Document | BadInput, entry: Entry) -> tuple[tuple[str, ...], int]:
    """What became of each page, or the exit code of the error."""
    if isinstance(item, BadInput):
        return (), int(item.error.exit_code)
    try:
        pages = tuple(end_of_page(page, entry) for page in iter_pages(item))
        # An input whose only page cannot be drawn is no better than one that does not open.
        return ((), 4) if set(pages) == {"failed"} else (pages, 0)
    except FastocrError as error:
        return (), int(error.exit_code)


def end_of_page(page: object, entry: Entry) -> str:
    if not isinstance(page, PageImage):
        return "failed"
    if is_blank(page):
        return "blank"
    text = entry.texts[page.number - 1]
    return "read" if text is None or looks_like(page, text) else "wrong"


def looks_like(page: PageImage, lines: tuple[str, ...]) -> bool:
    """Whether the page shows the sheet with these lines, give or take compression."""
    number, page_number = (int(word) for word in lines[0].replace(",", "").split()[1::2])
    sheet = Sheet(number, page_number)
    assert sheet.lines == lines
    seen = Image.fromarray(page.pixels).convert("L").resize(sheet.image.size)
    difference = np.abs(np.asarray(seen, float) - np.asarray(sheet.image, float))
    return bool(difference.mean() < 8)

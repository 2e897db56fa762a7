"""How well the embedded reader reads: a line a set, on fonts, texts and documents held out.

    python -m fastocr_cli.reader.evaluate [MODEL] --pdfs FOLDER --json FILE

Sets that need what is not installed (fonts, PDFs, tesseract) are left out and said to be.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import orjson
import torch
import typer
from PIL import Image

from fastocr_cli.api import parse
from fastocr_cli.bench.peers import read_by_tesseract
from fastocr_cli.bench.scoring import character_error_rate, normalise, word_recall
from fastocr_cli.models.embedded import as_pixels
from fastocr_cli.raster.base import FINE_DPI
from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.scale import TARGET_EM_PX
from fastocr_cli.reader.training import noise
from fastocr_cli.reader.training.fonts import held_out_faces
from fastocr_cli.reader.training.found import documents, found_page
from fastocr_cli.reader.training.pages import Page, marked
from fastocr_cli.reader.training.samples import Sample, crop_sample, tokens_of
from fastocr_cli.reader.training.typeset import typeset_page
from fastocr_cli.reading import Reader
from fastocr_cli.results import PageImage, PageStatus

EM_PX = 10 / 72 * FINE_DPI
"""Of body text in 10 pt, as the tool draws it."""


@dataclass(frozen=True)
class SetResult:
    """One line of the table. cer and word_recall are over all characters and words of the set."""

    name: str
    pages: int
    characters: int
    cer: float
    word_recall: float
    broken: int
    seconds: float


@dataclass(frozen=True)
class Read:
    """What was read of one page or document, and what stands there."""

    text: str
    truth: str
    statuses: tuple[PageStatus, ...]


def score_set(name: str, reads: Iterable[Read]) -> SetResult:
    """Compare every reading; `broken` counts pages that looped or hit their token cap."""
    errors = recalled = 0.0
    pages = characters = words = broken = 0
    began = time.perf_counter()
    for read in reads:
        length, number = len(normalise(read.truth)), len(normalise(read.truth).split())
        errors += character_error_rate(read.text, read.truth) * length
        recalled += word_recall(read.text, read.truth) * number
        broken += sum(s in (PageStatus.LOOPED, PageStatus.TRUNCATED) for s in read.statuses)
        pages += len(read.statuses)
        characters, words = characters + length, words + number
    return SetResult(
        *(name, pages, characters, errors / max(characters, 1), recalled / max(words, 1)),
        *(broken, time.perf_counter() - began),
    )


def read_pages(
    reader: Reader,
    pages: Iterable[Page],
    change: Callable[[noise.Grey], noise.Grey] = lambda grey: grey,
) -> Iterator[Read]:
    """Each page's raster, after `change`, against its known text."""
    for page in pages:
        reading = reader.read(Image.fromarray(change(page.grey)))[0]
        yield Read(reader.to_markdown(reading.text), truth_of(page), (reading.status,))


def read_documents(reader: Reader, folder: Path) -> Iterator[Read]:
    """Each document of `folder` that has its Markdown beside it."""
    for path in sorted(folder.iterdir()):
        truth = path.with_suffix(".md")
        if path.suffix in (".pdf", ".png", ".tiff") and truth.is_file():
            results = list(parse(path, reader=reader))
            text = "\n\n".join(result.markdown for result in results)
            yield Read(text, truth.read_text(), tuple(result.status for result in results))


def truth_of(page: Page) -> str:
    rows, columns = (side // v.CELL_PX + 1 for side in page.grey.shape)
    tokens, _ = tokens_of([marked(line) for line in page.lines], rows, columns, (0, 0))
    return v.detokenize(tokens.tolist())


def typeset_pages(
    count: int, seed: str, prose_share: float | None = None, em_px: float = EM_PX
) -> Iterator[Page]:
    """Pages in held-out fonts and texts; prose_share 0.0: no language prior at all."""
    rng = random.Random(seed)
    found = 0
    while found < count:
        page = typeset_page(rng, held_out_faces(), em_px, held_out=True, prose_share=prose_share)
        # Some faces have glyphs that the layout engine gives back as no character at all.
        if all(line.is_legible for line in page.lines):
            found += 1
            yield page


def found_pages(count: int, seed: str, folder: Path) -> Iterator[Page]:
    rng = random.Random(seed)
    paths = documents(folder, held_out=True)
    found = 0
    while found < count:
        page = found_page(rng, paths, EM_PX)
        # A page of formulas or of turned text has no plain truth.
        if all(line.is_legible for line in page.lines) and len(page.lines) > 8:
            found += 1
            yield page


def tower_accuracy(reader: Reader, crops: Iterable[Sample]) -> tuple[float, Counter]:
    """Characters right at their centre column, and the commonest confusions."""
    right = total = 0
    confusions: Counter = Counter()
    for sample in crops:
        with torch.inference_mode():
            features = reader.adapter.model.tower(as_pixels(sample.grey)).flatten(1, 2)
            logits = reader.adapter.model.column_logits(features)[0]
        read = logits.argmax(-1).reshape(sample.columns.shape).numpy()
        for row, first, stop, wanted in _runs(sample.columns):
            got = int(read[row, (first + stop - 1) // 2])
            total += 1
            right += got == wanted
            if got != wanted:
                confusions[v.character_of(wanted), v.character_of(got) or "_"] += 1
    return right / max(total, 1), confusions


def _runs(columns: np.ndarray) -> Iterator[tuple[int, int, int, int]]:
    """(row, first, stop, character) of each labelled character: a run of equal labels."""
    for row, labels in enumerate(columns):
        edges = np.flatnonzero(np.diff(labels)) + 1
        for first, stop in zip([0, *edges], [*edges, len(labels)], strict=True):
            if labels[first] > 0:
                yield row, int(first), int(stop), int(labels[first])


def tower_crops(pages: Iterable[Page], each: int = 4) -> Iterator[Sample]:
    rng = random.Random("crops")
    for page in pages:
        for _ in range(each):
            sample = crop_sample(rng, page, 256, 512, clean=1.0)
            if sample is not None:
                yield sample


def against_tesseract(reader: Reader, page: Page) -> dict[str, float] | None:
    """Seconds of both on the same page in the same run; None without tesseract."""
    if shutil.which("tesseract") is None:
        return None
    pixels = np.repeat(page.grey[..., None], 3, axis=2)
    image = PageImage(pixels, number=1, dpi=FINE_DPI, source="a dense page")
    times: dict[str, list[float]] = {"ours": [], "tesseract": []}
    for _ in range(3):
        for name, read in (("ours", reader.read), ("tesseract", read_by_tesseract)):
            began = time.perf_counter()
            read(image)
            times[name].append(time.perf_counter() - began)
    return {name: float(np.median(seconds)) for name, seconds in times.items()}


def main(
    model: Annotated[str, typer.Argument(help="Model folder, or embedded.")] = "embedded",
    pdfs: Annotated[Path | None, typer.Option(help="Folder of typeset PDFs with text.")] = None,
    pages: Annotated[int, typer.Option(help="Pages in each set.")] = 20,
    samples: Annotated[Path, typer.Option(help="Sample documents.")] = Path("sample_docs"),
    json: Annotated[Path | None, typer.Option(help="Write the results here.")] = None,
) -> None:
    """Measure the embedded reader."""
    reader = Reader.from_pretrained(model, device="cpu")
    at_reading_size = typeset_pages(pages, "tower", em_px=TARGET_EM_PX)
    accuracy, confusions = tower_accuracy(reader, tower_crops(at_reading_size))
    print(f"tower, unseen fonts: {accuracy:.2%} of characters right at their centre column")
    print("  commonest confusions:", confusions.most_common(12))
    results = []
    for name, reads in evaluation_sets(reader, pages, pdfs, samples):
        results.append(score_set(name, reads))
        print(line_of(results[-1]), flush=True)
    dense = max(typeset_pages(8, "dense"), key=lambda page: sum(len(x.text) for x in page.lines))
    timing = against_tesseract(reader, dense)
    if timing:
        print(f"one dense page: {timing['ours']:.1f} s, tesseract {timing['tesseract']:.1f} s")
    if json:
        record: dict[str, Any] = {"tower": accuracy, "sets": [asdict(r) for r in results]}
        json.write_bytes(orjson.dumps(record | {"timing": timing}, option=orjson.OPT_INDENT_2))


def evaluation_sets(
    reader: Reader, count: int, pdfs: Path | None, samples: Path
) -> Iterator[tuple[str, Iterable[Read]]]:
    """Name and readings of every set that can be made here."""
    yield "rendered pages, unseen fonts and text", read_pages(reader, typeset_pages(count, "pages"))
    if pdfs:
        yield "pages of unseen typeset PDFs", read_pages(reader, found_pages(count, "found", pdfs))
    prior_free = typeset_pages(count, "codes", prose_share=0.0)
    yield "text without a language prior", read_pages(reader, prior_free)
    rng = random.Random("noise")
    noisy = typeset_pages(count, "noisy")
    degraded = read_pages(reader, noisy, lambda grey: noise.scanned(rng, grey))
    yield "rendered pages, degraded", degraded
    if samples.is_dir():
        yield "sample documents", read_documents(reader, samples)


def line_of(result: SetResult) -> str:
    return (
        f"{result.name}: CER {result.cer:.2%}, word recall {result.word_recall:.2%}, "
        f"{result.broken} of {result.pages} pages looped or cut, "
        f"{result.characters} characters in {result.seconds:.0f} s"
    )


if __name__ == "__main__":
    typer.run(main)

"""Renders the sample documents and writes the Markdown a reader should make of each.

    python sample_docs/make.py [FOLDER]

Every document is Markdown in this file, laid out by PyMuPDF's Story in the fonts that PyMuPDF
itself carries, so the files come out the same on any machine. A backslash at a line end breaks
the line on the page only: in the expected Markdown a paragraph is one line. Knows nothing about
reading.
"""

from __future__ import annotations

import io
import sys
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pymupdf
from markdown_it import MarkdownIt
from PIL import Image

A4 = pymupdf.Rect(0, 0, 595, 842)
GUTTER_PT = 26

CSS = """
body { margin: 0; font-family: %(family)s; font-size: %(size)spt; line-height: 1.4; }
h1 { font-size: 1.75em; margin: 0 0 10pt 0; line-height: 1.2; }
h2 { font-size: 1.3em; margin: 12pt 0 6pt 0; line-height: 1.2; }
p { margin: 0 0 8pt 0; }
ul, ol { margin: 0 0 8pt 0; padding-left: 20pt; }
li { margin: 0 0 3pt 0; }
table { margin: 4pt 0 10pt 0; width: 100%%; border-collapse: collapse; border-spacing: 0; }
th, td { border: 0.6pt solid #555; padding: 3pt 7pt; text-align: left; }
"""


@dataclass(frozen=True)
class Layout:
    """How a page is set: CSS font family, body size, columns, and margins (x, y) in points."""

    family: str = "sans-serif"
    size_pt: float = 10.5
    columns: int = 1
    margin_pt: tuple[float, float] = (72, 72)


REPORT = (
    """\
# Office Move Report

This report describes the move of the Aldermoor office to its new building on Station Road. It \
covers the first quarter of the year, from the decision in January to the opening day in March, \
and it lists what is still open.

## Summary

The move was finished on 14 March, two days ahead of plan and 4 % under budget. All 86 desks were \
in use on the first morning. The telephone lines were moved overnight, and no customer call was \
lost.

Three points need a decision by the board before the end of April:

- a second entrance for deliveries at the rear of the building
- new lighting for the meeting rooms on the third floor
- the lease of twelve parking spaces in Mill Lane

## What went well

The plan was kept simple: one floor a day, with the same team from start to finish. Each \
department packed its own files and labelled every box with a floor, a room and a name. “We always \
knew where things were,” said the head of accounts, “and that saved us a week.”

The movers worked from six in the morning until two in the afternoon. This left enough time to \
connect computers and printers before the next day, and staff could return to their desks at once.

1. Floor plans were agreed with each department in January.
2. Boxes and labels were handed out in the last week of February.
3. Desks, chairs and files were moved between 10 and 14 March.
""",
    """\
## Cost

The board approved a budget of £48,000. The table shows the planned and the actual cost of each \
part of the move.

| Item | Planned | Actual |
| --- | --- | --- |
| Movers and vans | £18,500 | £17,920 |
| Cabling and network | £12,000 | £12,340 |
| Furniture | £9,500 | £8,150 |
| Signs and cleaning | £3,000 | £2,870 |
| Reserve | £5,000 | £4,800 |

Cabling cost slightly more than planned because the second floor needed a new cabinet. Furniture \
cost less, since forty chairs from the old building could be used again.

## What is still open

Some small repairs remain. The lift is out of service on Monday mornings until the new motor \
arrives, and two windows on the first floor do not close properly. The landlord has promised to \
repair both before 30 April.

The old building will be handed back on 31 May. Until then the archive in the basement stays \
locked; please ask at reception for the key. Questions may be sent to move@aldermoor.example or to \
extension 4170.
""",
)

ARTICLE_TITLE = """\
# Small Libraries in a Quiet Valley

How four villages share one collection of books, and what other places could learn from them
"""

ARTICLE = """\
## A van and a timetable

Every Tuesday at nine o’clock a blue van leaves the market square of Harrow Bridge. It carries \
about nine hundred books, a folding table and two chairs. By noon it has stopped in three \
villages, and by four it is back in its garage.

The service began in 1987, when the county closed its branch libraries in the valley. A group of \
teachers bought an old bread van, painted it over a weekend and asked their neighbours for books. \
They expected a few boxes. They received more than two thousand volumes.

Today the van belongs to a small trust with forty members. Each of them pays twelve pounds a year \
and gives one afternoon a month. There are no fines. Books that come back late are simply marked \
on a list that hangs inside the door – and most readers find this more effective than a fee.

## What people read

The records are kept by hand in green notebooks, one for every year. They show that taste changes \
slowly. Crime stories and gardening books lead the list in nearly every year; books for children \
come third, and poetry is read more often here than in the nearest town. A book of river poems \
from 1931 was lent 212 times, more than any dictionary or cookery book on the shelves.

Last winter the trust asked its readers what they wanted. The answers surprised the committee. \
Few people asked for new novels. Many asked for large print, for maps and for evening hours.

## A model for others

Visitors from six counties have come to see the van. Two of them have started services of their \
own. The advice they take home is short: begin with what you have, keep the route the same, and \
never miss a Tuesday. “People forgive a small choice,” says the treasurer, “but they never forgive \
an empty square.”

Money remains the weak point. A new engine cost £3,400 in the spring, and the tyres will not last \
another year. The trust now sells tea and cake at every stop. It is not much, she adds, \
but it pays for the fuel.
"""

INVOICE = """\
# Invoice

**Northgate Paper & Print Ltd**\\
14 Harbour Street\\
Wexbridge WX2 6QT

**Bill to**\\
Dr. Helen Marsh\\
Marsh Dental Practice\\
7 Orchard Rise\\
Lower Felton LF9 1BA

Invoice number: NP-20417\\
Invoice date: 3 June 2024\\
Payment due: 3 July 2024

| Item | Quantity | Unit price | Amount |
| --- | --- | --- | --- |
| Appointment cards, white, 85 x 55 mm | 2,000 | £0.04 | £80.00 |
| Letterhead paper, A4, 100 g | 1,500 | £0.09 | £135.00 |
| Envelopes with window, C5 | 1,000 | £0.06 | £60.00 |
| Reception desk sign, acrylic | 1 | £48.50 | £48.50 |
| Delivery | 1 | £9.50 | £9.50 |

| Summary | Amount |
| --- | --- |
| Subtotal | £333.00 |
| VAT (20 %) | £66.60 |
| Total due | £399.60 |

Please pay by bank transfer to account 40718825, sort code 20-45-77, and quote the invoice number.

Thank you for your order. Goods remain our property until paid in full.
"""

LETTER = """\
Brookside Gardens\\
22 Church Lane\\
Ashby Green AG4 7LN

19 September 2023

Mr. Thomas Whitlock\\
5 Meadow View\\
Ashby Green AG4 2PD

Dear Mr. Whitlock,

Thank you for your letter of 11 September about the old pear tree at the end of your garden. Our \
gardener looked at it last Thursday and found that the tree is healthy, although two of the upper \
branches are dead and should be removed before the winter storms.

We suggest that the work be done in the first week of November, when the leaves have fallen. Two \
people will need about half a day. The price is £165, which includes taking away the wood; if you \
would like to keep it for your fireplace, the price is £140.

Please let us know by the end of this month whether the date suits you. You can reach us by \
telephone between eight and five on 01632 960 418, or simply send a short note to the address above.

With kind regards,

Margaret Ellison\\
Manager
"""

FRAMES = (
    """\
# Minutes of the Harbour Committee

Meeting held on Monday, 5 February, at 7 pm in the Sailing Club. Present were nine members and two \
guests. The minutes of the last meeting were read and agreed.

## Repairs to the north pier

The surveyor reported that eleven planks near the steps are loose. New planks have been ordered \
and will be fitted in the last week of February. Until then the steps are closed to visitors.

## Mooring fees

The committee discussed the fees for the coming season. It was agreed to leave the fee for small \
boats at £210 and to raise the fee for boats over nine metres from £340 to £365.
""",
    """\
## Lifeboat day

The lifeboat day will be held on Saturday, 8 June. Volunteers are still needed for:

- the car park at the school
- the tea tent from noon to four
- clearing up on Sunday morning

## Other business

A member asked for a second lamp at the slipway. The secretary will ask the council for a price \
and report at the next meeting.

The meeting closed at 8.40 pm. The next meeting is on Monday, 4 March.
""",
)


def expected(parts: Sequence[str]) -> str:
    """The Markdown a perfect reading gives: a paragraph is one line, and bold is not marked."""
    text = "\n".join(parts)
    return text.replace("\\\n", " ").replace("**", "")


def layout_pdf(pages: Sequence[str], layout: Layout, heading: str = "") -> pymupdf.Document:
    """Sets each string on a page of its own, below `heading`, which runs across the columns."""
    buffer = io.BytesIO()
    writer = pymupdf.DocumentWriter(buffer)
    across, down = layout.margin_pt
    for markdown in pages:
        device = writer.begin_page(A4)
        body = pymupdf.Rect(across, down, A4.x1 - across, A4.y1 - down)
        if heading:
            body.y0 = (fill(device, heading, [body], layout) or 0) + 14
        if fill(device, markdown, balanced_columns(markdown, body, layout), layout) is None:
            raise ValueError(f"the page that starts with {markdown[:40]!r} is too long")
        writer.end_page()
    writer.close()
    return pymupdf.open("pdf", buffer.getvalue())


def balanced_columns(markdown: str, body: pymupdf.Rect, layout: Layout) -> Sequence[pymupdf.Rect]:
    """Columns of equal height in `body`, as short as the text allows; one column is all of it."""
    if layout.columns == 1:
        return [body]
    width = (body.width - GUTTER_PT * (layout.columns - 1)) / layout.columns
    lefts = [body.x0 + column * (width + GUTTER_PT) for column in range(layout.columns)]

    def columns(height: int) -> list[pymupdf.Rect]:
        return [pymupdf.Rect(x, body.y0, x + width, body.y0 + height) for x in lefts]

    def fits(height: int) -> bool:
        return fill(None, markdown, columns(height), layout) is not None

    return columns(bisect_left(range(int(body.height)), True, key=fits))


def make_story(markdown: str, layout: Layout) -> pymupdf.Story:
    html = MarkdownIt("commonmark").enable("table").render(markdown)
    if html.startswith("<h2>"):  # the space above a heading is not wanted at the top of a column
        html = html.replace("<h2>", '<h2 style="margin-top: 0">', 1)
    css = CSS % {"family": layout.family, "size": layout.size_pt}
    return pymupdf.Story(f"<style>{css}</style>{html}")


def fill(
    device: object | None, markdown: str, boxes: Sequence[pymupdf.Rect], layout: Layout
) -> float | None:
    """Draws the text into the boxes, one after the other, or only tries it without a device.

    Returns where the text ends in the last box, or None if it does not fit.
    """
    story = make_story(markdown, layout)
    for box in boxes:
        more, filled = story.place(box)
        story.draw(device)
        if not more:
            return float(filled[3])
    return None


def save_pdf(document: pymupdf.Document, path: Path) -> None:
    """Writes without dates and without a new file id, so that the same text is the same file."""
    document.set_metadata({})
    document.save(path, garbage=4, deflate=True, deflate_fonts=True, no_new_id=True)


def rasterise(document: pymupdf.Document, dpi: int) -> list[Image.Image]:
    """Every page as a grey image."""
    pixmaps = (page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY) for page in document)
    return [Image.frombytes("L", (pix.width, pix.height), pix.samples) for pix in pixmaps]


def save_scan(document: pymupdf.Document, path: Path) -> None:
    """A grey scan at 150 dpi: a degree of skew, a little blur, paper that is not quite white."""
    page = rasterise(document, dpi=300)[0]
    skewed = page.rotate(1.0, Image.Resampling.BICUBIC, fillcolor=255)
    small = skewed.resize((page.width // 2, page.height // 2), Image.Resampling.BOX)
    noise = np.random.default_rng(7).normal(0, 5, (small.height, small.width))
    grey = 22 + np.asarray(small, np.float64) * (246 - 22) / 255 + noise
    # Sixteen levels are what many office scanners keep, and make a quarter of the bytes.
    levels = np.clip(np.round(grey / 17), 0, 15) * 17
    Image.fromarray(levels.astype(np.uint8)).save(path, dpi=(150, 150), optimize=True)


def save_fax(document: pymupdf.Document, path: Path) -> None:
    """Black and white frames at 200 dpi in one TIFF."""
    frames = [page.point(lambda grey: 255 * (grey > 140), "1") for page in rasterise(document, 200)]
    frames[0].save(
        path, save_all=True, append_images=frames[1:], compression="group4", dpi=(200, 200)
    )


@dataclass(frozen=True)
class Sample:
    """One document: its file, its text page by page, and how it is set and saved."""

    name: str
    pages: Sequence[str]
    layout: Layout
    save: Callable[[pymupdf.Document, Path], None] = save_pdf
    heading: str = ""


SAMPLES = (
    Sample("report.pdf", REPORT, Layout()),
    Sample(
        "article.pdf",
        [ARTICLE],
        Layout("Times", 11, columns=2, margin_pt=(54, 60)),
        heading=ARTICLE_TITLE,
    ),
    Sample("invoice.pdf", [INVOICE], Layout("sans-serif", 10)),
    Sample("letter.png", [LETTER], Layout("serif", 11, margin_pt=(80, 80)), save_scan),
    Sample("frames.tiff", FRAMES, Layout("Times", 11), save_fax),
)


def make_sample(sample: Sample, folder: Path) -> Path:
    """Writes the document, and beside it the Markdown expected of it."""
    path = folder / sample.name
    sample.save(layout_pdf(sample.pages, sample.layout, sample.heading), path)
    parts = [sample.heading, *sample.pages] if sample.heading else sample.pages
    path.with_suffix(".md").write_text(expected(parts), encoding="utf-8", newline="\n")
    return path


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for sample in SAMPLES:
        print(make_sample(sample, folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)

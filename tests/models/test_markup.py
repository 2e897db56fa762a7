"""What models write into their text beside the text: places, block types, DocTags."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fastocr_cli.models import doctags, grounding
from fastocr_cli.models.base import ModelAdapter, VisualLayout

REFERENCES = (
    "<|ref|>title<|/ref|><|det|>[[99, 50, 899, 110]]<|/det|>\n# Annual report\n\n"
    "<|ref|>image<|/ref|><|det|>[[10, 120, 400, 300]]<|/det|>\n"
    "<|ref|>text<|/ref|><|det|>[[99, 120, 899, 300]]<|/det|>\nSales [1, 2] rose. \n"
)
TYPES = (
    "<|det|>title [333, 201, 556, 230]<|/det|>QUALITY\nFORM\n"
    "<|det|>image [382, 87, 489, 174]<|/det|>\n"
    "<|det|>text [100, 240, 800, 300]<|/det|>One line.\n"
    "<|det|>table [1, 2, 3, 4]<|/det|><table><tr><td>1</td></tr></table>"
)


def test_references_and_boxes_are_taken_out() -> None:
    assert grounding.without_references(REFERENCES) == "# Annual report\n\nSales [1, 2] rose."


@pytest.mark.parametrize("family", ["deepseek_ocr2", "deepseek_vl_v2"])
def test_captions_that_deepseek_centres_are_paragraphs(
    adapter: Callable[[str], ModelAdapter], family: str
) -> None:
    text = (
        "<|ref|>image_caption<|/ref|><|det|>[[34, 888, 965, 972]]<|/det|>\n"
        "<center>Figure 1: sales. </center>\n\n"
        "<|ref|>table<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\n<table><tr><td>a<br>b</td></tr></table>"
    )
    assert adapter(family).to_markdown(text) == (
        "Figure 1: sales.\n\n<table><tr><td>a<br>b</td></tr></table>"
    )


def test_a_reference_cut_off_at_the_end_leaves_no_mark() -> None:
    text = grounding.without_references("Done.\n<|ref|>text<|/ref|><|det|>[[1, 2")
    assert text.startswith("Done.")
    assert "<|" not in text


def test_types_become_blocks_and_titles_headings() -> None:
    assert grounding.without_types(TYPES) == (
        "# QUALITY FORM\n\nOne line.\n\n<table><tr><td>1</td></tr></table>"
    )


def test_text_without_marks_is_left_alone() -> None:
    text = "# A heading\n\nA <b>paragraph</b> with [1, 2, 3, 4]."
    assert grounding.without_references(text) == text
    assert grounding.without_types(text) == text


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("[[0, 0, 999, 999]]", (0, 0, 1, 1)),
        (
            "[[100, 200, 300, 400], [50, 300, 200, 500]]",
            (50 / 999, 200 / 999, 300 / 999, 500 / 999),
        ),
        ("title [10, 20, 30, 40]", (10 / 999, 20 / 999, 30 / 999, 40 / 999)),
        ("[[1, 2, 3", None),
        ("__import__('os').system('false')", None),
        ("[[5, 5, 99999, 10]]", (5 / 999, 5 / 999, 1, 10 / 999)),
    ],
)
def test_boxes_are_read_as_numbers(text: str, box: tuple[float, ...] | None) -> None:
    assert grounding.union(text) == pytest.approx(box)


@pytest.mark.parametrize("name", ["deepseek_vl_v2", "deepseek_ocr2", "unlimited_ocr"])
def test_tokens_have_the_place_written_before_them(
    name: str, adapter: Callable[[str], ModelAdapter]
) -> None:
    family = adapter(name)
    marked = "<|ref|>text<|/ref|><|det|>[[111, 222, 333, 444]]<|/det|>Hi"
    ids = family.tokenizer(marked).input_ids
    assert family.detokenize(ids) == marked, "marks survive, or numbers would look like text"
    places = family.places(ids, VisualLayout.empty())
    assert places is not None
    assert len(places) == len(ids)
    assert places[-2:] == [(111 / 999, 222 / 999, 333 / 999, 444 / 999)] * 2
    assert places[:-2] == [None] * (len(ids) - 2)
    unmarked = family.tokenizer("no marks").input_ids
    assert family.places(unmarked, VisualLayout.empty()) is None
    assert "det" not in family.to_markdown(marked)


def test_doctags_blocks() -> None:
    page = (
        "<doctag><page_header><loc_1><loc_2>Acme</page_header>"
        "<title><loc_9><loc_9><loc_9><loc_9>Report</title>"
        "<section_header_level_1><loc_3>Sales</section_header_level_1>"
        "<text><loc_4>They <b>rose</b>.</text>"
        "<unordered_list><list_item>one</list_item><list_item>two</list_item></unordered_list>"
        "<ordered_list><list_item>first</list_item><list_item>second</list_item></ordered_list>"
        "<formula>a = b</formula><code><_Python_>print(1)</code></doctag>"
    )
    assert doctags.to_markdown(page) == (
        "# Report\n\n## Sales\n\nThey rose.\n\n- one\n- two\n\n1. first\n2. second\n\n"
        "$$\na = b\n$$\n\n```python\nprint(1)\n```"
    )


def test_doctags_table_with_merged_and_missing_cells() -> None:
    table = (
        "<otsl><loc_1><caption>Table 1</caption><ched>Item<ched>2023<lcel><nl>"
        "<rhed>Pens | ink<fcel>4<fcel>5<nl><fcel>Paper<ecel><nl></otsl>"
    )
    assert doctags.to_markdown(table) == (
        "Table 1\n\n| Item | 2023 |  |\n| --- | --- | --- |\n"
        "| Pens \\| ink | 4 | 5 |\n| Paper |  |  |"
    )


def test_doctags_cut_off_keep_what_was_read() -> None:
    assert doctags.to_markdown("<doctag><text>Whole.</text><text>Half a sent") == (
        "Whole.\n\nHalf a sent"
    )
    assert doctags.to_markdown("") == ""

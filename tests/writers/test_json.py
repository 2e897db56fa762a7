"""JSON and JSON Lines: valid against the shipped schemas, complete, and documented to the key."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fastocr_cli.errors import UsageError
from fastocr_cli.results import PageStats, PageStatus
from fastocr_cli.schemas import NAMES, load_schema
from fastocr_cli.writers.records import page_record, plain
from tests.text import nasty
from tests.writers.examples import page, pages, written


def closed(schema: Any) -> Any:
    """The schema with every object's keys listed for good, so that an undocumented one fails."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and "additionalProperties" not in schema:
        result["additionalProperties"] = False
    return result


DOCUMENT = Draft202012Validator(closed(load_schema("document")))
PAGE = Draft202012Validator(closed(load_schema("page")))


@pytest.mark.parametrize("name", NAMES)
def test_the_schemas_are_schemas_and_describe_every_object(name: str) -> None:
    schema = load_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["description"]
    assert all("description" in part for part in schema["$defs"].values())


def test_both_schemas_share_their_definitions() -> None:
    document, record = load_schema("document"), load_schema("page")
    for name, definition in record["$defs"].items():
        assert document["$defs"][name] == definition
    of_document = document["$defs"]["page"]["properties"]
    assert of_document == {k: v for k, v in record["properties"].items() if k in of_document}


def test_unknown_schema() -> None:
    with pytest.raises(UsageError, match="document, page"):
        load_schema("run")


def test_the_document_is_valid_and_complete() -> None:
    document = json.loads(written("json"))
    DOCUMENT.validate(document)
    assert [record["number"] for record in document["pages"]] == [1, 2, 3, 4, 5]
    assert document["totals"]["statuses"] == {
        "ok": 1, "retried": 1, "blank": 1, "looped": 1, "failed": 1,
    }  # fmt: skip
    assert document["totals"]["generated_tokens"] == sum(
        record["stats"]["generated_tokens"] for record in document["pages"]
    )


@pytest.mark.parametrize("count", [0, 1, 2])
def test_any_number_of_pages(count: int) -> None:
    document = json.loads(written("json", pages()[:count]))
    DOCUMENT.validate(document)
    assert len(document["pages"]) == document["totals"]["pages"] == count


def test_every_line_stands_on_its_own() -> None:
    others = [replace(result, source="other.pdf") for result in pages()]
    lines = written("jsonl", pages() + others).splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        PAGE.validate(record)
    assert [record["source"] for record in records] == ["reports/annual report.pdf"] * 5 + [
        "other.pdf"
    ] * 5


def test_both_say_the_same_of_a_page() -> None:
    document = json.loads(written("json"))
    records = [json.loads(line) for line in written("jsonl").splitlines()]
    for record, in_document in zip(records, document["pages"], strict=True):
        assert in_document.items() <= record.items()


def test_boxes_in_points_and_shares() -> None:
    block = page_record(page(1, "word"))["blocks"][0]
    x0, y0, x1, y1 = block["box"]["normalised"]
    assert block["box"]["points"] == pytest.approx([x0 * 612, y0 * 792, x1 * 612, y1 * 792])
    assert block["confidence"] == pytest.approx(0.2231)


def test_the_worst_window_is_quoted() -> None:
    record = page_record(page(1, "a" * 200 + "b" * 40))
    assert record["confidence"]["worst_window"] == {
        "probability": 0.2231, "first_token": 200, "tokens": 32, "text": "b" * 32,
    }  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.one_of(nasty.markdown, st.text()), st.sampled_from(PageStatus))
def test_any_text_gives_valid_json(text: str, status: PageStatus) -> None:
    result = replace(page(1, text, status), warnings=(text,), source=text)
    document = json.loads(written("json", [result]))
    DOCUMENT.validate(document)
    PAGE.validate(json.loads(written("jsonl", [result])))


def test_odd_values_become_plain_ones() -> None:
    odd = {
        "array": np.arange(3, dtype=np.int32),
        "scalar": np.float32(0.5),
        1: float("nan"),
        "big": 10**30,
        "path": Path("a\udcff"),
        "text": "\ud800\x1b",
        "set": {1},
        "object": PageStatus.OK,
        "flag": True,
    }
    assert orjson.loads(orjson.dumps(plain(odd))) == {
        "array": [0, 1, 2],
        "scalar": 0.5,
        "1": None,
        "big": str(10**30),
        "path": "a\\udcff",
        "text": "\ufffd\ufffd",
        "set": [1],
        "object": "ok",
        "flag": True,
    }


def test_odd_figures_do_not_break_the_document() -> None:
    result = page(1, "x")
    assert result.reading is not None
    stats = PageStats(generated_tokens=1, extra={"a": np.zeros(2), "b": object})
    odd = replace(result, reading=replace(result.reading, stats=stats))
    DOCUMENT.validate(json.loads(written("json", [odd])))

"""JSON, CSV, table and picture of a bench with made-up figures."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import orjson
import pytest
import torch
from rich.console import Console

from fastocr_cli.bench.figures import Quotient
from fastocr_cli.bench.outcome import Outcome, as_csv, as_record, make_outcome
from fastocr_cli.bench.picture import draw_outcome
from fastocr_cli.bench.table import print_outcome, whole_width
from fastocr_cli.errors import OutputError
from fastocr_cli.record.revision import revision_of
from fastocr_cli.schemas import load_schema
from tests.bench.made_up import document, outcome


def printed(result: Outcome, width: int | None = None) -> str:
    """On a screen as wide as the whole table, or of another width."""
    stream = io.StringIO()
    print_outcome(result, Console(file=stream, width=width or whole_width(result)))
    return stream.getvalue()


@pytest.mark.parametrize("truth", ["with", "without"])
def test_json_follows_its_schema(truth: str) -> None:
    result = outcome() if truth == "with" else outcome(truth=None)
    record = orjson.loads(orjson.dumps(as_record(result)))
    schema = load_schema("bench")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(record, schema)
    assert set(record["rows"][0]) == set(schema["$defs"]["row"]["properties"])


def test_a_folders_revision_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    adapter: Any = SimpleNamespace(
        name=str(tmp_path),
        revision=None,
        model=SimpleNamespace(config=SimpleNamespace(_name_or_path=str(tmp_path))),
        device=torch.device("cpu"),
        dtype=torch.float32,
        has_aids=False,
    )
    result = make_outcome(adapter, [], outcome().rows, rounds=1, batch_size=1, aided=True)
    assert result.revision == revision_of(adapter) is not None


def test_csv_has_the_same_rows() -> None:
    result = outcome()
    lines = list(csv.DictReader(io.StringIO(as_csv(result))))
    assert len(lines) == len(result.rows)
    for line, row in zip(lines, result.rows, strict=True):
        assert line["method"] == row.method
        assert float(line["times_whole_ms"]) == row.times.whole_ms
        assert row.attention_speedup is not None
        assert float(line["attention_speedup_median"]) == row.attention_speedup.median


@pytest.mark.parametrize("width", [80, None])
def test_the_table_fits_and_shows_good_and_bad(width: int | None) -> None:
    result = outcome({"fastocr": 0.3, "random": 30.0})
    text = printed(result, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= (width or whole_width(result))
    assert ("tokens" in text.partition("method")[0]) == (width is None)
    row = {tuple(line.split()[:2]): line for line in text.splitlines()}
    assert "99.8%" in row["fastocr", "0.05"]
    assert "75.7%" in row["random", "0.05"]
    assert "fastocr at keep 0.02 keeps 99.4%" in " ".join(text.split())


def test_nothing_is_cut_off_however_long_it_is() -> None:
    made = outcome()
    name, spread = "rtprune dynamic:published", Quotient(12.34, 10.0, 15.5)
    quotients = dict.fromkeys(
        ("prefill_speedup", "attention_speedup", "decode_speedup", "page_speedup"), spread
    )
    row = replace(made.rows[1], method=name, tokens_per_second=12345.0, **quotients)
    text = printed(replace(made, rows=(*made.rows, row)))
    assert "…" not in text
    [line] = [line for line in text.splitlines() if line.startswith(name)]
    assert line.count("12.34 ±2.75") == 4
    assert "12,345" in line


def test_the_heading_says_which_pages_accuracy_counts() -> None:
    made = outcome()
    assert "1 page of 1 document on cpu" in " ".join(printed(made).split())
    some = replace(made, documents=(document(pages=2), document(truth=None)))
    words = "3 pages of 2 documents (accuracy over the 2 pages with a truth) on cpu"
    assert words in " ".join(printed(some).split())
    assert "1 page of 1 document (no page with a truth)" in printed(outcome(truth=None))


def test_the_legend_tells_of_what_the_table_has() -> None:
    def terms(text: str) -> list[str]:
        return [line.split("  ")[0] for line in text.splitlines()]

    for term in ("keep", "attended", "wrong, found", "kept", "as dense", "endless", "x dense"):
        assert term in terms(printed(outcome())), term
    without = terms(printed(outcome(truth=None)))
    assert "as dense" in without
    assert not {"wrong, found", "kept"} & set(without)
    assert "attended" not in terms(printed(outcome(), width=80))


def test_parts_are_named() -> None:
    text = " ".join(printed(outcome()).split())
    assert "dense page 1.36 s = prepare 4% + prefill 22% + decode 74% + rest 1%" in text
    assert "peak memory 512 MB" in text


def test_dense_alone_says_so() -> None:
    assert "Attention was not pruned" in printed(outcome({}))


def test_a_bench_of_blank_pages_says_so() -> None:
    rows = [replace(row, agreement=None, accuracy_kept=None) for row in outcome().rows]
    blank = replace(outcome(truth=None), rows=tuple(rows))
    assert "Dense attention read nothing, so nothing can be said." in printed(blank)


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_picture_by_suffix(tmp_path: Path, suffix: str) -> None:
    path = draw_outcome(outcome(), tmp_path / "new" / f"picture.{suffix}")
    head = path.read_bytes()[:400]
    assert (b"<svg" in head) if suffix == "svg" else head.startswith(b"\x89PNG")


def test_picture_marks_the_target_and_draws_every_method(tmp_path: Path) -> None:
    path = draw_outcome(outcome(), tmp_path / "picture.svg")
    text = path.read_text()
    for words in ("98% at keep 0.05", "fastocr", "oracle", "random", "Accuracy kept", "attention"):
        assert f"<!-- {words}" in text, words


def test_unknown_picture_format(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="svg"):
        draw_outcome(outcome(), tmp_path / "picture.docx")


def test_unsteady_times_are_pointed_out() -> None:
    steady = outcome()
    assert "busy" not in printed(steady)
    assert "Read once only" in printed(replace(steady, rounds=1))
    row = replace(steady.rows[1], page_speedup=Quotient(1.0, 0.5, 1.5))
    unsteady = replace(steady, rows=(steady.dense, row))
    assert "±50%: the machine was busy" in printed(unsteady)

"""The record of finished pages: nothing lost, nothing read twice, nothing changed by a resume."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from fastocr_cli.errors import OutputError
from fastocr_cli.record.codec import decode_result, encode_result
from fastocr_cli.record.journal import Journal, journal_paths
from fastocr_cli.results import PageReading, PageResult, PageStatus
from tests.record.examples import key, make_result


def test_codec_is_exact_and_knows_every_field():
    result = make_result()
    assert decode_result(encode_result(result)) == result
    without = PageResult("b", 2, PageStatus.BLANK, "", 1, 1, 72.0)
    assert decode_result(encode_result(without)) == without
    assert set(encode_result(result)) == {field.name for field in fields(PageResult)}
    assert set(encode_result(result)["reading"]) == {field.name for field in fields(PageReading)}


def test_records_survive_and_are_found_by_all_that_decided_the_text(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.record(key(1), make_result(1), b"jpeg")
        journal.record(key(2), make_result(2, PageStatus.LOOPED))
    with Journal(path) as journal:
        result, thumbnail = journal.load(key(1), "renamed.pdf")
        assert (result.source, result.markdown, thumbnail) == ("renamed.pdf", "# é", b"jpeg")
        assert journal.status(key(2)) is PageStatus.LOOPED
        for change in ({"file": "g"}, {"settings": "t"}, {"model": "m@2"}):
            assert journal.status(key(1, **change)) is None


def test_the_last_record_of_a_page_counts(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.record(key(1), make_result(1, PageStatus.LOOPED))
        journal.record(key(1), make_result(1, PageStatus.RETRIED))
    with Journal(path) as journal:
        assert journal.status(key(1)) is PageStatus.RETRIED


def test_any_cut_leaves_the_whole_records_before_it(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        for page in (1, 2, 3):
            journal.record(key(page), make_result(page))
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    for cut in {*ends, *(end - 1 for end in ends), *range(0, len(whole), 97)}:
        path.write_bytes(whole[:cut])
        with Journal(path) as journal:
            kept = sum(end <= cut for end in ends)
            found = [page for page in (1, 2, 3) if journal.status(key(page))]
            assert found == [1, 2, 3][:kept]
            journal.record(key(9), make_result(9))
        with Journal(path) as journal:
            assert journal.load(key(9), "a.pdf")[0] == make_result(9)


def test_a_damaged_line_costs_only_itself(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        for page in (1, 2, 3):
            journal.record(key(page), make_result(page))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"\0" * 50 + b"\n" + b"[1, 2]\n" + lines[2])
    with Journal(path) as journal:
        assert [bool(journal.status(key(page))) for page in (1, 2, 3)] == [True, False, True]


def test_two_runs_do_not_share_a_journal(tmp_path):
    with (
        Journal(tmp_path / "journal.jsonl"),
        pytest.raises(OutputError, match="another run"),
    ):
        Journal(tmp_path / "journal.jsonl")


def test_no_output_shares_its_journal_with_another_record(tmp_path):
    names = ("a.md", "outputs", "journal", "journal-1of2", "journal.jsonl")
    own = [journal_paths(tmp_path, Path(name), (0, 1))[0] for name in names]
    own += [journal_paths(tmp_path, None, shard)[0] for shard in ((0, 1), (0, 2))]
    assert len({*own, tmp_path / "outputs.jsonl"}) == len(names) + 3
    for path in own:
        path.touch()
    assert journal_paths(tmp_path, None, (0, 1))[1] == (tmp_path / "journal-1of2.jsonl",)

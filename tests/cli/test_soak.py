"""The soak folder through the whole command: every input ends in the report as it should."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fastocr_cli.errors import ExitCode
from tests.soak.make_soak import make_soak

pytestmark = pytest.mark.slow
FATES = {"read": "ok", "blank": "blank", "failed": "failed"}


def test_every_input_ends_in_the_report(fastocr, reader):
    entries = make_soak(Path("soak"))
    result = fastocr("parse", "soak/inputs", "-o", "out/", "--report", "run.json", "-qq")
    report = json.loads(Path("run.json").read_text())
    assert result.code == ExitCode.PARTIAL
    assert "Traceback" not in result.err
    documents = {Path(document["source"]).name: document for document in report["documents"]}
    assert len(documents) == len(entries)
    wrong = []
    for entry in entries:
        document = documents[Path(entry.path).name]
        # An image that opens and cannot be drawn has one failed page; that is no page either.
        expected = [FATES[fate] for fate in entry.pages] or ["failed"]
        found = [page["status"] for page in document["pages"]] or [document["status"]]
        is_whole = set(expected) <= {"ok", "blank"}
        if found != expected or (document["status"] == "ok") != is_whole:
            wrong.append((entry, document["status"], found, document["error"]))
        if is_whole:
            assert Path(document["outputs"][0]).is_file()
    assert not wrong
    assert len(reader.pages_read) == report["totals"]["statuses"]["ok"]

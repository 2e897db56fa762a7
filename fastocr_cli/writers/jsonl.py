"""JSON Lines: one self-contained record per page, whatever document it comes from."""

from __future__ import annotations

import orjson

from fastocr_cli.inputs.documents import storable
from fastocr_cli.results import PageResult
from fastocr_cli.writers.base import Format
from fastocr_cli.writers.records import document_record, page_record


class JsonLinesFormat(Format):
    def page(self, page: PageResult, thumbnail: bytes | None) -> str:
        record = document_record(self.provenance) | {"source": storable(page.source)}
        return orjson.dumps(record | page_record(page)).decode() + "\n"

"""JSON: one object per document, written page by page, indented for people who look inside."""

from __future__ import annotations

from typing import Any

import orjson

from fastocr_cli.results import PageResult
from fastocr_cli.writers.base import Format
from fastocr_cli.writers.records import document_record, page_record, totals_record


class JsonFormat(Format):
    def head(self) -> str:
        opened = _indented(document_record(self.provenance), "").removesuffix("\n}")
        return f'{opened},\n  "pages": ['

    def page(self, page: PageResult, thumbnail: bytes | None) -> str:
        comma = "," if self.totals.pages else ""
        return f"{comma}\n    {_indented(page_record(page), '    ')}"

    def tail(self) -> str:
        end = "\n  ]" if self.totals.pages else "]"
        return f'{end},\n  "totals": {_indented(totals_record(self.totals), "  ")}\n}}\n'


def _indented(value: dict[str, Any], indent: str) -> str:
    """Strings hold no raw line ends in JSON, so indenting all lines changes nothing else."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode().replace("\n", "\n" + indent)

"""The JSON Schemas (draft 2020-12) of our JSON outputs, shipped as files beside this module.

Within a `schema_version` keys are only ever added, so the schemas allow keys they do not know.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import orjson

from fastocr_cli.errors import UsageError

NAMES = ("document", "page", "report", "bench")


def load_schema(name: str = "document") -> dict[str, Any]:
    """The schema of a JSON document ("document"), a line of JSON Lines ("page"), a run's "report"
    or a "bench"."""
    if name not in NAMES:
        raise UsageError(f"no schema called '{name}'; there are {', '.join(NAMES)}")
    text = files("fastocr_cli.schemas").joinpath(f"{name}.schema.json").read_bytes()
    schema: dict[str, Any] = orjson.loads(text)
    return schema

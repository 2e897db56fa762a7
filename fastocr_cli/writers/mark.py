"""Whether a file says of itself that we made it: the default answer to "may it be replaced?".

Knows the first bytes that our formats write. A file that a person has edited still carries its
mark; the command therefore asks its own record instead (`open_writer` says how).
"""

from __future__ import annotations

import re
from pathlib import Path

_HEAD_BYTES = 1024
_MARK = re.compile(
    rb'\A\{\s*"schema_version":\s*"[\d.]+",\s*"tool":\s*\{\s*"name":\s*"fastocr"'
    rb'|\A<!doctype html>[^\0]{0,200}<meta name="generator" content="fastocr '
)


def carries_our_mark(path: Path) -> bool:
    """Whether the file at `path` begins like one of ours, or is empty; False if unreadable."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        return False
    return not head or _MARK.match(head) is not None

"""What a loaded model is called in records: its name, and a revision that changes when it does.

Knows an adapter's attributes and the files of a model's folder; loads nothing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

MOST_BYTES_READ = 200_000_000
"""Weights beyond this are told apart by size and time, not by content: hashing would take longer
than reading a page."""


def revision_of(adapter: Any) -> str | None:
    """The hub's commit, else what the user asked for, else a mark of the folder's files."""
    model = getattr(adapter, "model", None)
    config = getattr(model, "config", None)
    commit: str | None = getattr(config, "_commit_hash", None) or adapter.revision
    if commit is not None:
        return commit
    folder = getattr(config, "_name_or_path", None)
    return folder_mark(Path(folder)) if folder and Path(folder).is_dir() else None


def folder_mark(folder: Path) -> str | None:
    """A short digest of the config and the weights in a folder; None if there are none."""
    files = sorted([*folder.glob("*.json"), *folder.glob("*.safetensors")])
    reads_content = sum(file.stat().st_size for file in files) <= MOST_BYTES_READ
    digest = hashlib.sha256()
    for file in files:
        status = file.stat()
        digest.update(file.name.encode())
        content = file.read_bytes() if reads_content else b""
        digest.update(content or f"{status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()[:12] if files else None

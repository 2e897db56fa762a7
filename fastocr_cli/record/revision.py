"""The revision of a model, by which its records are known: it changes when the model does.

Knows a loaded adapter's attributes, the files of a model's folder and the hub's cache; loads
nothing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

BESIDE_MODEL = "fixation.json"
"""Name under which a calibration travels in a model's folder. It is no part of the model, and it
holds the mark of the model that it was measured on."""

MOST_BYTES_READ = 200_000_000
"""Weights beyond this are told apart by size and time, not by content: hashing would take longer
than reading a page."""


def revision_of(adapter: Any) -> str | None:
    """The hub's commit, else a mark of the folder's files, else what the user asked for."""
    return revision_at(source_of(adapter), adapter.revision)


def revision_at(source: str | None, asked: str | None) -> str | None:
    """The same of a folder or a hub id, without a model. asked: the user's word for a revision."""
    if source and Path(source).is_dir():
        return folder_mark(Path(source)) or asked
    return (source and _cached_commit(source, asked)) or asked


def _cached_commit(source: str, asked: str | None) -> str | None:
    """The hub's commit, as the hub's cache knows it.

    Not asked of the config: not every transformers writes it there.
    """
    from huggingface_hub import try_to_load_from_cache

    try:
        config = try_to_load_from_cache(source, "config.json", revision=asked)
    except ValueError:  # no name that the hub could have
        return None
    return Path(config).parent.name if isinstance(config, str) else None


def source_of(adapter: Any) -> str | None:
    """The folder or the hub id that the model was loaded from; None if it was made in memory."""
    config = getattr(getattr(adapter, "model", None), "config", None)
    return getattr(config, "_name_or_path", None) or None


def folder_mark(folder: Path) -> str | None:
    """A short digest of the config and the weights in a folder; None if there are none."""
    files = sorted([*folder.glob("*.json"), *folder.glob("*.safetensors")])
    files = [file for file in files if file.name != BESIDE_MODEL]
    reads_content = sum(file.stat().st_size for file in files) <= MOST_BYTES_READ
    digest = hashlib.sha256()
    for file in files:
        status = file.stat()
        digest.update(file.name.encode())
        content = file.read_bytes() if reads_content else b""
        digest.update(content or f"{status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()[:12] if files else None

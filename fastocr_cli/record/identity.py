"""Which model a run reads with, told without loading it: a run may find all its pages on record.

Knows names, folders and the hub's cache; imports no torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastocr_cli.models.names import source_named, split_revision
from fastocr_cli.record.revision import revision_at, revision_of, source_of

if TYPE_CHECKING:
    from fastocr_cli.options import Options


@dataclass(frozen=True)
class Identity:
    """name: as the user calls the model. revision: see `revision_at`. source: its folder or its hub
    id; None for one that was made in memory."""

    name: str
    revision: str | None
    source: str | None = None

    def __str__(self) -> str:
        """As the journal calls the model."""
        return f"{self.name}@{self.revision or 'local'}"


def identify(options: Options) -> Identity | None:
    """The model that the options name; None where only loading it can tell: it is not here yet.

    Raises MissingModelError for a name that cannot be a model's.
    """
    name, asked = split_revision(options.model)
    source = source_named(name)
    if not Path(source).is_dir() and not _is_cached(source, asked, options.offline):
        return None
    return Identity(name, revision_at(source, asked), source)


def identity_of(adapter: Any) -> Identity:
    """The same of a loaded model."""
    return Identity(adapter.name, revision_of(adapter), source_of(adapter))


def _is_cached(source: str, asked: str | None, offline: bool) -> bool:
    """Whether the hub's cache has the model, and knows of a newer commit as loading would."""
    from huggingface_hub import hf_hub_download

    for is_local in (True, offline):  # nothing is asked of the hub that loading has to ask again
        try:
            hf_hub_download(source, "config.json", revision=asked, local_files_only=is_local)
        except (OSError, ValueError):
            return False
    return True

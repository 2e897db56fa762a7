"""What people call models: the one that ships, a folder, or a hub id with or without a revision.

Knows names and folders; loads nothing and imports no torch.
"""

from __future__ import annotations

import os
from pathlib import Path

from fastocr_cli.errors import MissingModelError

EMBEDDED = "embedded"


def split_revision(model: str) -> tuple[str, str | None]:
    """`owner/name@rev` as its two parts; an existing path is never split."""
    name, at, revision = model.rpartition("@")
    if not at or os.path.exists(model):  # noqa: PTH110
        return model, None
    return name, revision


def source_named(name: str) -> str:
    """The folder or the hub id that the name stands for.

    Raises MissingModelError for a name that is neither, so that no network is asked for it.
    """
    if name == EMBEDDED:
        return str(_embedded_folder())
    if not Path(name).is_dir() and not is_hub_id(name):
        raise MissingModelError(
            f"there is no model '{name}': not a folder, and a hub id looks like owner/name"
        )
    return name


def is_hub_id(name: str) -> bool:
    owner, slash, rest = name.partition("/")
    return bool(owner and slash and rest) and "/" not in rest and owner[0] not in ".~"


def embedded_weights() -> Path:
    """Where the embedded reader's weights belong, whether or not they are there."""
    return Path(__file__).parent.parent / "reader" / "weights"


def _embedded_folder() -> Path:
    folder = embedded_weights()
    if not (folder / "config.json").is_file():
        raise MissingModelError(
            f"the embedded reader's weights are missing from {folder}; reinstall fastocr-cli"
        )
    return folder

"""Where calibrations lie, and which one is in force for a model.

Knows the files' names and one of their facts, the revision; imports no torch. What they hold is
`fixation/calibration.py`'s.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import orjson
import platformdirs

from fastocr_cli.record.identity import Identity
from fastocr_cli.record.revision import BESIDE_MODEL


def calibration_path(model: str, revision: str | None) -> Path:
    """Where the calibration of this model revision lives in the user's cache."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "--", f"{model}@{revision or 'local'}").strip("-")
    return platformdirs.user_cache_path("fastocr") / "calibrations" / f"{name}.json"


def calibration_file(model: Identity) -> Path | None:
    """The user's calibration of this model revision, else one in the model's folder, else None.
    One that was measured on other weights is passed over."""
    places = [calibration_path(model.name, model.revision)]
    if model.source:
        places.append(Path(model.source) / BESIDE_MODEL)
    return next((path for path in places if path.is_file() and _is_for(model, path)), None)


def calibration_mark(model: Identity) -> str | None:
    """A short digest of the calibration in force: another one changes what a pruned page says."""
    path = calibration_file(model)
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path else None


def _is_for(model: Identity, path: Path) -> bool:
    """A file that cannot be read counts: whoever loads it will say what is wrong with it."""
    try:
        facts = orjson.loads(path.read_bytes())
        return bool(facts["revision"] == model.revision)
    except (OSError, ValueError, KeyError, TypeError):
        return True

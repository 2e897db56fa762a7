"""Measured focal layers of one model revision, as a small JSON file in the user's cache.

Knows the measurement and its file; `calibrate.py` takes it. Chosen layers are not stored but
chosen again from the masses, so that one calibration serves any number of focal layers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import platformdirs
import torch
from torch import Tensor

from fastocr_cli.errors import InputError, OutputError
from fastocr_cli.fixation.focal import FocalChoice, Masses, TaughtGaze, choose
from fastocr_cli.fixation.settings import FixationSettings
from fastocr_cli.record.revision import BESIDE_MODEL, revision_of, source_of

if TYPE_CHECKING:
    from fastocr_cli.models.base import ModelAdapter

TAUGHT_STRIDE = 2
"""Steps in which a taught gaze is asked once. At keep 0.05 the embedded reader's decoder alone kept
104 % of its accuracy when asked in every step, 102 % in every second and 98 % in every fourth: what
it loses is the first characters of a line."""

_FORMAT = 1
_TABLES = ("within", "across", "total", "by_head")


@dataclass(frozen=True)
class Calibration:
    """What the pages showed.

    model: as the checkpoint is named. revision: as `revision_of` tells it. layers: decoder layer
    number of each measured layer. keep: share of the patches whose mass was measured. pages,
    steps: how much was read.
    """

    model: str
    revision: str | None
    layers: tuple[int, ...]
    keep: float
    pages: int
    steps: int
    masses: Masses

    def choice(self, settings: FixationSettings) -> FocalChoice:
        """The focal layers (and heads) that these masses give under these settings."""
        return choose(self.masses, self.layers, settings, "calibration")

    def save(self, path: Path) -> Path:
        """Writes the file, parent folders included, and returns its path; else OutputError."""
        tables = {name: _rounded(getattr(self.masses, name)) for name in _TABLES}
        facts = {
            "format": _FORMAT,
            "model": self.model,
            "revision": self.revision,
            "layers": list(self.layers),
            "keep": self.keep,
            "pages": self.pages,
            "steps": self.steps,
        }
        text = orjson.dumps({**facts, **tables}, option=orjson.OPT_APPEND_NEWLINE)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
        except OSError as error:
            raise OutputError(
                f"cannot write {path}: {error.strerror}; choose another -o"
            ) from error
        return path

    @classmethod
    def load(cls, path: Path) -> Calibration:
        """Reads a file that `save` wrote; InputError names a file that is none."""
        try:
            facts = orjson.loads(path.read_bytes())
            if facts["format"] != _FORMAT:
                raise ValueError(f"its format is {facts['format']}, not {_FORMAT}")
            return cls(
                model=facts["model"],
                revision=facts["revision"],
                layers=tuple(facts["layers"]),
                keep=facts["keep"],
                pages=facts["pages"],
                steps=facts["steps"],
                masses=Masses(**{name: torch.tensor(facts[name]) for name in _TABLES}),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"cannot use calibration {path}: {error}; run fastocr calibrate again"
            ) from error


def calibration_path(model: str, revision: str | None) -> Path:
    """Where the calibration of this model revision lives in the user's cache."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "--", f"{model}@{revision or 'local'}").strip("-")
    return platformdirs.user_cache_path("fastocr") / "calibrations" / f"{name}.json"


def find_calibration(adapter: ModelAdapter) -> Calibration | TaughtGaze | None:
    """The user's calibration of this model revision, else one in the model's folder, else what the
    model was taught, else None. One that was measured on other weights is passed over."""
    revision = revision_of(adapter)
    cached = calibration_path(adapter.name, revision)
    if cached.is_file() and (found := Calibration.load(cached)).revision == revision:
        return found
    return _beside(adapter, revision) or _taught(adapter.model.config)


def _beside(adapter: ModelAdapter, revision: str | None) -> Calibration | None:
    """The one in the model's folder, if it was measured on what lies there."""
    folder = source_of(adapter)
    if not folder or not (path := Path(folder) / BESIDE_MODEL).is_file():
        return None
    found = Calibration.load(path)
    return found if found.revision == revision else None


def _taught(config: Any) -> TaughtGaze | None:
    """Of the layers whose gaze was trained the last, which looks for what comes next.

    Its first head alone: all taught heads look there, and each costs a product with all keys.
    """
    layers = getattr(config, "gaze_layers", None)
    return TaughtGaze(layers[-1], (0,), stride=TAUGHT_STRIDE) if layers else None


def _rounded(table: Tensor) -> object:
    """Nested lists with six decimals: masses are shares, and more digits are noise."""
    return (table.double() * 1e6).round().div(1e6).tolist()

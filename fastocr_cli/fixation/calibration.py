"""Measured focal layers of one model revision, as a small JSON file in the user's cache.

Knows the measurement and its file; `calibrate.py` takes it. Chosen layers are not stored but
chosen again from the masses, so that one calibration serves any number of focal layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import torch
from torch import Tensor

from fastocr_cli.errors import InputError, OutputError
from fastocr_cli.fixation.focal import FocalChoice, Masses, TaughtGaze, choose
from fastocr_cli.fixation.settings import FixationSettings
from fastocr_cli.record.calibrations import calibration_file
from fastocr_cli.record.identity import identity_of

if TYPE_CHECKING:
    from fastocr_cli.models.base import ModelAdapter

TAUGHT_STRIDE = 2
"""Steps in which a taught gaze is asked once. At keep 0.05 the embedded reader's decoder alone kept
102.6 % of its accuracy over eight pages when asked in every second step, 102.5 % in every third and
100.5 % in every fourth: what it loses is the first characters of a line. Asking is cheap enough
that beyond every second step no time was seen to be won."""

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


def find_calibration(adapter: ModelAdapter) -> Calibration | TaughtGaze | None:
    """The calibration in force for the model, else what the model was taught, else None."""
    path = calibration_file(identity_of(adapter))
    return Calibration.load(path) if path else _taught(adapter.model.config)


def _taught(config: Any) -> TaughtGaze | None:
    """Of the layers whose gaze was trained the last, which looks for what comes next.

    Its first head alone: all taught heads look there, and each costs a product with all keys.
    """
    layers = getattr(config, "gaze_layers", None)
    return TaughtGaze(layers[-1], (0,), stride=TAUGHT_STRIDE) if layers else None


def _rounded(table: Tensor) -> object:
    """Nested lists with six decimals: masses are shares, and more digits are noise."""
    return (table.double() * 1e6).round().div(1e6).tolist()

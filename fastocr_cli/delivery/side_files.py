"""Files that a command writes beside its product: reports, figures, pictures.

They are checked before anything is read, so that no input, no other output and nothing of
somebody else's is lost, and no hour of reading for want of a place to write. An earlier file of
the same kind may be replaced: it is known by its content. Knows files; nothing of their making.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fastocr_cli.errors import OutputError, UsageError
from fastocr_cli.inputs.documents import printable
from fastocr_cli.writers.mark import carries_our_mark
from fastocr_cli.writers.output import is_stream, output_errors, temporary_name


@dataclass(frozen=True)
class Kind:
    """name: in words. signs: patterns that are all found in a file of this kind. is_marked: whether
    it begins with the mark of our JSON and HTML."""

    name: str
    signs: tuple[bytes, ...]
    is_marked: bool = False

    def holds(self, path: Path) -> bool:
        """Whether the file is of this kind; an empty one is of every kind."""
        content = path.read_bytes()
        if self.is_marked and not carries_our_mark(path):
            return False
        return not content or all(re.search(sign, content) for sign in self.signs)


BENCH = Kind("bench's figures", (rb'"rounds":', rb'"rows":'), is_marked=True)
BENCH_ROWS = Kind("bench's rows", (rb"\Amethod,keep,pages,",))
CALIBRATION = Kind("calibration", (rb'\A\{"format":', rb'"within":'))
TRACE = Kind("trace", (rb'<script type="application/json" id="trace">',), is_marked=True)
PICTURE = Kind("picture by fastocr", (rb"\bfastocr \d",))


def report_kind(shard: str | None) -> Kind:
    """A run's report; one of a shard is not replaced by another shard."""
    signs = (rb'"exit_code":', rb'"totals":')
    if shard is None:
        return Kind("report", signs, is_marked=True)
    own = rb'"shard": "%s"' % re.escape(shard).encode()
    return Kind(f"report of shard {shard}", (*signs, own), is_marked=True)


@dataclass(frozen=True)
class SideFile:
    """flag: by which the user named it."""

    flag: str
    path: Path
    kind: Kind

    def __str__(self) -> str:
        return f"{self.flag} {printable(str(self.path))}"


def check_side_files(
    files: Iterable[SideFile],
    inputs: Iterable[Path] = (),
    outputs: Iterable[Path] = (),
    *,
    overwrite: bool = False,
) -> None:
    """Raises UsageError for a file that the run reads or writes already, OutputError for one that
    cannot be written or, unless `overwrite`, would replace one of another kind."""
    uses: dict[object, str] = {name: "an input" for path in inputs for name in _names(path)}
    uses |= {name: "an output too" for path in outputs for name in _names(path)}
    for file in files:
        with output_errors(file.path):
            if not is_stream(file.path):
                _check(file, uses, overwrite)
        uses |= dict.fromkeys(_names(file.path), f"what {file.flag} names")


def _check(file: SideFile, uses: Mapping[object, str], overwrite: bool) -> None:
    use = next((uses[name] for name in _names(file.path) if name in uses), None)
    if use is not None:
        raise UsageError(f"{file}: that is {use}; give another name")
    _check_place(file.path)
    if not overwrite and file.path.exists() and not file.kind.holds(file.path):
        raise OutputError(
            f"{file}: exists and is not an earlier {file.kind.name}; "
            "move it away or give another name"
        )


def _names(path: Path) -> list[object]:
    """What all paths to one file have in common: where links lead and, if it exists, its inode."""
    names: list[object] = [os.path.realpath(path)]
    with suppress(OSError):
        status = path.stat()
        names.append((status.st_dev, status.st_ino))
    return names


def _check_place(path: Path) -> None:
    """Raises OSError where no file can be put: a folder's name, no folder, no permission."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "")
    if not all(os.access(place, os.W_OK) for place in (folder, path) if place.exists()):
        raise PermissionError(errno.EACCES, "")
    _try_place(Path(os.path.realpath(path)))


def _try_place(path: Path) -> None:
    """Put a file there and take it away: permissions do not tell all, least of all to root."""
    made = [folder for folder in path.parents if not folder.exists()]
    trial = path.with_name(temporary_name(path.name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        trial.touch()
    finally:
        with suppress(OSError):
            trial.unlink(missing_ok=True)
            for folder in made:
                folder.rmdir()

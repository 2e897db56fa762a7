"""Which output files are ours: so that nothing a person wrote or edited is ever replaced unasked.

Each written file's name and SHA-256 are noted in `.fastocr/outputs.jsonl` beside it. A file is
ours while its content is one we noted. Knows files; nothing of pages or formats.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import orjson

from fastocr_cli.errors import OutputError
from fastocr_cli.inputs.documents import printable, storable
from fastocr_cli.writers.mark import carries_our_mark
from fastocr_cli.writers.output import output_errors

FOLDER = ".fastocr"


class Ownership:
    """The files below `home` that we wrote. Raises OutputError where `home` cannot be written."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file = make_folder(home) / "outputs.jsonl"
        self._digests: defaultdict[str, set[str]] = defaultdict(set)
        with suppress(FileNotFoundError):
            for line in self._file.read_bytes().splitlines():
                with suppress(orjson.JSONDecodeError, KeyError, TypeError):
                    record = orjson.loads(line)
                    self._digests[record["name"]].add(record["sha256"])

    def is_ours(self, path: Path) -> bool:
        """Whether the file is as we wrote it; without a note of it, whether it bears our mark."""
        digests = self._digests.get(self._name(path))
        return _digest(path) in digests if digests else carries_our_mark(path)

    def check(self, path: Path) -> None:
        """Raises OutputError if a file stands there that is not ours, or a folder."""
        if path.is_dir():
            raise OutputError(f"{printable(str(path))}: is a folder; choose another name")
        if path.is_file() and not self.is_ours(path):
            raise OutputError(
                f"{printable(str(path))}: exists and was not written by fastocr, or was changed "
                "since; move it away or use --overwrite"
            )

    def note(self, path: Path) -> None:
        """Remember a file that has just been written. Raises OutputError."""
        with output_errors(path):
            record = {"name": self._name(path), "sha256": _digest(path)}
        if record["sha256"] in self._digests[record["name"]]:
            return
        self._digests[record["name"]].add(record["sha256"])
        make_folder(self._home)  # again: somebody may have tidied up during a long run
        with output_errors(self._file), self._file.open("ab") as stream:
            stream.write(orjson.dumps(record) + b"\n")

    def _name(self, path: Path) -> str:
        relative = os.path.relpath(os.path.realpath(path), os.path.realpath(self._home))
        return storable(Path(relative).as_posix())


def make_folder(home: Path) -> Path:
    """The `.fastocr` folder in `home`, which version control is told to pass over."""
    folder = home / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"{printable(str(home))}: cannot be written: {error.strerror}; "
            "choose another place with -o"
        ) from error
    return folder


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

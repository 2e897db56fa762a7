"""Which output files are ours and of which documents: so that nothing a person wrote or edited, and
no other document's text, is ever replaced unasked.

Each written file's name and SHA-256 are noted in `.fastocr/outputs.jsonl` beside it, with the
documents that went into it. A file is ours while its content is one we noted. Knows files; nothing
of pages or formats.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import orjson

from fastocr_cli.errors import OutputError
from fastocr_cli.inputs.documents import Document, file_digest, printable, storable
from fastocr_cli.writers.mark import carries_our_mark
from fastocr_cli.writers.output import output_errors

FOLDER = ".fastocr"


class Origin(NamedTuple):
    """A document that went into an output. place: its path, None for one from stdin; sha256: of its
    bytes."""

    place: str | None
    sha256: str


def place_of(document: Document) -> str | None:
    return storable(os.path.realpath(document.path)) if document.path else None


class Ownership:
    """The files below `home` that we wrote. Raises OutputError where `home` cannot be written."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file = make_folder(home) / "outputs.jsonl"
        self._origins: defaultdict[str, dict[str, tuple[Origin, ...]]] = defaultdict(dict)
        """Of each content that a name had, by its digest."""
        with suppress(FileNotFoundError):
            for line in self._file.read_bytes().splitlines():
                with suppress(orjson.JSONDecodeError, KeyError, TypeError):
                    record = orjson.loads(line)
                    origins = tuple(Origin(*origin) for origin in record.get("documents", ()))
                    self._origins[record["name"]][record["sha256"]] = origins

    def is_ours(self, path: Path) -> bool:
        """Whether the file is as we wrote it; without a note of it, whether it bears our mark."""
        origins = self._origins.get(self._name(path))
        return _digest(path) in origins if origins else carries_our_mark(path)

    def check(self, path: Path, documents: Sequence[Document]) -> None:
        """Raises OutputError if a file stands there that is not ours or holds what is not among the
        documents, or a folder; InputError for a document that cannot be read."""
        if path.is_dir():
            raise OutputError(f"{printable(str(path))}: is a folder; choose another name")
        if path.is_file() and not self.is_ours(path):
            raise OutputError(
                f"{printable(str(path))}: exists and was not written by fastocr, or was changed "
                "since; move it away or use --overwrite"
            )
        # A changed version of the same path is the same document.
        places = {place_of(document) for document in documents} - {None}
        digest_of = cache(file_digest)  # each is read once, however many origins there are
        for origin in self._origins_of(path):
            if origin.place not in places and all(
                digest_of(one) != origin.sha256 for one in documents
            ):
                other = printable(origin.place or "one from stdin")
                raise OutputError(
                    f"{printable(str(path))}: exists and was written for another document, "
                    f"{other}; move it away or use --overwrite"
                )

    def note(self, path: Path, origins: Sequence[Origin]) -> None:
        """Remember a file that has just been written. Raises OutputError."""
        name = self._name(path)
        with output_errors(path):
            digest = _digest(path)
        if self._origins[name].get(digest) == tuple(origins):
            return
        self._origins[name][digest] = tuple(origins)
        record = {"name": name, "sha256": digest, "documents": [list(origin) for origin in origins]}
        make_folder(self._home)  # again: somebody may have tidied up during a long run
        with output_errors(self._file), self._file.open("ab") as stream:
            stream.write(orjson.dumps(record) + b"\n")

    def _origins_of(self, path: Path) -> tuple[Origin, ...]:
        """Nothing for a file that is absent, or was written before documents were noted."""
        known = self._origins.get(self._name(path))
        return known.get(_digest(path), ()) if known and path.is_file() else ()

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

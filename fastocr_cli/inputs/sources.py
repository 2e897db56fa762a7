"""From what the user names to documents: files, folders, globs, stdin and lists of names.

Knows paths; opens no document and counts no pages. A bad input is collected beside the good ones,
so that it never stops them.
"""

from __future__ import annotations

import glob
import os
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import BinaryIO

from fastocr_cli.errors import FastocrError, InputError, UsageError
from fastocr_cli.inputs.documents import (
    STDIN,
    Document,
    document_from_bytes,
    document_from_file,
    is_document,
    printable,
    reported_as,
    storable,
)
from fastocr_cli.inputs.sniff import SUFFIXES


@dataclass(frozen=True, slots=True)
class BadInput:
    """An input that gives no document, and why."""

    source: str
    error: FastocrError


@dataclass(frozen=True, slots=True)
class Inputs:
    """All inputs in the order given, good and bad."""

    items: tuple[Document | BadInput, ...]

    @property
    def documents(self) -> tuple[Document, ...]:
        return tuple(item for item in self.items if isinstance(item, Document))

    @property
    def failures(self) -> tuple[BadInput, ...]:
        return tuple(item for item in self.items if isinstance(item, BadInput))


def resolve(
    inputs: Iterable[str | os.PathLike[str]],
    *,
    files_from: str | None = None,
    recursive: bool = True,
    stdin: BinaryIO | None = None,
) -> Inputs:
    """Find every document that the inputs stand for.

    inputs: files, folders, glob patterns, or "-" for a document on stdin. A file that is named
        twice by the same path is taken once.
    files_from: a file of further inputs, one a line or ended by zero bytes, taken literally; "-"
        reads the list from stdin.
    recursive: whether to look into folders within folders.
    stdin: stands in for the process's own.

    Raises UsageError if stdin is asked for twice; what is wrong with one input is collected.
    """
    names = [os.fspath(name) for name in inputs]
    if names.count(STDIN) + (files_from == STDIN) > 1:
        raise UsageError("stdin can be read once only; give '-' in one place")
    search = _Search(recursive)
    for name in names:
        if name == STDIN:
            search.add_stdin(stdin)
        elif glob.has_magic(name) and not os.path.lexists(name):
            search.add_glob(name)
        else:
            search.add_path(name)
    if files_from is not None:
        search.add_list(files_from, stdin)
    return Inputs(tuple(_without_repeats(search.found)))


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts "page 2" before "page 10", and capitals beside small letters."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return tuple((0, int(p), p) if p[0] in "0123456789" else (1, 0, p.casefold()) for p in parts)


@dataclass(frozen=True)
class _Search:
    """Gathers what each input stands for in `found`.

    visited: device and inode of the folders seen, so that a link back to one of them ends there.
    """

    recursive: bool
    found: list[Document | BadInput] = field(default_factory=list)
    visited: set[tuple[int, int]] = field(default_factory=set)

    def add_stdin(self, stdin: BinaryIO | None) -> None:
        with self._collecting(STDIN):
            self.found.append(document_from_bytes(_read_stdin(stdin)))

    def add_list(self, files_from: str, stdin: BinaryIO | None) -> None:
        with self._collecting(files_from):
            for name in _read_list(files_from, stdin):
                self.add_path(name)

    def add_glob(self, pattern: str) -> None:
        # Path.glob would refuse absolute patterns.
        matches = glob.glob(pattern, recursive=True)  # noqa: PTH207
        for name in sorted(
            matches, key=lambda name: [natural_key(p) for p in PurePath(name).parts]
        ):
            self.add_path(name)
        if not matches:
            self._fail(pattern, "no file has such a name; check the pattern and the folder")

    def add_path(self, name: str) -> None:
        """A file or a folder that was named itself."""
        if not name:
            self._fail(name, "an input with an empty name; check the quotes")
        elif _is_folder(Path(name)):
            self.visited.clear()  # a folder that is named itself is always searched
            self._add_folder(Path(name))
        else:
            with self._collecting(name):
                path = Path(name)
                self.found.append(document_from_file(path, name, PurePath(path.name)))

    def _add_folder(self, root: Path) -> None:
        before = len(self.found)
        self._walk(root, root)
        if len(self.found) == before:
            deeper = "" if self.recursive else "; folders inside it were not looked into"
            self._fail(str(root), f"no PDF or image in this folder{deeper}")

    def _walk(self, folder: Path, root: Path) -> None:
        """Natural order, past hidden entries and files of other kinds."""
        entries: list[Path] = []
        with self._collecting(str(folder)):
            entries = self._visit(folder)
        for path in entries:
            claims = path.suffix.lower() in SUFFIXES
            if _is_folder(path):
                self._walk_deeper(path, root, claims)
            elif claims or is_document(path):
                with self._collecting(str(path)):
                    relative = path.relative_to(root)
                    self.found.append(document_from_file(path, str(path), relative))

    def _walk_deeper(self, folder: Path, root: Path, claims: bool) -> None:
        before = len(self.found)
        if self.recursive:
            self._walk(folder, root)
        if claims and len(self.found) == before:
            self._fail(str(folder), "a folder, in spite of its name, without a PDF or an image")

    def _visit(self, folder: Path) -> list[Path]:
        """What is in a folder, sorted; nothing if it has been visited before."""
        status = folder.stat()
        if (status.st_dev, status.st_ino) in self.visited:
            return []
        self.visited.add((status.st_dev, status.st_ino))
        shown = (path for path in folder.iterdir() if not path.name.startswith("."))
        return sorted(shown, key=lambda path: (natural_key(path.name), path.name))

    @contextmanager
    def _collecting(self, source: str) -> Iterator[None]:
        """Notes what goes wrong in the block as the end of this input."""
        try:
            with reported_as(source):
                yield
        except FastocrError as error:
            self.found.append(BadInput(storable(source), error))

    def _fail(self, source: str, reason: str) -> None:
        error = InputError(f"{printable(source) or repr(source)}: {reason}")
        self.found.append(BadInput(storable(source), error))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # no permission to look; opening it will say so
        return False


def _read_stdin(stdin: BinaryIO | None) -> bytes:
    stream = stdin or sys.stdin.buffer
    if stream.isatty():
        raise UsageError("stdin is a terminal; send a document, as in: fastocr parse - < scan.pdf")
    data = stream.read()
    if not data:
        raise InputError("stdin: nothing arrived; check the command before the pipe")
    return data


def _read_list(files_from: str, stdin: BinaryIO | None) -> list[str]:
    """Names from a list: ended by zero bytes if there is one in it, otherwise one a line."""
    data = _read_stdin(stdin) if files_from == STDIN else Path(files_from).read_bytes()
    if b"\0" in data:
        names = data.split(b"\0")
    else:
        names = [line.removesuffix(b"\r") for line in data.removeprefix(BOM_UTF8).split(b"\n")]
    found = [os.fsdecode(name) for name in names if name]
    if not found:
        raise InputError(f"--files-from {printable(files_from)}: there is no name in it")
    return found


def _without_repeats(found: Iterable[Document | BadInput]) -> Iterator[Document | BadInput]:
    seen: set[Path] = set()
    for item in found:
        path = item.path.absolute() if isinstance(item, Document) and item.path else None
        if path is None or path not in seen:
            yield item
        if path is not None:
            seen.add(path)

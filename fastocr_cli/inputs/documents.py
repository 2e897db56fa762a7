"""One input that can be turned into pages: where it lies, and of what kind it is by its content.

Knows the file system and magic numbers; knows nothing of pages.
"""

from __future__ import annotations

import errno
import hashlib
import io
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast

from fastocr_cli.errors import InputError
from fastocr_cli.inputs.sniff import HEAD_BYTES, Kind, describe, sniff

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Document:
    """One input that can be turned into pages.

    source: what the user gave, or the path of a file that a folder was searched for; "-" is stdin.
        Bytes of a name that are not UTF-8 are written as escapes, so that it can be stored.
    kind: judged by content.
    relative: where the document stands below the folder that was searched, for mirroring the tree;
        the file's name for a file that was named itself.
    path: the file, or None where `data` holds the content.
    """

    source: str
    kind: Kind
    relative: PurePath
    path: Path | None = None
    data: bytes | None = field(default=None, repr=False)

    def open(self) -> BinaryIO:
        """The content from its first byte. Raises InputError if the file has gone away."""
        if self.path is None:
            return io.BytesIO(self.data or b"")
        with reported_as(self.source):
            return self.path.open("rb")


def document_from_file(path: Path, source: str, relative: PurePath) -> Document:
    """The document in a file. Raises InputError, or OSError from the file system."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        # Opening a pipe would wait for a writer, perhaps for ever; so it is not opened to look.
        raise InputError(
            f"{printable(source)}: {_special_file(mode)}, not a file; "
            "to read from a pipe, send it to stdin and give '-'"
        )
    return Document(storable(source), _kind_of(source, read_head(path)), relative, path=path)


def document_from_bytes(data: bytes, source: str = STDIN) -> Document:
    """A document that is held in memory. Raises InputError if it is none."""
    kind = _kind_of(source, data[:HEAD_BYTES])
    relative = PurePath("stdin") if source == STDIN else PurePath(PurePath(source).name)
    return Document(storable(source), kind, relative, data=data)


def file_digest(document: Document) -> str:
    """SHA-256 of its bytes. Raises InputError if it cannot be read."""
    with reported_as(document.source), document.open() as stream:
        return hashlib.file_digest(cast(Any, stream), "sha256").hexdigest()


def is_document(path: Path) -> bool:
    """Whether this is a file that can be read and holds a document."""
    try:
        return stat.S_ISREG(path.stat().st_mode) and sniff(read_head(path)) is not None
    except OSError:
        return False


def read_head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)


def _kind_of(source: str, head: bytes) -> Kind:
    if not head:
        raise InputError(f"{printable(source)}: empty, not one byte in it; copy it again")
    kind = sniff(head)
    if kind is None:
        raise InputError(
            f"{printable(source)}: {describe(head)}, not a PDF or an image; convert it to PDF first"
        )
    return kind


def _special_file(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a folder" if stat.S_ISDIR(mode) else "a device"


def printable(name: str) -> str:
    """The name on one line: control characters and broken bytes as escapes."""
    return "".join(c if c.isprintable() else _escape(c) for c in name)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def storable(name: str) -> str:
    """The name with bytes that are not UTF-8 (lone surrogates to Python) as escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


@contextmanager
def reported_as(source: str) -> Iterator[None]:
    """Turns an error of the operating system in the block into an InputError about `source`."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{printable(source)}: {_explain(error)}") from error
    except ValueError as error:
        if "null byte" not in str(error):
            raise
        raise InputError(f"{printable(source)}: a file name cannot hold a zero byte") from error


def _explain(error: OSError) -> str:
    """What an error of the operating system means to somebody who named a file."""
    if error.errno == errno.ENOENT:
        return "no such file or folder; check the name"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "no permission to read it; ask its owner, or change it with chmod +r"
    if error.errno == errno.ELOOP:
        return "a symbolic link that leads back to itself; name the file it should lead to"
    if error.errno == errno.ENAMETOOLONG:
        return "the name is longer than the file system allows; check the name"
    return error.strerror or str(error)

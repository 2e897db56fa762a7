"""Where a writer's bytes go: a file that appears whole or not at all, or a stream.

Knows files and their failures; nothing of pages. A file is written under a temporary name in its
own folder and renamed at the end, so nobody ever reads half a document and a failed run leaves
what was there before. The temporary name follows from the target's, so that the next run reuses
what a killed one left behind.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, ClassVar, Protocol

from fastocr_cli.errors import OutputError
from fastocr_cli.inputs.documents import printable

_ADVICE = {
    errno.ENOSPC: "no space left; free some or choose another place",
    errno.EDQUOT: "the disk quota is used up; free some space or choose another place",
    errno.EACCES: "no permission; change that or choose another place",
    errno.EPERM: "no permission; change that or choose another place",
    errno.EROFS: "the file system is read-only; choose another place",
    errno.ENOTDIR: "part of the path is a file, not a folder; choose another place",
    errno.EEXIST: "part of the path is a file, not a folder; choose another place",
    errno.EISDIR: "is a folder; give the name of a file",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.EFBIG: "the file would be too large for this file system; choose another",
}


_DESCRIPTOR = re.compile(r"/dev/(stdin|stdout|stderr|fd/\d+)|/proc/[^/]+/fd/\d+")


class Output(Protocol):
    """Takes bytes in order; `commit` makes them final, `discard` makes them not have been.

    can_discard: whether `discard` can do so; what has gone into a stream is with its reader.
    """

    can_discard: ClassVar[bool]

    def write(self, data: bytes) -> None: ...
    def commit(self) -> None: ...
    def discard(self) -> None: ...


def open_output(
    target: Path | BinaryIO, *, overwrite: bool, is_ours: Callable[[Path], bool]
) -> Output:
    """An output for a path, or for a binary stream such as standard output.

    A file that exists is replaced if `overwrite` or if `is_ours(path)`; else OutputError, before
    anything is written. What `is_stream` knows as one is written to as it is.
    """
    if not isinstance(target, Path):
        return StreamOutput(target, "standard output")
    with output_errors(target):
        if is_stream(target):
            # Appending, for a descriptor may be a file that has been written to already.
            stream = os.fdopen(os.open(target, os.O_WRONLY | os.O_APPEND), "wb")
            return StreamOutput(stream, printable(str(target)), closes=True)
        # The file a link points to is replaced, not the link.
        path = Path(os.path.realpath(target))
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        if path.is_file():
            _check_replaceable(target, path, overwrite, is_ours)
        return FileOutput(path)


def is_stream(path: Path) -> bool:
    """Whether a device, a pipe or an open descriptor stands there (`/dev/null`, `>(command)`).

    Its name is asked, not what a link leads to: a descriptor is a link to a name that may not be.
    """
    if path.is_dir():
        return False
    is_descriptor = _DESCRIPTOR.fullmatch(str(path.absolute())) is not None
    return path.exists() and (is_descriptor or not path.is_file())


def write_file(path: Path, data: bytes) -> None:
    """Put `data` there at once, whatever stood there before. Raises OutputError."""
    output = open_output(path, overwrite=True, is_ours=lambda _: True)
    try:
        output.write(data)
        output.commit()
    finally:
        output.discard()


class FileOutput:
    """A file under its temporary name until `commit`."""

    can_discard: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(temporary_name(path.name))
        with output_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = self._temporary.open("wb")

    def write(self, data: bytes) -> None:
        with output_errors(self._path):
            self._stream.write(data)

    def commit(self) -> None:
        with output_errors(self._path):
            self._stream.flush()
            # Some file systems report a full disk only here.
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._temporary.replace(self._path)

    def discard(self) -> None:
        # Closing flushes, which fails again on a full disk; the file is to go anyway.
        with suppress(OSError):
            self._stream.close()
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)


class StreamOutput:
    """A stream that others may be reading: every write reaches them at once.

    A closed pipe raises BrokenPipeError as it is: the reader has had enough, which is no failure.
    """

    can_discard: ClassVar[bool] = False

    def __init__(self, stream: BinaryIO, name: str, closes: bool = False) -> None:
        self._stream = stream
        self._name = name
        self._closes = closes

    def write(self, data: bytes) -> None:
        with output_errors(self._name):
            self._stream.write(data)
            self._stream.flush()

    def commit(self) -> None:
        if self._closes:
            with output_errors(self._name):
                self._stream.close()

    def discard(self) -> None:
        if self._closes:
            with suppress(OSError):
                self._stream.close()


def temporary_name(name: str) -> str:
    """Short whatever the length of `name`, hidden, and the same for the same name."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
    return f".fastocr-{digest[:16]}.part"


@contextmanager
def output_errors(name: Path | str) -> Iterator[None]:
    """OSError inside becomes an OutputError that names the output and says what to do."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = _ADVICE.get(error.errno or 0) or f"cannot be written: {error.strerror or error}"
        raise OutputError(f"{printable(str(name))}: {reason}") from error


def _check_replaceable(
    target: Path, path: Path, overwrite: bool, is_ours: Callable[[Path], bool]
) -> None:
    """A rename would replace even a write-protected file, so its protection is asked for."""
    if not overwrite and not is_ours(path):
        raise OutputError(
            f"{printable(str(target))}: exists and was not written by fastocr; "
            "move it away or use --overwrite"
        )
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "")

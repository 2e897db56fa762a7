"""The record of what has been read: one line of JSON per page, on disk before the next page ends.

A page is found again by what decided its text: the file's bytes, its number, the settings that
matter, the model's revision, its calibration and this program's version. So a killed run resumes at
the next page, whatever of these has changed is a reason to read anew, and the same file under two
names is read once. The outputs are written from these records, fresh or resumed, which is why the
two cannot differ.

Knows pages and files; nothing of models, sources or formats.
"""

from __future__ import annotations

import base64
import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from fastocr_cli.errors import OutputError
from fastocr_cli.record.codec import decode_result, encode_result
from fastocr_cli.results import PageResult, PageStatus

VERSION = 2
LONGEST_STEM_BYTES = 200


class PageKey(NamedTuple):
    """What decided a page's text.

    file: SHA-256 of the file's bytes; model: name and revision; settings: digest of the
    settings that matter, of the program's version and of the model's calibration.
    """

    file: str
    page: int
    settings: str
    model: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a record lies: its file, and the offset and length of its line in bytes."""

    stream: BinaryIO
    offset: int
    length: int
    status: PageStatus


class Journal:
    """An append-only file of page records, with an index in memory and the pages on disk.

    path: the file to append to; made if absent, with its folder.
    others: further journals to look pages up in, such as those of other shards.
    is_durable: whether each record is forced to the disk before `record` returns.

    Raises OutputError if the file cannot be written or another run holds it.
    """

    def __init__(self, path: Path, others: tuple[Path, ...] = (), *, is_durable: bool = True):
        self.path = path
        self._is_durable = is_durable
        self._places: dict[PageKey, _Place] = {}
        self._learned: dict[tuple[str, str], dict[str, Any]] = {}
        self._readers = [other.open("rb") for other in others if other.is_file()]
        for reader in self._readers:
            self._index(reader)
        self._stream = _open_locked(path)
        end = self._index(self._stream)
        self._stream.truncate(end)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for stream in (self._stream, *self._readers):
            stream.close()

    def delete(self) -> None:
        """Forget everything: for a run with nothing left to resume."""
        self.close()
        self.path.unlink(missing_ok=True)

    def status(self, key: PageKey) -> PageStatus | None:
        """How the page ended when it was last read, or None if it has not been."""
        place = self._places.get(key)
        return place.status if place else None

    def load(self, key: PageKey, source: str) -> tuple[PageResult, bytes | None]:
        """The recorded page, under the name its file has now, and its thumbnail if it has one.

        Raises KeyError if there is no such record.
        """
        place = self._places[key]
        place.stream.seek(place.offset)
        record = orjson.loads(place.stream.read(place.length))
        picture = record.get("thumbnail")
        thumbnail = base64.b64decode(picture) if picture else None
        return replace(decode_result(record["result"]), source=source), thumbnail

    def record(self, key: PageKey, result: PageResult, thumbnail: bytes | None = None) -> None:
        """Append one page; it survives a crash once this returns."""
        values = {**key._asdict(), "status": result.status, "result": encode_result(result)}
        if thumbnail:
            values["thumbnail"] = base64.b64encode(thumbnail).decode("ascii")
        offset, length = self._append(values)
        self._places[key] = _Place(self._stream, offset, length, result.status)

    def note_learned(self, settings: str, model: str, values: dict[str, Any]) -> None:
        """Keep what the method learned under these settings; the first note counts."""
        if (settings, model) not in self._learned:
            self._learned[settings, model] = values
            self._append({"settings": settings, "model": model, "learned": values})

    def learned(self, settings: str, model: str) -> dict[str, Any] | None:
        return self._learned.get((settings, model))

    def _append(self, values: dict[str, Any]) -> tuple[int, int]:
        """One more line, on the disk; returns its offset and its length without the line end."""
        options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
        line = orjson.dumps({"v": VERSION, **values}, option=options)
        try:
            offset = self._stream.seek(0, os.SEEK_END)
            self._stream.write(line + b"\n")
            self._stream.flush()
            if self._is_durable:
                os.fsync(self._stream.fileno())
        except OSError as error:
            raise OutputError(
                f"{self.path}: the page record cannot be written: {error.strerror}; "
                "free some space and run the same command again to go on"
            ) from error
        return offset, len(line)

    def _index(self, stream: BinaryIO) -> int:
        """Note where each whole record lies; returns the offset after the last one.

        A line without its end is the page that was in flight when the run was killed.
        """
        offset = end = 0
        for line in stream:
            if line.endswith(b"\n"):
                end = offset + len(line)
                self._note(stream, offset, line)
            offset += len(line)
        return end

    def _note(self, stream: BinaryIO, offset: int, line: bytes) -> None:
        with suppress(orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            record = orjson.loads(line)
            if record["v"] == VERSION:
                if "learned" in record:
                    self._learned.setdefault(
                        (record["settings"], record["model"]), record["learned"]
                    )
                    return
                key = PageKey(*(record[name] for name in PageKey._fields))
                status = PageStatus(record["status"])
                self._places[key] = _Place(stream, offset, len(line) - 1, status)


def journal_paths(
    folder: Path, file: Path | None, shard: tuple[int, int]
) -> tuple[Path, tuple[Path, ...]]:
    """The journal to append to, and others in `folder` in which pages may be looked up.

    file: the one output file, which has a journal of its own; None stands for a folder of outputs,
    whose shards share what they know.
    """
    if file is not None:
        # The prefix keeps it apart from the folder's other records, whatever the output is called.
        return folder / f"file-{_short(file.name)}.jsonl", ()
    index, count = shard
    own = folder / ("journal.jsonl" if count == 1 else f"journal-{index + 1}of{count}.jsonl")
    return own, tuple(path for path in sorted(folder.glob("journal*.jsonl")) if path != own)


def _short(name: str) -> str:
    """A file name that leaves room for a suffix."""
    raw = name.encode("utf-8", "surrogateescape")
    if len(raw) <= LONGEST_STEM_BYTES:
        return name
    return hashlib.sha256(raw).hexdigest()[:32]


def _open_locked(path: Path) -> BinaryIO:
    """Open for reading and appending; a second run on the same file is refused."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a+b")
    except OSError as error:
        raise OutputError(
            f"{path.parent}: cannot be written: {error.strerror}; choose another place with -o"
        ) from error
    if not _lock(stream):
        stream.close()
        raise OutputError(
            f"{path}: another run is writing there; wait for it, "
            "or share the work in a folder: -o out/ --shard i/n"
        )
    stream.seek(0)
    return stream


def _lock(stream: BinaryIO) -> bool:
    """Hold the file for this process; always true where the system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True

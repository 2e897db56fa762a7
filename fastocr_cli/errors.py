"""Exit codes, and the errors that own them.

Every error a user can cause is a `FastocrError`: its message is one line that says what failed,
why, and what to try; its class says which exit code the command ends with. Tracebacks are for our
own bugs.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What the command's exit status means; users script against these numbers."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    MISSING_DEPENDENCY = 3
    INPUT_UNREADABLE = 4
    ENCRYPTED = 5
    PARTIAL = 6
    OUTPUT_NOT_WRITABLE = 7
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


class FastocrError(Exception):
    """Base of all errors with a message for people and an exit code of their own."""

    exit_code: ClassVar[ExitCode] = ExitCode.UNEXPECTED


class UsageError(FastocrError):
    """An option or a setting that cannot be meant: impossible keep, empty page range."""

    exit_code = ExitCode.USAGE


class EmptyValueError(UsageError):
    """A value without anything in it, most often a shell variable that was not set. place: where
    it was given, such as the flag."""

    def __init__(self, place: str, text: str = "") -> None:
        super().__init__(f"{place} {text!r}: there is nothing in it; give a value or leave it out")


class SettingError(UsageError):
    """One setting whose value cannot be meant, under the name of its flag; `config.py` knows where
    the value came from and says so with `told_of`."""

    def __init__(self, name: str, value: object, reason: str) -> None:
        self.name = name
        self._said = f"{'' if value is None else str(value) or repr(value)}: {reason}"
        super().__init__(self.told_of(f"--{name.replace('_', '-')}"))

    def told_of(self, place: str) -> str:
        return f"{place} {self._said}"


class MissingModelError(FastocrError):
    """A model, a library or a device that is not there."""

    exit_code = ExitCode.MISSING_DEPENDENCY


class InputError(FastocrError):
    """An input that is absent, damaged, empty or of an unknown kind."""

    exit_code = ExitCode.INPUT_UNREADABLE


class EncryptedError(FastocrError):
    """An encrypted document without the right password."""

    exit_code = ExitCode.ENCRYPTED


class OutputError(FastocrError):
    """An output that cannot be written: read-only, disk full, a directory in its place."""

    exit_code = ExitCode.OUTPUT_NOT_WRITABLE

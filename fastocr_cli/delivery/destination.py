"""Where the outputs go: one file, a folder that mirrors the inputs, or standard output.

Knows names and formats; writes nothing. Everything is decided before the first page is read, so
that a request that cannot work costs no reading.
"""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from fastocr_cli.errors import OutputError, UsageError
from fastocr_cli.inputs.documents import Document, printable
from fastocr_cli.inputs.sniff import SUFFIXES
from fastocr_cli.inputs.sources import BadInput
from fastocr_cli.writers.output import is_stream, output_errors

SUFFIX_FORMATS = {
    ".md": "md",
    ".markdown": "md",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".html": "html",
    ".htm": "html",
    ".txt": "txt",
    ".text": "txt",
}
RUNNING_FORMATS = ("md", "txt")
"""Several documents may follow one another in these, where -o - asks for that; JSON and HTML are of
one document."""
LONGEST_NAME_BYTES = 255
STDOUT = "-"
STDOUT_NAMES = (STDOUT, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""The last three would lead to standard error while standard output is kept for the product."""


@dataclass(frozen=True)
class Destination:
    """Which files each document becomes.

    file: the one output file, for `-o report.md`.
    folder: the output folder; neither file nor folder is standard output.
    stems: in a folder, each document's output path below it, without its suffix.
    """

    formats: tuple[str, ...]
    file: Path | None = None
    folder: Path | None = None
    stems: tuple[PurePath, ...] = ()

    @property
    def is_stdout(self) -> bool:
        return self.file is None and self.folder is None

    @property
    def home(self) -> Path | None:
        """The folder that holds the outputs, and our record of them; a stream has none."""
        if self.file is None:
            return self.folder
        return None if is_stream(self.file) else self.file.parent

    @property
    def words(self) -> str:
        """For the summary: where to look."""
        if self.file:
            return str(self.file)
        return f"{self.folder}/" if self.folder else ""

    def path(self, index: int, format_: str) -> Path:
        """The output file of one document in one format."""
        if self.file:
            return self.file
        assert self.folder is not None
        stem = self.stems[index]
        return self.folder / stem.with_name(_fitting(stem.name, f".{format_}"))

    def files(self, count: int) -> Iterator[Path]:
        """All output files of so many documents."""
        if not self.is_stdout:
            for index in range(1 if self.file else count):
                yield from (self.path(index, format_) for format_ in self.formats)


def plan(
    output: str | None,
    formats: Sequence[str],
    items: Sequence[Document | BadInput],
    shards: int = 1,
) -> Destination:
    """Decide from -o, -f, the inputs of all shards and how many shards there are.

    Raises UsageError or OutputError with what to do.
    """
    if output is None or output in STDOUT_NAMES:
        return _plan_stdout(output, formats, items)
    path = Path(output)
    with output_errors(path):
        is_folder = path.is_dir() or output.endswith("/")
    if is_folder:
        return _plan_folder(path, formats, items)
    if shards > 1 and not is_stream(path):
        raise UsageError(
            f"-o {printable(output)}: every shard would replace what the others wrote; "
            "give a folder, such as -o out/"
        )
    return _plan_file(path, formats, items)


def _plan_stdout(
    output: str | None, formats: Sequence[str], items: Sequence[Document | BadInput]
) -> Destination:
    chosen = tuple(formats) or ("md",)
    if len(chosen) > 1:
        raise UsageError(f"-f {','.join(chosen)}: several formats need a folder, such as -o out/")
    takes_several = "jsonl" in chosen or (output is not None and chosen[0] in RUNNING_FORMATS)
    if len(items) > 1 and not takes_several:
        raise UsageError(
            f"{len(items)} inputs: say where the outputs go, such as -o out/ "
            "(or -f jsonl for one stream)"
        )
    return Destination(chosen)


def _plan_folder(
    folder: Path, formats: Sequence[str], items: Sequence[Document | BadInput]
) -> Destination:
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{printable(str(folder))}: is a file; give a folder, or another name")
    return Destination(tuple(formats) or ("md",), folder=folder, stems=_stems(items))


def _plan_file(
    path: Path, formats: Sequence[str], items: Sequence[Document | BadInput]
) -> Destination:
    chosen = tuple(formats) or (_format_of(path),)
    name = printable(str(path))
    if len(chosen) > 1:
        raise UsageError(f"-o {name}: several formats need a folder, such as -o {name}/")
    if len(items) > 1 and chosen != ("jsonl",):
        raise UsageError(
            f"-o {name}: {len(items)} inputs need a folder; end its name with a slash: -o {name}/"
        )
    for item in items:
        if isinstance(item, Document) and item.path and _is_same_file(path, item.path):
            raise UsageError(f"-o {name}: that is an input; give another name")
    return Destination(chosen, file=path)


def _format_of(path: Path) -> str:
    """The format a file's suffix chooses; a stream's or a bare name is Markdown."""
    suffix = path.suffix.lower()
    if suffix and suffix not in SUFFIX_FORMATS:
        near = difflib.get_close_matches(suffix, SUFFIX_FORMATS, n=1)
        hint = f"did you mean {near[0]}?" if near else "choose one of them, or a format with -f"
        raise UsageError(
            f"-o {printable(str(path))}: no format has the suffix {printable(suffix)}; "
            f"there are {', '.join(SUFFIX_FORMATS)}: {hint}"
        )
    return SUFFIX_FORMATS.get(suffix, "md")


def _is_same_file(one: Path, other: Path) -> bool:
    return one.exists() and one.samefile(other)


def _stems(items: Sequence[Document | BadInput]) -> tuple[PurePath, ...]:
    """An output path for each input, the same however the run goes.

    `a.pdf` and `a.png` keep their suffixes as part of the name; inputs from different folders
    that would still meet get a mark made of their full name.
    """
    names = [_relative(item) for item in items]
    bare = [_without_suffix(name) for name in names]
    count = Counter(map(_folded, bare))
    stems = [b if count[_folded(b)] == 1 else n for b, n in zip(bare, names, strict=True)]
    full = Counter(map(_folded, stems))
    return tuple(
        stem if full[_folded(stem)] == 1 else stem.with_name(f"{stem.name}-{_mark(item.source)}")
        for stem, item in zip(stems, items, strict=True)
    )


def _relative(item: Document | BadInput) -> PurePath:
    if isinstance(item, Document):
        return item.relative
    return PurePath(PurePath(item.source).name or "unnamed")


def _without_suffix(name: PurePath) -> PurePath:
    return name.with_suffix("") if name.suffix.lower() in SUFFIXES else name


def _folded(name: PurePath) -> str:
    """Names that a file system without capitals would take for one."""
    return str(name).casefold()


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _fitting(stem: str, suffix: str) -> str:
    """`stem + suffix`, the stem cut and marked where the file system could not take it."""
    raw = stem.encode("utf-8", "surrogateescape")
    room = LONGEST_NAME_BYTES - len(suffix)
    if len(raw) <= room:
        return stem + suffix
    cut = raw[: room - 9].decode("utf-8", "ignore")
    return f"{cut}-{_mark(stem)}{suffix}"

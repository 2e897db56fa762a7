"""Makes the soak folder: 300 inputs, 60 of them broken, and a list of what is to become of each.

    python -m tests.soak.make_soak FOLDER

FOLDER/inputs holds the inputs, in folders within folders, some under names that trip programs up;
FOLDER/manifest.json says of each, by its path below inputs, which pages can be read and what they
say. The folder also holds hidden files, files of other kinds and a link that leads back up, which
are no inputs.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path

from tests.soak.broken import WAYS, Way
from tests.soak.readable import GIANT, KINDS, Kind, sheets

INPUTS = 300
BROKEN = 60
FOLDERS = 12
DECORATIONS = (
    "", "", "", "", " two words", " it's \"quoted\"", " line\nbreak", " 报告 第1页",
    " \N{SLIGHTLY SMILING FACE}", " [brackets]*", " -dash; $HOME", " ünïcödé",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One input. pages: by number, "read", "blank" or "failed"; empty if the input as a whole
    cannot be read, and then `exit_code` is that of the error. texts: lines of the pages to read;
    None where the page is readable but not of our sheets."""

    path: str
    kind: str
    pages: tuple[str, ...]
    texts: tuple[tuple[str, ...] | None, ...] = ()
    exit_code: int = 0


def make_soak(folder: Path) -> list[Entry]:
    """Fills `folder`, which must not hold a soak yet, and returns its manifest."""
    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    readable: list[Kind | Way] = list(islice(cycle(KINDS), INPUTS - BROKEN - 2))
    broken = islice(cycle(WAYS), BROKEN)
    # Broken inputs are spread among the good ones, so that each can show what it spoils.
    plan = sorted(
        enumerate([*readable, GIANT, GIANT, *broken]), key=lambda item: item[0] * 7919 % INPUTS
    )
    entries = [_make(inputs, number, what) for number, (_, what) in enumerate(plan)]
    _add_bystanders(inputs)
    manifest = json.dumps([asdict(entry) for entry in entries], ensure_ascii=False, indent=1)
    (folder / "manifest.json").write_text(manifest, encoding="utf-8")
    return entries


def _make(inputs: Path, number: int, what: Kind | Way) -> Entry:
    path = inputs / f"box {number % FOLDERS}" / _name(number, what.name, what.suffix)
    path.parent.mkdir(exist_ok=True)
    relative = path.relative_to(inputs).as_posix()
    if isinstance(what, Way):
        what.make(path, number)
        return _broken_entry(relative, number, what)
    pages = sheets(number, max(what.pages, 1))
    path.write_bytes(what.make(pages))
    if what.pages == 0:
        return Entry(relative, what.name, ("blank",), (None,))
    texts = tuple(None if what is GIANT else sheet.lines for sheet in pages)
    return Entry(relative, what.name, ("read",) * len(pages), texts)


def _broken_entry(relative: str, number: int, way: Way) -> Entry:
    if not way.good_pages:
        return Entry(relative, way.name, (), exit_code=way.exit_code)
    found = sheets(number, 3)
    pages = tuple("read" if sheet.page in way.good_pages else "failed" for sheet in found)
    texts = tuple(sheet.lines if sheet.page in way.good_pages else None for sheet in found)
    return Entry(relative, way.name, pages, texts)


def _name(number: int, kind: str, suffix: str) -> str:
    if number % 50 == 49:  # as long as file systems allow
        return f"{number:03d} ".ljust(255 - len(suffix), "x") + suffix
    return f"{number:03d} {kind}{DECORATIONS[number % len(DECORATIONS)]}{suffix}"


def _add_bystanders(inputs: Path) -> None:
    (inputs / ".hidden.pdf").write_bytes(b"")
    (inputs / "notes.txt").write_text("no document\n")
    (inputs / "box 0" / "back up").symlink_to("..", target_is_directory=True)


if __name__ == "__main__":
    made = make_soak(Path(sys.argv[1]))
    print(f"{len(made)} inputs of {len({entry.kind for entry in made})} kinds in {sys.argv[1]}")

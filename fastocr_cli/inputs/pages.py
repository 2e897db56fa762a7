"""The grammar of `--pages`: "1,3-5,9-end", counted from 1.

Knows numbers only, no documents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fastocr_cli.errors import SettingError, UsageError

_PART = re.compile(r"(?P<first>[0-9]{1,9}|end)(\s*-\s*(?P<last>[0-9]{1,9}|end))?", re.IGNORECASE)
_HELP = "give numbers and ranges from 1, such as 1,3-5,9-end"


@dataclass(frozen=True, slots=True)
class PageSelection:
    """Which pages are wanted.

    ranges: first and last page of each part, from 1; None stands for the document's last page.
    """

    text: str
    ranges: tuple[tuple[int | None, int | None], ...]

    def numbers(self, page_count: int, source: str) -> tuple[int, ...]:
        """The selected page numbers of a document, ascending, each once.

        `source` names the document in the UsageError that a page outside of it raises.
        """
        wanted: set[int] = set()
        for first, last in self.ranges:
            start, stop = first or page_count, last or page_count
            if stop > page_count or start > page_count:
                have = "only 1 page" if page_count == 1 else f"{page_count} pages"
                raise UsageError(
                    f"{source}: pages {self.text}: the document has {have}; "
                    f"give pages up to {page_count}, or end"
                )
            wanted.update(range(start, stop + 1))
        return tuple(sorted(wanted))


def parse_pages(text: str) -> PageSelection:
    """Read a page selection; raises SettingError on anything that is not one."""
    return PageSelection(
        "".join(text.split()), tuple(_parse_part(text, part) for part in text.split(","))
    )


def _parse_part(text: str, part: str) -> tuple[int | None, int | None]:
    match = _PART.fullmatch(part.strip())
    if match is None:
        raise SettingError("pages", text, f"{part.strip()!r} is not a page or a range; {_HELP}")
    first = _parse_number(text, match["first"])
    last = _parse_number(text, match["last"]) if match["last"] else first
    if last is not None and (first is None or first > last):
        raise SettingError("pages", text, f"{part.strip()!r} runs backwards; {_HELP}")
    return first, last


def _parse_number(text: str, word: str) -> int | None:
    if word.lower() == "end":
        return None
    if int(word) == 0:
        raise SettingError("pages", text, f"pages are counted from 1; {_HELP}")
    return int(word)

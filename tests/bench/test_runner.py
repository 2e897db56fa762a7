"""The order of measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fastocr_cli.bench.contestants import PageRun
from fastocr_cli.bench.runner import PATIENCE_S, run
from fastocr_cli.results import PageImage
from tests.bench.made_up import document


@dataclass
class Notary:
    """A contestant that writes down what it was asked, in a list shared by all."""

    method: str
    diary: list[tuple[str, tuple[int, ...]]]
    keep: float | None = 1.0
    warmed: list[int] = field(default_factory=list)

    def warm_up(self, page: PageImage) -> None:
        assert not self.diary
        self.warmed.append(page.number)

    def read(self, pages: Sequence[PageImage]) -> list[PageRun]:
        self.diary.append((self.method, tuple(page.number for page in pages)))
        return [PageRun(f"{self.method} {page.number}", 1.0) for page in pages]


def notaries(*names: str) -> tuple[list[Notary], list[tuple[str, tuple[int, ...]]]]:
    diary: list[tuple[str, tuple[int, ...]]] = []
    return [Notary(name, diary) for name in names], diary


def test_turns_alternate_and_nobody_always_begins() -> None:
    contestants, diary = notaries("a", "b")
    done = run(contestants, [document(pages=3)], rounds=2)
    assert all(len(one.warmed) == 1 for one in contestants)
    assert [page for _, page in diary] == [(1,), (1,), (2,), (2,), (3,), (3,)] * 2
    assert {frozenset(name for name, _ in diary[i : i + 2]) for i in range(0, 12, 2)} == {
        frozenset("ab")
    }
    beginners = [name for name, _ in diary[::2]]
    assert beginners.count("a") == beginners.count("b")
    assert [run.text for run in done[1].rounds[0]] == ["b 1", "b 2", "b 3"]


def test_pages_are_read_together() -> None:
    contestants, diary = notaries("a")
    (done,) = run(contestants, [document(pages=2), document(pages=1)], rounds=1, batch_size=2)
    assert [pages for _, pages in diary] == [(1, 2), (1,)]
    assert len(done.rounds[0]) == 3


def test_patience_decides_where_no_number_is_given() -> None:
    def rounds(seconds: float) -> int:
        contestants, _ = notaries("a")
        ticks = iter(range(100))
        clock = lambda: next(ticks) * seconds  # noqa: E731
        (done,) = run(contestants, [document()], clock=clock)
        return len(done.rounds)

    assert rounds(PATIENCE_S) == 1
    assert rounds(PATIENCE_S / 3.5) == 3
    assert rounds(0.1) == 5

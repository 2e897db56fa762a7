"""The whole of a bench in one call: contestants, rounds, rows, outcome."""

from __future__ import annotations

from collections.abc import Sequence

from fastocr_cli.bench.contestants import Contestant, make_settings
from fastocr_cli.bench.figures import make_rows
from fastocr_cli.bench.outcome import Outcome, make_outcome
from fastocr_cli.bench.pages import BenchDocument
from fastocr_cli.bench.peers import find_peers
from fastocr_cli.bench.runner import Notify, run
from fastocr_cli.options import Options
from fastocr_cli.reading import Reader


def measure(
    reader: Reader,
    documents: Sequence[BenchDocument],
    *,
    methods: Sequence[str],
    keeps: Sequence[float],
    rtprune: Sequence[str] = (),
    rounds: int | None,
    options: Options,
    aided: bool,
    peers: bool = False,
    notify: Notify = lambda text: None,
) -> Outcome:
    """rounds: how often every page is read, None for as often as patience allows. aided: whether
    the model reads as `parse` has it read, or its decoder is on its own."""
    contestants: list[Contestant] = [
        *make_settings(
            reader,
            methods,
            keeps,
            rtprune=rtprune,
            fixation=options.fixation,
            max_tokens=options.max_tokens,
            aided=aided,
        ),
        *(find_peers() if peers else ()),
    ]
    batch_size = options.batch_size or 1
    runs = run(contestants, documents, rounds=rounds, batch_size=batch_size, notify=notify)
    return make_outcome(
        reader.adapter,
        documents,
        make_rows(runs, documents),
        rounds=len(runs[0].rounds),
        batch_size=batch_size,
        aided=aided,
    )

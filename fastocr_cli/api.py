"""Documents in, page results out: the library behind the command.

    for page in parse("report.pdf"):
        print(page.markdown, page.stats.tokens_per_second)

Prints nothing and writes no files.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from fastocr_cli.errors import FastocrError, UsageError
from fastocr_cli.inputs.sources import resolve
from fastocr_cli.models.names import split_revision
from fastocr_cli.options import Options
from fastocr_cli.patience import PatientReader
from fastocr_cli.pipeline import Pipeline
from fastocr_cli.record.events import DocumentFailed, Event, PageDone
from fastocr_cli.record.identity import identify
from fastocr_cli.results import PageResult

if TYPE_CHECKING:
    from fastocr_cli.reading import Reader

PathLike = str | os.PathLike[str]


def parse(
    inputs: PathLike | Iterable[PathLike],
    *,
    model: str = "embedded",
    mode: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    keep: float = 1.0,
    method: str = "fastocr",
    fixation: Mapping[str, Any] | None = None,
    rtprune: str | None = None,
    rtprune_option: Iterable[str] = (),
    max_tokens: int | None = None,
    max_retries: int = 2,
    batch_size: int | None = None,
    workers: int | None = 0,
    offline: bool = False,
    trust_remote_code: bool = False,
    pages: str | int | Sequence[int] | None = None,
    dpi: int | None = None,
    max_pixels: int | None = None,
    rotate: str = "auto",
    strict: bool = False,
    password: str | None = None,
    recursive: bool = True,
    reader: Reader | None = None,
    on_error: Callable[[str, FastocrError], None] | None = None,
) -> Iterator[PageResult]:
    """Read files, folders, globs or "-" (stdin), page by page in order, as the pages are asked for.

    Settings are those of `fastocr parse`; see `fastocr_cli.Options`.
    pages: as for the command, such as "1,3-5", or page numbers from 1: 2 or [1, 3].
    workers: processes that draw pages ahead. They start the caller's script anew, so ask for some
        (or for None, which chooses) only behind `if __name__ == "__main__"`.
    reader: one that is loaded already; the model and how it decodes are then its own, and settings
        of them (model, mode, device, dtype, keep, method, fixation, rtprune...) are refused.
    on_error: called with the source and the reason for each input that cannot be read, after
        which the others are read. Without it the first such reason is raised.

    Raises UsageError at once for settings that cannot be meant, and while reading InputError,
    EncryptedError or MissingModelError: each a FastocrError, to be imported from `fastocr_cli`.
    """
    if reader is not None:
        _refuse_settings(
            model=model, mode=mode, device=device, dtype=dtype, keep=keep, method=method,
            fixation=fixation, rtprune=rtprune, rtprune_option=tuple(rtprune_option),
            offline=offline, trust_remote_code=trust_remote_code,
        )  # fmt: skip
        model = reader.adapter.name
    options = Options(
        model=model, mode=mode, device=device, dtype=dtype, keep=keep, method=method,
        fixation=dict(fixation or {}), rtprune=rtprune, rtprune_option=tuple(rtprune_option),
        max_tokens=max_tokens, max_retries=max_retries, batch_size=batch_size, workers=workers,
        offline=offline, trust_remote_code=trust_remote_code,
        pages=_page_selection(pages), dpi=dpi, max_pixels=max_pixels, rotate=rotate, strict=strict,
        password=password, recursive=recursive,
    )  # fmt: skip
    names = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    items = resolve(names, recursive=recursive).items
    patient = make_reader(options, (lambda: reader) if reader else None)
    return _results(Pipeline(patient, options).run(enumerate(items)), on_error)


def _refuse_settings(**given: object) -> None:
    """Of a reader that was loaded with its own; left unheard they would seem to have no effect."""
    usual = inspect.signature(parse).parameters
    for name, value in given.items():
        if value != usual[name].default:
            raise UsageError(
                f"{name}={value!r}: the reader that is given was loaded with its own {name}; give"
                " it to Reader.from_pretrained instead"
            )


def make_reader(
    options: Options,
    load: Callable[[], Reader] | None = None,
    notify: Callable[[str], None] = lambda text: None,
    on_fault: Callable[[Exception], None] = lambda error: None,
    while_loading: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> PatientReader:
    """A reader with the options' patience; the model is loaded when the first page needs it."""
    return PatientReader(
        load or (lambda: load_reader(options)),
        identify=(lambda: None) if load else (lambda: identify(options)),
        batch_size=options.batch_size,
        turns=options.rotate == "auto",
        max_tokens=options.max_tokens,
        max_retries=options.max_retries,
        notify=notify,
        on_fault=on_fault,
        while_loading=while_loading,
    )


def load_reader(options: Options) -> Reader:
    """The model that the options name, `owner/name@revision` included."""
    from fastocr_cli.reading import Reader

    name, revision = split_revision(options.model)
    return Reader.from_pretrained(
        name,
        device=options.device,
        dtype=options.dtype,
        keep=options.keep,
        method=options.method,
        fixation=options.fixation,
        rtprune=options.rtprune_settings,
        offline=options.offline,
        trust_remote_code=options.trust_remote_code,
        revision=revision,
        mode=options.mode,
    )


def _page_selection(pages: str | int | Sequence[int] | None) -> str | None:
    """In the words of `--pages`; what is no page number either is left to its check."""
    if isinstance(pages, Sequence) and not isinstance(pages, str):
        return ",".join(map(str, pages))
    return None if pages is None else str(pages)


def _results(
    events: Iterable[Event], on_error: Callable[[str, FastocrError], None] | None
) -> Iterator[PageResult]:
    for event in events:
        if isinstance(event, PageDone):
            yield event.result
        elif isinstance(event, DocumentFailed):
            if on_error is None:
                raise event.error
            on_error(event.source, event.error)

"""The spelling and the help of every flag of `fastocr parse`, grouped as the help shows them.

Values default to None, which means "not given": what applies then is decided by `config.py`, which
also reads the numbers, so that a fault in one is told in the same words wherever it stands.
Defaults are quoted from `Options`, so that the help cannot disagree with the code.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from fastocr_cli.options import FORMATS, UNSET, Options

_DEFAULTS = {f.name: f.default for f in fields(Options)}


def _flag(*names: str, help: str, panel: str, default: str | None = None, **more: Any) -> Any:
    """A flag whose help ends in its default, where there is one to tell."""
    shown = f"{help} [dim]\\[default: {default}][/dim]" if default else help
    return typer.Option(*names, help=shown, rich_help_panel=panel, show_default=False, **more)


def _of(name: str) -> str:
    return UNSET.get(name) or str(_DEFAULTS[name])


# fmt: off
OUTPUT, READING, PAGES, RUN, SCREEN = "Output", "Reading", "Pages", "Running", "Display"

Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        help="Files, folders, globs, or - for standard input.", metavar="INPUTS",
        show_default=False,
    ),
]

# --- output
Output = Annotated[
    str | None,
    _flag("-o", "--output", panel=OUTPUT, metavar="PATH",
          help="A file, a folder (exists or ends in /), or - for standard output."),
]
Format = Annotated[
    str | None,
    _flag("-f", "--format", panel=OUTPUT, metavar="LIST", default=_of("format"),
          help=f"One or several of {', '.join(FORMATS)}, with commas."),
]
PageBreaks = Annotated[
    str | None,
    _flag("--page-breaks", panel=OUTPUT, metavar="none|comment|rule", default=_of("page_breaks"),
          help="What stands between two pages of Markdown."),
]
Tables = Annotated[
    str | None,
    _flag("--tables", panel=OUTPUT, metavar="md|html", default=_of("tables"),
          help="How Markdown holds tables."),
]
Overwrite = Annotated[
    bool | None,
    _flag("--overwrite/--no-overwrite", panel=OUTPUT, default="no",
          help="Replace what fastocr did not write or wrote for another document."),
]
Report = Annotated[
    str | None,
    _flag("--report", panel=OUTPUT, metavar="FILE", help="Write a record of the run as JSON."),
]

# --- reading
Model = Annotated[
    str | None,
    _flag("--model", panel=READING, metavar="NAME|PATH|REPO[@REV]", default=_of("model"),
          help="The reader that ships with fastocr, a folder, or a Hugging Face model."),
]
Keep = Annotated[
    str | None,
    _flag("--keep", panel=READING, metavar="SHARE", default=_of("keep"),
          help="Share of the visual tokens each decoding step attends to; 1 keeps all."),
]
Method = Annotated[
    str | None,
    _flag("--method", panel=READING, metavar="NAME", default=_of("method"),
          help="How the tokens are chosen."),
]
Fixation = Annotated[
    list[str] | None,
    _flag("--fixation", panel=READING, metavar="KEY=VALUE",
          help="A further setting of the method; may be repeated."),
]
RTPrune = Annotated[
    str | None,
    _flag("--rtprune", panel=READING, metavar="[dynamic|SHARE|off]", default=_of("rtprune"),
          help="Drop visual tokens before the decoder: as many as each page allows, or a share."),
]
RTPruneOption = Annotated[
    list[str] | None,
    _flag("--rtprune-option", panel=READING, metavar="KEY=VALUE",
          help="temperature, strength or merge; may be repeated."),
]
Device = Annotated[
    str | None,
    _flag("--device", panel=READING, metavar="auto|cpu|cuda[:N]|mps", default=_of("device"),
          help="Where the model runs."),
]
DType = Annotated[
    str | None,
    _flag("--dtype", panel=READING, metavar="auto|bf16|f16|f32", default=_of("dtype"),
          help="Precision of the model."),
]
MaxTokens = Annotated[
    str | None,
    _flag("--max-tokens", panel=READING, metavar="N", default=_of("max_tokens"),
          help="Most tokens a page may take."),
]
MaxRetries = Annotated[
    str | None,
    _flag("--max-retries", panel=READING, metavar="N", default=_of("max_retries"),
          help="Further attempts at a page that loops, is cut short or fails; more than 2 are "
               "never made."),
]
Offline = Annotated[
    bool | None,
    _flag("--offline/--online", panel=READING, default="online",
          help="Never use the network; HF_HUB_OFFLINE=1 does the same."),
]
Mode = Annotated[
    str | None,
    _flag("--mode", metavar="NAME", panel=READING, default=_of("mode"),
          help="How pages are shown, where a model has several ways (DeepSeek-OCR: tiny, small, "
               "base, large, gundam)."),
]
TrustRemoteCode = Annotated[
    bool | None,
    _flag("--trust-remote-code", panel=READING, default="no",
          help="Let a model from the hub run its own Python code."),
]

# --- pages
Pages = Annotated[
    str | None,
    _flag("--pages", panel=PAGES, metavar="1,3-5,9-end", default=_of("pages"),
          help="Pages of each document, counted from 1."),
]
Dpi = Annotated[
    str | None,
    _flag("--dpi", panel=PAGES, metavar="N", default=_of("dpi"),
          help="Resolution at which PDF pages are drawn."),
]
MaxPixels = Annotated[
    str | None,
    _flag("--max-pixels", panel=PAGES, metavar="N", default=_of("max_pixels"),
          help="Draw larger pages at a lower resolution."),
]
Rotate = Annotated[
    str | None,
    _flag("--rotate", panel=PAGES, metavar="auto|off|90|180|270", default=_of("rotate"),
          help="Turn every page clockwise; auto turns those on which the model says that it can "
               "read nothing, which only the embedded reader does."),
]
Turn = Annotated[
    str | None,
    _flag("--rotate", panel=PAGES, metavar="off|90|180|270", default="off",
          help="Turn every page clockwise."),
]
Password = Annotated[
    str | None,
    _flag("--password", panel=PAGES, metavar="TEXT",
          help="For encrypted PDFs; FASTOCR_PASSWORD keeps it off the process list."),
]
Recursive = Annotated[
    bool | None,
    _flag("--recursive/--no-recursive", panel=PAGES, default="yes",
          help="Look for documents in folders of folders."),
]
FilesFrom = Annotated[
    str | None,
    _flag("--files-from", panel=PAGES, metavar="FILE|-",
          help="Read more inputs from a list, one a line or NUL-separated."),
]

# --- running
BatchSize = Annotated[
    str | None,
    _flag("-b", "--batch-size", panel=RUN, metavar="N|auto", default=_of("batch_size"),
          help="Pages decoded together."),
]
Workers = Annotated[
    str | None,
    _flag("-j", "--workers", panel=RUN, metavar="N|auto", default=_of("workers"),
          help="Processes that draw pages ahead of the model; 0 draws between batches."),
]
Shard = Annotated[
    str | None,
    _flag("--shard", panel=RUN, metavar="I/N",
          help="Read every N-th input, from the I-th, into a folder that all shards share."),
]
Resume = Annotated[
    bool | None,
    _flag("--resume/--no-resume", panel=RUN, default="resume",
          help="Go on after the pages that an earlier run recorded."),
]
RetryFailed = Annotated[
    bool | None,
    _flag("--retry-failed", panel=RUN,
          help="Read again what an earlier run recorded as failed, looped or truncated."),
]
Strict = Annotated[
    bool | None,
    _flag("--strict", panel=RUN,
          help="Count as failed what had to be repaired, is damaged or was scaled down."),
]
FailFast = Annotated[
    bool | None, _flag("--fail-fast", panel=RUN, help="Stop at the first failure.")
]
ExitZero = Annotated[
    bool | None,
    _flag("--exit-zero", panel=RUN, help="Exit with 0 even if some pages or files failed."),
]
ConfigFile = Annotated[
    Path | None,
    _flag("--config", panel=RUN, metavar="FILE", help="Settings file in place of fastocr.toml."),
]
NoConfig = Annotated[bool, _flag("--no-config", panel=RUN, help="Read no settings files.")]

# --- display
ProgressMode = Annotated[
    str | None,
    _flag("--progress", panel=SCREEN, metavar="auto|bar|lines|json|none", default="auto",
          help="How progress is shown, on standard error."),
]
Color = Annotated[
    str | None,
    _flag("--color", panel=SCREEN, metavar="auto|always|never", default="auto",
          help="Colour on standard error."),
]
Quiet = Annotated[
    int, _flag("-q", "--quiet", panel=SCREEN, count=True,
               help="No progress, no summary; twice: errors only.")
]
Verbose = Annotated[
    int, _flag("-v", "--verbose", panel=SCREEN, count=True,
               help="Details and the libraries' warnings; twice: tracebacks.")
]

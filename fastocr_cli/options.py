"""One frozen object with every setting of a run, checked in one place.

Knows the meaning and the limits of each setting; does not know where a value came from
(`config.py` does) nor how it is spelt on the command line (`cli.py` does).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastocr_cli.errors import SettingError
from fastocr_cli.inputs.pages import PageSelection, parse_pages
from fastocr_cli.rtprune.settings import RTPruneSettings, parse_rtprune

FORMATS = ("md", "json", "jsonl", "html", "txt")
DTYPES = ("auto", "bf16", "f16", "f32", "bfloat16", "float16", "float32")
UNSET = {
    **dict.fromkeys(("mode", "max_tokens"), "by the page"),
    **dict.fromkeys(("batch_size", "workers"), "auto"),
    **dict.fromkeys(("fixation", "rtprune_option", "password", "shard"), "none"),
    "format": "by the suffix of -o, else md",
    "rtprune": "off",
    "pages": "all",
    "dpi": "216 for the embedded reader, 144 for others",
    "max_pixels": "40 million",
}
"""What applies where a setting has no value, in words; the numbers are `RasterSettings`' own."""
_DEVICE = re.compile(r"auto|cpu|mps|xpu|cuda(:\d+)?")
_SHARD = re.compile(r"(\d+)/(\d+)")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of one run. Names are those of the flags, with underscores.

    keep: share of the visual tokens that layers other than focal ones attend to, 0 <= keep <= 1.
    fixation: further settings of the pruning method, by name.
    mode: how pages are shown, for model families that have several ways; None chooses by page.
    rtprune: "dynamic", a share of the visual tokens to drop before the decoder, or "off".
    rtprune_option: further settings of it, as "key=value".
    max_tokens: most tokens per page; None lets the model's adapter derive it from the page.
    max_retries: further attempts at a page that looped, was cut short or failed; there are two, the
        second only where something is pruned.
    batch_size: pages decoded together; None chooses by device.
    dpi: resolution at which PDF pages are drawn; None chooses by model.
    pages: such as "1,3-5,9-end", from 1; None means all.
    max_pixels: cap on a page's raster; larger pages are drawn at a lower resolution; None leaves it
        to the rasteriser.
    rotate: "90", "180" or "270" turns every page clockwise by so many degrees; "auto" only those on
        which the model says that it could read nothing, until it can ("off" for models that do not
        say so: all but the embedded reader); "off" none.
    strict: what had to be repaired, is damaged or was scaled down counts as failed.
    workers: processes that draw pages ahead of the model; None chooses, 0 draws in line.
    shard: "i/n" reads every n-th input, beginning with the i-th (from 1).
    """

    model: str = "embedded"
    mode: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    keep: float = 1.0
    method: str = "fastocr"
    fixation: Mapping[str, Any] = field(default_factory=dict)
    rtprune: str | None = None
    rtprune_option: tuple[str, ...] = ()
    max_tokens: int | None = None
    max_retries: int = 2
    batch_size: int | None = None
    offline: bool = False
    trust_remote_code: bool = False

    pages: str | None = None
    dpi: int | None = None
    max_pixels: int | None = None
    rotate: str = "auto"
    password: str | None = field(default=None, repr=False)
    recursive: bool = True

    format: tuple[str, ...] = ()
    page_breaks: str = "none"
    tables: str = "md"
    overwrite: bool = False
    resume: bool = True
    retry_failed: bool = False

    workers: int | None = None
    shard: str | None = None
    strict: bool = False
    fail_fast: bool = False
    exit_zero: bool = False

    progress: str = "auto"
    color: str = "auto"
    quiet: int = 0
    verbose: int = 0

    def __post_init__(self) -> None:
        _check(self)

    @property
    def rtprune_settings(self) -> RTPruneSettings | None:
        return parse_rtprune(self.rtprune, self.rtprune_option)

    @property
    def selection(self) -> PageSelection | None:
        """The pages wanted of each document; None: all."""
        return None if self.pages is None else parse_pages(self.pages)

    @property
    def shard_of(self) -> tuple[int, int]:
        """This shard's index from 0, and how many there are."""
        match = _SHARD.fullmatch(self.shard or "1/1")
        assert match is not None
        return int(match[1]) - 1, int(match[2])


def _check(options: Options) -> None:
    """Refuse what cannot be meant, with the value, the limits and what to try: a SettingError."""
    if not 0 <= options.keep <= 1:
        raise SettingError(
            "keep",
            f"{options.keep:g}",
            "give a share of the visual tokens from 0 to 1, such as 0.25",
        )
    _check_choice("dtype", options.dtype, DTYPES)
    _check_choice("rotate", options.rotate, ("auto", "off", "90", "180", "270"))
    _check_choice("page_breaks", options.page_breaks, ("none", "comment", "rule"))
    _check_choice("tables", options.tables, ("md", "html"))
    _check_choice("progress", options.progress, ("auto", "bar", "lines", "json", "none"))
    _check_choice("color", options.color, ("auto", "always", "never"))
    for format_ in options.format:
        _check_choice("format", format_, FORMATS)
    if not _DEVICE.fullmatch(options.device):
        raise SettingError("device", options.device, "give auto, cpu, cuda, cuda:N, mps or xpu")
    parse_rtprune(options.rtprune, options.rtprune_option)
    if options.pages is not None:
        parse_pages(options.pages)
    _check_at_least("dpi", options.dpi, 18)
    _check_at_most("dpi", options.dpi, 2400)
    _check_at_least("max_pixels", options.max_pixels, 10_000)
    _check_at_least("max_tokens", options.max_tokens, 1)
    _check_at_least("max_retries", options.max_retries, 0)
    _check_at_least("batch_size", options.batch_size, 1)
    _check_at_least("workers", options.workers, 0)
    _check_shard(options.shard)


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingError(name, value, f"choose one of {', '.join(choices)}")


def _check_at_least(name: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise SettingError(name, value, f"the least is {least}")


def _check_at_most(name: str, value: int | None, most: int) -> None:
    if value is not None and value > most:
        raise SettingError(name, value, f"the most is {most}")


def _check_shard(shard: str | None) -> None:
    if shard is None:
        return
    match = _SHARD.fullmatch(shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise SettingError("shard", shard, "give i/n with i from 1 to n, such as 1/4")

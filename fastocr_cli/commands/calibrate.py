"""`fastocr calibrate`: measure a model's focal layers on pages, keep them for later runs.

A Typer command for `cli.py` to mount. The path of the calibration goes to standard output, the
scores to standard error.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fastocr_cli.commands import flags

if TYPE_CHECKING:
    from fastocr_cli.fixation.calibration import Calibration
    from fastocr_cli.fixation.settings import FixationSettings
    from fastocr_cli.options import Options
    from fastocr_cli.results import PageImage


def calibrate(
    context: typer.Context,
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders or globs of pages like those to be read.", metavar="PAGES..."
        ),
    ],
    share: Annotated[
        float,
        typer.Option("--keep", help="Share of the visual tokens whose attention is measured."),
    ] = 0.05,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens to read of every page.")] = 256,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Where to write it instead of the user's cache."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the scores of all layers (PNG, SVG or PDF).")
    ] = None,
    model: flags.Model = None,
    mode: flags.Mode = None,
    fixation: flags.Fixation = None,
    device: flags.Device = None,
    dtype: flags.DType = None,
    offline: flags.Offline = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    pages: flags.Pages = None,
    dpi: flags.Dpi = None,
    max_pixels: flags.MaxPixels = None,
    rotate: flags.Turn = None,
    password: flags.Password = None,
    verbose: flags.Verbose = 0,
) -> int:
    """Measure which decoder layers know where on the page the model is reading.

    Later runs of `fastocr parse` with this model choose their focal layers from it, instead of
    spending the first dense steps of the first page on finding them.
    """
    from dataclasses import replace

    from fastocr_cli.api import load_reader
    from fastocr_cli.commands.results import check_results, side_file
    from fastocr_cli.commands.settings import begin
    from fastocr_cli.delivery.side_files import CALIBRATION, PICTURE
    from fastocr_cli.fixation.calibrate import calibrate as measure
    from fastocr_cli.fixation.settings import FixationSettings, read_settings
    from fastocr_cli.record.calibrations import calibration_path

    options = begin(context)
    files = [side_file("-o", output, CALIBRATION), side_file("--picture", picture, PICTURE)]
    check_results(files, inputs)
    settings = read_settings(FixationSettings, {**options.fixation, "keep": share})
    reader = load_reader(replace(options, fixation={}))
    found = measure(reader, _images(inputs, options), keep=share, max_tokens=tokens)
    path = found.save(output or calibration_path(found.model, found.revision))
    _report(found, settings)
    if picture is not None:
        from fastocr_cli.fixation.picture import draw_calibration

        draw_calibration(found, settings, picture)
    typer.echo(path)
    return 0


def _images(names: list[str], options: Options) -> Iterator[PageImage]:
    """The pages, drawn one by one. Raises the first error an input has."""
    from fastocr_cli.inputs.sources import resolve
    from fastocr_cli.pipeline import raster_settings
    from fastocr_cli.raster import PageFailure, iter_pages

    inputs = resolve(names)
    if inputs.failures:
        raise inputs.failures[0].error
    selection = options.selection
    for document in inputs.documents:
        for page in iter_pages(document, raster_settings(options), selection):
            if isinstance(page, PageFailure):
                raise page.error
            yield page


def _report(calibration: Calibration, settings: FixationSettings) -> None:
    """One line a layer on standard error, then the choice."""
    choice = calibration.choice(settings)
    alone = calibration.masses.alone(reuse=settings.reuse)
    lines = ["layer  looks at page  recovers alone"]
    for layer, looks, share in zip(
        calibration.layers, calibration.masses.total.tolist(), alone, strict=True
    ):
        mark = "  focal" if layer in choice.layers else ""
        lines.append(f"{layer:5d}  {looks:13.1%}  {share:14.1%}{mark}")
    lines.append(
        f"{len(choice.layers)} focal of {len(calibration.layers)} layers recover "
        f"{choice.recovered:.1%} of the visual attention with the top {calibration.keep:.0%} of "
        f"the patches ({calibration.steps} steps, {calibration.pages} pages)"
    )
    typer.echo("\n".join(lines), err=True)

"""The commands: parse options, call the work, choose the exit code. Nothing else.

Whatever is heavy is imported inside the commands, so that `--help` and completion stay quick.
"""

from __future__ import annotations

import re
from typing import Annotated

import typer

from fastocr_cli.commands import config as config_commands
from fastocr_cli.commands import flags
from fastocr_cli.commands import models as models_commands
from fastocr_cli.commands.bench import bench
from fastocr_cli.commands.calibrate import calibrate
from fastocr_cli.commands.doctor import doctor
from fastocr_cli.commands.schema import schema
from fastocr_cli.commands.settings import begin, resolved
from fastocr_cli.commands.trace import trace
from fastocr_cli.errors import UsageError
from fastocr_cli.version import __version__

_SHARE = r"\d*\.?\d+"  # a digit at least: `.` and `..` are folders to read
_RTPRUNE_VALUE = re.compile(rf"(dynamic|off|[-+]?{_SHARE})(:\w+)?(,(dynamic|{_SHARE})(:\w+)?)*")
HELP_KEYS = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="fastocr",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings=HELP_KEYS,
)


@app.callback(invoke_without_command=True)
def fastocr(
    context: typer.Context,
    version: Annotated[bool, typer.Option("-V", "--version", help="Print the version.")] = False,
    json: Annotated[
        bool,
        typer.Option("--json", help="With --version: packages, devices and model cache as JSON."),
    ] = False,
) -> None:
    """Turn PDFs and scans into Markdown, JSON or HTML with a vision-language model.

    Begin with:  fastocr parse report.pdf -o report.md
    """
    if version:
        typer.echo(_version_record(context) if json else f"fastocr {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise UsageError("name a command, as in: fastocr parse report.pdf -o report.md")
    if json:
        raise UsageError("--json goes with --version here; see: fastocr parse --format json")


@app.command()
def parse(
    context: typer.Context,
    inputs: flags.Inputs = None,
    output: flags.Output = None,
    format: flags.Format = None,
    page_breaks: flags.PageBreaks = None,
    tables: flags.Tables = None,
    overwrite: flags.Overwrite = None,
    report: flags.Report = None,
    model: flags.Model = None,
    mode: flags.Mode = None,
    keep: flags.Keep = None,
    method: flags.Method = None,
    fixation: flags.Fixation = None,
    rtprune: flags.RTPrune = None,
    rtprune_option: flags.RTPruneOption = None,
    device: flags.Device = None,
    dtype: flags.DType = None,
    max_tokens: flags.MaxTokens = None,
    max_retries: flags.MaxRetries = None,
    offline: flags.Offline = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    pages: flags.Pages = None,
    dpi: flags.Dpi = None,
    max_pixels: flags.MaxPixels = None,
    rotate: flags.Rotate = None,
    password: flags.Password = None,
    recursive: flags.Recursive = None,
    files_from: flags.FilesFrom = None,
    batch_size: flags.BatchSize = None,
    workers: flags.Workers = None,
    shard: flags.Shard = None,
    resume: flags.Resume = None,
    retry_failed: flags.RetryFailed = None,
    strict: flags.Strict = None,
    fail_fast: flags.FailFast = None,
    exit_zero: flags.ExitZero = None,
    config: flags.ConfigFile = None,
    no_config: flags.NoConfig = False,
    progress: flags.ProgressMode = None,
    color: flags.Color = None,
    quiet: flags.Quiet = 0,
    verbose: flags.Verbose = 0,
) -> int:
    """Read documents into Markdown, JSON, HTML or text.

    \b
    fastocr parse report.pdf -o report.md     one document into one file
    fastocr parse scans/ -o text/ -f md,json  a folder into a folder
    fastocr parse letter.png | less           one document to standard output
    """
    from fastocr_cli.run import Request, run_parse

    options, _ = resolved(context, config_file=config, use_files=not no_config)
    request = Request(tuple(inputs or ()), files_from, output, report)
    return run_parse(request, options)


def spell_out(arguments: list[str]) -> list[str]:
    """Give `--rtprune` its value where it has none, and `--no-rtprune` its longer spelling."""
    spelt = []
    for place, argument in enumerate(arguments):
        following = next(iter(arguments[place + 1 : place + 2]), "")
        is_bare = argument == "--rtprune" and not _RTPRUNE_VALUE.fullmatch(following)
        full = {"--no-rtprune": "--rtprune=off"}.get(argument, argument)
        spelt.append("--rtprune=dynamic" if is_bare else full)
    return spelt


def _version_record(context: typer.Context) -> str:
    """This installation without its self-test, in the words of `fastocr doctor --json`."""
    import orjson

    from fastocr_cli.machine.health import examine

    options = begin(context)
    record = examine(options.model, options.device, is_tested=False).as_json()
    facts = {name: value for name, value in record.items() if name not in ("test", "failure")}
    return orjson.dumps(facts, option=orjson.OPT_INDENT_2).decode()


app.add_typer(models_commands.app, name="models")
app.command()(doctor)
app.command()(calibrate)
app.command()(bench)
app.command()(trace)
app.add_typer(config_commands.app, name="config")
app.command()(schema)

"""Settings from five places: the nearest wins, and nothing misspelt is passed over."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from fastocr_cli import config
from fastocr_cli.errors import ExitCode, UsageError
from fastocr_cli.fixation.settings import FixationSettings, read_settings
from fastocr_cli.options import UNSET, Options
from fastocr_cli.raster.base import FINE_DPI, RasterSettings
from tests.cli.fakes import make_pdf


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """The user's settings file; the project is the working directory."""
    path = tmp_path / "home" / "config.toml"
    path.parent.mkdir()
    monkeypatch.setattr(config, "user_file", lambda: path)
    work = tmp_path / "work" / "deep"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    return path


def resolve(flags=None, environ=None, **more) -> tuple[Options, dict[str, config.Setting]]:
    return config.resolve(flags or {}, environ=environ or {}, **more)


def test_every_place_overrides_the_next(home):
    home.write_text("keep = 0.1\ndpi = 101\ndevice = 'cpu'\nmax-tokens = 7\n")
    Path("../fastocr.toml").write_text("keep = 0.2\ndpi = 102\ndevice = 'mps'\n")
    environ = {"FASTOCR_KEEP": "0.3", "FASTOCR_DPI": "103"}
    options, settings = resolve({"keep": 0.4}, environ)
    assert (options.keep, options.dpi, options.device) == (0.4, 103, "mps")
    assert (options.max_tokens, options.method) == (7, "fastocr")
    origins = [settings[n].origin for n in ("keep", "dpi", "device", "max_tokens", "method")]
    project = str(Path("../fastocr.toml").resolve())
    assert origins == ["flag", "environment", project, str(home), "default"]


def test_pyproject_table_counts_and_fastocr_toml_comes_first(home):
    Path("pyproject.toml").write_text("[tool.fastocr]\nkeep = 0.5\nformat = ['md', 'json']\n")
    assert resolve()[0].format == ("md", "json")
    Path("fastocr.toml").write_text("format = 'html'\n")
    assert resolve()[0].format == ("html",)
    assert resolve()[0].keep == 1.0


def test_a_value_that_cannot_be_meant_names_the_place_it_came_from(home):
    for key, text in {
        "format": "'docx'", "keep": "7", "pages": "'0'", "shard": "'3/2'", "max-pixels": "1",
        "rtprune": "'2'", "rtprune-option": "['x=1']",
    }.items():  # fmt: skip
        home.write_text(f"{key} = {text}\n")
        with pytest.raises(UsageError) as found:
            resolve()
        assert str(found.value).startswith(f"{home}: {key} "), found.value
        assert "--format" not in str(found.value)
    home.unlink()
    with pytest.raises(UsageError, match=r"^FASTOCR_KEEP 7: give a share"):
        resolve(environ={"FASTOCR_KEEP": "7"})
    with pytest.raises(UsageError, match=r"^--keep 7: give a share"):
        resolve({"keep": 7.0}, {"FASTOCR_KEEP": "0.5"})
    with pytest.raises(UsageError, match=r"^FASTOCR_MAX_PIXELS 1: the least is"):
        resolve(environ={"FASTOCR_MAX_PIXELS": "1"})


@pytest.mark.parametrize("name", ["pages", "format", "mode", "fixation", "model", "rtprune"])
def test_what_is_there_but_empty_is_refused(home, name):
    """A shell variable that was not set must not mean all pages, or whatever else applies."""
    for text in ("", " ", ","):
        with pytest.raises(UsageError, match=f"FASTOCR_{name.upper()} '{text}': there is nothing"):
            resolve(environ={f"FASTOCR_{name.upper()}": text})
    Path("fastocr.toml").write_text(f"{name} = ''")
    with pytest.raises(UsageError, match=f"{name} '': there is nothing"):
        resolve()
    with pytest.raises(UsageError):
        Options(pages="")


def test_text_may_be_written_as_a_number(home):
    Path("fastocr.toml").write_text("rotate = 90\npages = 3\nrtprune = 0.25\n")
    options = resolve()[0]
    assert (options.rotate, options.pages, options.rtprune) == ("90", "3", "0.25")


def test_a_pair_given_twice_is_refused():
    with pytest.raises(UsageError, match="refresh is set already, to 8"):
        config.from_command_line({"fixation": ["refresh=8", "refresh=9"]})


def test_pyproject_without_our_table_is_passed_over(home):
    Path("../fastocr.toml").write_text("keep = 0.2\n")
    Path("pyproject.toml").write_text("[tool.ruff]\n")
    assert resolve()[0].keep == 0.2


@pytest.mark.parametrize("text", ["[tool.ruff", "tool = 3", "[tool]\nfastocr = 3\ntool", "\xff"])
def test_a_pyproject_that_is_not_ours_may_be_broken(home, text):
    Path("../fastocr.toml").write_text("keep = 0.2\n")
    Path("pyproject.toml").write_bytes(text.encode("latin-1"))
    assert resolve()[0].keep == 0.2


@pytest.mark.parametrize("text", ["[tool.fastocr]\nkeep = ", "[tool]\nfastocr = 3"])
def test_a_pyproject_that_is_ours_may_not(home, text):
    Path("pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=r"pyproject\.toml: "):
        resolve()


def test_a_table_in_a_file_is_spelt_and_typed_as_elsewhere(home):
    Path("fastocr.toml").write_text(
        "[fixation]\nfocal-stride = 2\nfocal-layers = [4, 1]\nmin-mass = 1\nreuse = true"
    )
    settings = read_settings(FixationSettings, resolve()[0].fixation)
    assert settings == FixationSettings(focal_stride=2, focal_layers=(1, 4), min_mass=1.0)


def test_a_name_spelt_in_two_ways_is_given_twice(home):
    Path("fastocr.toml").write_text("[fixation]\nfocal-stride = 2\nfocal_stride = 3")
    with pytest.raises(UsageError, match="focal_stride is set already, to 2"):
        resolve()


def test_files_can_be_left_out_or_named(home):
    Path("fastocr.toml").write_text("keep = 0.2\n")
    Path("other.toml").write_text("keep = 0.9\n")
    assert resolve(use_files=False)[0].keep == 1.0
    assert resolve(config_file=Path("other.toml"))[0].keep == 0.9


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kepe = 0.2", "did you mean keep?"),
        ("batch_sizes = 2", "did you mean batch-size?"),
        ("colour_of_the_sky = 1", "unknown setting"),
        ("keep = 'much'", "give a share from 0 to 1, such as 0.05"),
        ("offline = 1", "give true or false"),
        ("dpi = 1.5", "give a whole number"),
        ("keep = 7", "from 0 to 1"),
        ("rotate = 45", "choose one of auto, off, 90"),
        ("trust-remote-code = true", "not read from files"),
        ("password = 'x'", "not read from files"),
        ("keep = ", "not valid TOML"),
    ],
)
def test_faults_in_a_file_name_the_key(home, text, says):
    Path("fastocr.toml").write_text(text)
    with pytest.raises(UsageError, match=says):
        resolve()


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("FASTOCR_KEEP", "0.5", ("keep", 0.5)),
        ("FASTOCR_OFFLINE", "1", ("offline", True)),
        ("FASTOCR_OFFLINE", "", ("offline", False)),
        ("FASTOCR_BATCH_SIZE", "auto", ("batch_size", None)),
        ("FASTOCR_FORMAT", "md, json", ("format", ("md", "json"))),
        (
            "FASTOCR_FIXATION",
            "refresh=8,focal-layers=1,2, reuse=false,",
            ("fixation", {"refresh": "8", "focal_layers": "1,2", "reuse": "false"}),
        ),
        ("FASTOCR_PASSWORD", " spaced ", ("password", " spaced ")),
    ],
)
def test_environment_is_typed(home, variable, text, expected):
    options, _ = resolve(environ={variable: text})
    assert getattr(options, expected[0]) == expected[1]


def test_misspelt_variable_is_an_error_and_a_foreign_one_is_not(home):
    with pytest.raises(UsageError, match="did you mean FASTOCR_DEVICE"):
        resolve(environ={"FASTOCR_DEVCE": "cpu"})
    with pytest.raises(UsageError, match="FASTOCR_KEEP much"):
        resolve(environ={"FASTOCR_KEEP": "much"})
    assert resolve(environ={"FASTOCR_DEBUG": "1"})[0] == Options()


def test_zero_and_false_are_respected(home):
    Path("fastocr.toml").write_text("max-retries = 1\nrecursive = true\n")
    options, _ = resolve({"max_retries": 0, "recursive": False})
    assert (options.max_retries, options.recursive) == (0, False)


def test_settings_reach_the_command(fastocr, reader):
    make_pdf(Path("a.pdf"), 4)
    Path("fastocr.toml").write_text("pages = '2'\nkeep = 0.5\n")
    assert fastocr("parse", "a.pdf").code == 0
    assert (reader.pages_read, reader.keep) == ([2], 0.5)
    assert fastocr("parse", "a.pdf", "--no-config", "-q").err == ""
    Path("fastocr.toml").write_text("page = '2'\n")
    result = fastocr("parse", "a.pdf")
    assert result.code == ExitCode.USAGE
    assert "did you mean pages?" in result.err


def test_config_show_tells_value_and_origin(fastocr, monkeypatch):
    Path("fastocr.toml").write_text("keep = 0.5\n")
    monkeypatch.setenv("FASTOCR_DEVICE", "cpu")
    monkeypatch.setenv("FASTOCR_PASSWORD", "secret")
    result = fastocr("config", "show")
    lines = {line.split()[0]: line for line in result.out.decode().splitlines()}
    assert result.code == 0
    assert "0.5" in lines["keep"]
    assert "fastocr.toml" in lines["keep"]
    assert "environment" in lines["device"]
    assert "default" in lines["method"]
    assert "secret" not in result.out.decode()


def test_config_show_tells_what_applies_where_nothing_is_set(fastocr):
    lines = fastocr("config", "show").out.decode().splitlines()
    shown = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}
    for name in ("rtprune", "rtprune-option", "fixation", "shard", "password"):
        assert shown[name].split()[0] in ("off", "none"), name
    drawn = RasterSettings()
    assert UNSET["dpi"] == f"{FINE_DPI:g} for the embedded reader, {drawn.dpi:g} for others"
    assert UNSET["max_pixels"] == f"{drawn.max_pixels / 1e6:g} million"
    empty = {f.name for f in fields(Options) if getattr(Options(), f.name) in (None, (), {})}
    assert empty == UNSET.keys()


def test_config_show_offers_no_double_negation(fastocr):
    assert b"--no-no" not in fastocr("config", "show", "--help").out


def test_config_show_as_toml_is_a_template(fastocr):
    lines = fastocr("config", "show", "--toml").out.decode().splitlines()
    assert "# keep = 1.0" in lines
    assert '# dpi = "auto"  # 216 for the embedded reader, 144 for others' in lines
    assert all(line.startswith("# ") for line in lines)
    names = {line.split()[1].replace("-", "_") for line in lines}
    assert names == {f.name for f in fields(Options)} - config.NOT_IN_FILES
    with_values = [line[2:] for line in lines if "=  #" not in line]
    assert len(with_values) == len(lines) - 5, "mode, rtprune, pages, max-pixels, shard"
    Path("fastocr.toml").write_text("\n".join(with_values))
    assert config.resolve({}, environ={})[0] == Options()


def test_config_show_as_toml_can_be_read_back(fastocr, monkeypatch):
    monkeypatch.setenv("FASTOCR_BATCH_SIZE", "auto")
    Path("fastocr.toml").write_text("keep = 0.5\nformat = ['md', 'html']\nbatch-size = 3\n")
    text = fastocr("config", "show", "--toml").out
    Path("fastocr.toml").write_bytes(text)
    assert config.resolve({}, environ={})[0] == Options(keep=0.5, format=("md", "html"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], None),
        (["--rtprune"], "dynamic"),
        (["--rtprune", "0.25"], "0.25"),
        (["--rtprune=0.25"], "0.25"),
        (["--rtprune", ".25"], ".25"),
        (["--rtprune", "."], "dynamic"),
        (["--rtprune", ".."], "dynamic"),
        (["--rtprune", "-q"], "dynamic"),
        (["--no-rtprune"], "off"),
    ],
)
def test_rtprune_may_stand_alone(fastocr, monkeypatch, arguments, expected):
    seen = []
    monkeypatch.setattr("fastocr_cli.run.run_parse", lambda request, options: seen.append(options))
    assert fastocr("parse", *arguments, "a.pdf").code == 0
    assert seen[0].rtprune == expected

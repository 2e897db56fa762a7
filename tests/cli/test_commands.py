"""The lesser commands: models, doctor, schema, and help for somebody who mistyped."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import orjson
import pytest
import typer

from fastocr_cli.cli import app
from fastocr_cli.commands.settings import begin
from fastocr_cli.errors import ExitCode, MissingModelError
from fastocr_cli.machine import hub
from fastocr_cli.machine.selftest import HEADING, TEXT
from fastocr_cli.results import PageStatus
from fastocr_cli.version import __version__
from tests.cli.fakes import FakeReader, make_pdf

COMMANDS = ["parse", "models", "doctor", "calibrate", "bench", "trace", "config", "schema"]


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache of the hub's, and no network."""
    folder = tmp_path / "hub"
    folder.mkdir()
    for name in (
        "huggingface_hub.constants.HF_HUB_CACHE",
        "huggingface_hub.file_download.HF_HUB_CACHE",
    ):
        monkeypatch.setattr(name, str(folder), raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return folder


def put_in_cache(cache: Path, name: str, config: dict) -> Path:
    repository = cache / f"models--{name.replace('/', '--')}"
    snapshot = repository / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("a" * 40)
    (snapshot / "config.json").write_bytes(orjson.dumps(config))
    (snapshot / "model.safetensors").write_bytes(b"weights")
    return snapshot


def test_version(fastocr):
    assert fastocr("--version").out == f"fastocr {__version__}\n".encode()
    assert fastocr("-V").code == 0


def test_version_as_json_tells_what_a_report_needs(fastocr):
    facts = json.loads(fastocr("--version", "--json").out)
    assert facts["tool"]["version"] == __version__
    assert facts["versions"]["torch"]
    assert facts["devices"][0].startswith("cpu")
    assert facts["model_cache"]
    assert "test" not in facts
    alone = fastocr("--json", "schema")
    assert (alone.code, alone.out) == (ExitCode.USAGE, b"")


def test_a_command_s_settings_come_from_where_parse_has_them(fastocr, monkeypatch):
    Path("fastocr.toml").write_text("dtype = 'bf16'\nkeep = 0.5\nrtprune = 'dynamic'\n")
    monkeypatch.setenv("FASTOCR_DEVICE", "mps")
    monkeypatch.setenv("FASTOCR_MODEL", "nobody's")
    given = {"model": "somebody's", "device": None, "dtype": None, "fixation": ["refresh=8"]}
    context = typer.Context(typer.main.get_command(app))
    context.params = {**given, "verbose": 1, "repeat": 3}
    options = begin(context)
    assert (options.model, options.device, options.dtype) == ("somebody's", "mps", "bf16")
    assert options.fixation == {"refresh": "8"}
    assert (options.keep, options.rtprune) == (1.0, None), "there was no flag for it"


@pytest.mark.parametrize("verbose", [True, False])
def test_v_lets_the_libraries_speak(fastocr, monkeypatch, verbose):
    asked = []
    monkeypatch.setattr("fastocr_cli.delivery.stdio.quiet_libraries", lambda: asked.append(1))
    monkeypatch.setattr("fastocr_cli.machine.selftest.load_reader", lambda options: Literate(0))
    for command in (["doctor"], ["models", "check"]):
        assert fastocr(*command, *(["-v"] if verbose else [])).code == 0
    for command in ("bench", "trace", "calibrate"):
        assert fastocr(command, "missing.png", *(["-v"] if verbose else [])).code > 0
    assert len(asked) == (0 if verbose else 5)


def test_bare_command_shows_help(fastocr):
    result = fastocr()
    assert b"fastocr parse report.pdf -o report.md" in result.out
    assert result.err == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(fastocr, command):
    assert fastocr(command, "-h").code == 0


def test_forgotten_command_is_told(fastocr):
    make_pdf(Path("a.pdf"), 1)
    result = fastocr("a.pdf")
    assert result.code == ExitCode.USAGE
    assert "fastocr parse a.pdf" in result.err
    assert "Did you mean 'parse'" in fastocr("prase").err


@pytest.mark.parametrize("name", ["document", "page", "report"])
def test_schema(fastocr, name):
    schema = json.loads(fastocr("schema", name).out)
    jsonschema.Draft202012Validator.check_schema(schema)


def test_unknown_schema(fastocr):
    assert fastocr("schema", "nothing").code == ExitCode.USAGE


def test_models_list_tells_what_is_here(fastocr, cache):
    put_in_cache(cache, "zai-org/GLM-OCR", {"model_type": "glm_ocr", "vision_config": {}})
    put_in_cache(cache, "somebody/vision", {"model_type": "qwen2_5_vl", "vision_config": {}})
    put_in_cache(cache, "somebody/text", {"model_type": "llama"})
    models = {m["name"]: m for m in json.loads(fastocr("models", "list", "--json").out)}
    assert models["zai-org/GLM-OCR"]["folder"] is not None
    assert models["somebody/vision"]["family"] == "qwen2_5_vl"
    assert models["tencent/HunyuanOCR"]["folder"] is None
    assert "somebody/text" not in models
    assert "embedded" in models
    assert b"not here" in fastocr("models", "list").out


def test_models_list_names_every_family():
    from fastocr_cli.models.loading import FAMILIES

    squeezed = {family.lower().replace("-", "").replace(".", "") for family in hub.KNOWN.values()}
    own = {"deepseek_vl_v2": "deepseekocr", "hunyuan_vl": "hunyuanocr"}
    for kind in FAMILIES.keys() - {"fastocr_reader"}:
        assert own.get(kind, kind.replace("_", "")) in squeezed


def test_models_path(fastocr, cache):
    snapshot = put_in_cache(cache, "zai-org/GLM-OCR", {})
    assert fastocr("models", "path", "zai-org/GLM-OCR").out.decode().strip() == str(snapshot)
    assert fastocr("models", "path", str(cache)).out.decode().strip() == str(cache)
    missing = fastocr("models", "path", "owner/missing")
    assert missing.code == ExitCode.MISSING_DEPENDENCY
    assert "fastocr models download owner/missing" in missing.err
    assert fastocr("models", "path", "not a name").code == ExitCode.USAGE


def test_models_download_without_network_is_code_3(fastocr, cache):
    result = fastocr("models", "download", "owner/missing")
    assert result.code == ExitCode.MISSING_DEPENDENCY
    assert len(result.err.splitlines()) == 1


def test_models_download_takes_no_code(monkeypatch, tmp_path):
    asked = {}

    def snapshot_download(name, **arguments):
        asked.update(arguments, name=name)
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    hub.download("owner/name@abc")
    assert (asked["name"], asked["revision"]) == ("owner/name", "abc")
    assert not any(pattern.endswith((".py", ".bin", ".pt")) for pattern in asked["allow_patterns"])


@pytest.mark.parametrize(("weights", "calls"), [(b"cut", 2), (b"\2\0\0\0\0\0\0\0{}", 1)])
def test_models_download_mends_damaged_weights(monkeypatch, tmp_path, weights, calls):
    forced = []

    def snapshot_download(name, *, force_download=False, **arguments):
        forced.append(force_download)
        (tmp_path / "model.safetensors").write_bytes(weights)
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    assert hub.download("owner/name") == tmp_path
    assert forced == [False, True][:calls]


class Literate(FakeReader):
    """Reads the self-test page, with some characters wrong."""

    def __init__(self, wrong: int) -> None:
        super().__init__()
        self.wrong = wrong

    def to_markdown(self, text: str) -> str:
        return "\n\n".join([f"# {HEADING}", *TEXT])[: -self.wrong or None]


def test_check_measures_the_reading(fastocr, monkeypatch):
    monkeypatch.setattr("fastocr_cli.machine.selftest.load_reader", lambda options: Literate(0))
    result = fastocr("models", "check")
    assert result.code == 0
    assert result.out.startswith(b"embedded: page ok, 0.0% of the characters wrong: ok")
    monkeypatch.setattr("fastocr_cli.machine.selftest.load_reader", lambda options: Literate(150))
    assert fastocr("models", "check", "embedded").code == ExitCode.PARTIAL


def test_self_test_page_is_not_blank():
    from fastocr_cli.machine.selftest import draw_page
    from fastocr_cli.raster.blank import is_blank

    assert not is_blank(draw_page())


def test_doctor(fastocr, monkeypatch):
    monkeypatch.setattr("fastocr_cli.machine.selftest.load_reader", lambda options: Literate(0))
    result = fastocr("doctor", "--json")
    health = json.loads(result.out)
    assert result.code == 0
    assert health["versions"]["torch"]
    assert health["devices"][0].startswith("cpu")
    assert (health["test"]["status"], health["test"]["cer"]) == (PageStatus.OK, 0)
    assert b"self-test: embedded" in fastocr("doctor").out


def test_doctor_finds_that_the_model_is_missing(fastocr, monkeypatch):
    def missing(options):
        raise MissingModelError("no such model")

    monkeypatch.setattr("fastocr_cli.machine.selftest.load_reader", missing)
    result = fastocr("doctor", "--model", "owner/missing")
    assert result.code == ExitCode.MISSING_DEPENDENCY
    assert b"self-test: no such model" in result.out

"""Calibrations: measured on a reader, kept in a file, found again, drawn, taken by the command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import typer
from PIL import Image
from typer.testing import CliRunner

from fastocr_cli.commands.calibrate import calibrate as command
from fastocr_cli.errors import ExitCode, InputError, OutputError, UsageError
from fastocr_cli.fixation import make_policy
from fastocr_cli.fixation.calibrate import calibrate
from fastocr_cli.fixation.calibration import Calibration, find_calibration
from fastocr_cli.fixation.focal import Masses
from fastocr_cli.fixation.settings import FixationSettings
from fastocr_cli.models.base import PromptInputs, VisualLayout
from fastocr_cli.record.calibrations import calibration_path
from fastocr_cli.record.revision import BESIDE_MODEL, revision_of
from tests.decoding.toys import ToyAdapter, toy_llama


class GridAdapter(ToyAdapter):
    """Pages are grids of one token per 10 pixels, with ids drawn from the page's size."""

    def prepare(self, image: Image.Image) -> PromptInputs:
        rows, columns = image.height // 10, image.width // 10
        draw = torch.Generator().manual_seed(rows * 100 + columns)
        ids = torch.randint(97, (1, rows * columns + 3), generator=draw)
        layout = VisualLayout.raster(1 + torch.arange(rows * columns), rows, columns)
        return PromptInputs(ids, {}, layout, 12)


@pytest.fixture(scope="module")
def reader() -> SimpleNamespace:
    return SimpleNamespace(adapter=GridAdapter(toy_llama(layers=4)))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache"


def pages(*sizes: tuple[int, int]) -> list[Image.Image]:
    return [Image.new("RGB", size) for size in sizes]


def test_a_calibration_is_measured_kept_and_found_again(
    reader: SimpleNamespace, cache: Path
) -> None:
    found = calibrate(reader, pages((90, 80), (120, 100)), keep=0.2, max_tokens=6)
    assert (found.pages, found.steps, found.layers) == (2, 10, (0, 1, 2, 3))
    assert (found.masses.within.diagonal() <= found.masses.total + 1e-6).all()
    assert (found.masses.total <= 1).all()
    assert find_calibration(reader.adapter) is None
    path = found.save(calibration_path(found.model, found.revision))
    assert path.is_relative_to(cache)
    again = find_calibration(reader.adapter)
    assert again is not None
    for name in ("within", "across", "total", "by_head"):
        torch.testing.assert_close(
            getattr(again.masses, name), getattr(found.masses, name), atol=1e-6, rtol=0
        )
    settings = FixationSettings(keep=0.2, heads="chosen", focal_fraction=0.5)
    assert again.choice(settings).layers == found.choice(settings).layers
    assert again.choice(settings).source == "calibration"


def test_a_tall_page_is_measured_strip_by_strip(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = GridAdapter(toy_llama(layers=4))
    apart = calibrate(SimpleNamespace(adapter=adapter), pages((90, 80), (90, 90)), keep=0.2)
    monkeypatch.setattr(adapter, "tallest", lambda image: 100)
    found = calibrate(SimpleNamespace(adapter=adapter), pages((90, 170)), keep=0.2)
    assert (found.pages, found.steps) == (1, apart.steps)
    torch.testing.assert_close(found.masses.total, apart.masses.total)


def test_a_policy_with_a_calibration_prunes_from_the_first_step(reader: SimpleNamespace) -> None:
    found = calibrate(reader, pages((90, 80)), keep=0.2, max_tokens=6)
    policy = make_policy("fastocr", 0.2, calibration=found)
    assert policy.finder.choice == found.choice(policy.settings)
    named = make_policy("fastocr", 0.2, calibration=found, focal_layers="0,3")
    assert named.finder.choice.layers == (0, 3)


def test_a_model_may_bring_its_own(reader: SimpleNamespace, cache: Path, tmp_path: Path) -> None:
    found = calibrate(reader, pages((90, 80)), max_tokens=3)
    adapter = SimpleNamespace(
        name="embedded",
        revision=None,
        model=SimpleNamespace(config=SimpleNamespace(_name_or_path=str(tmp_path))),
    )
    assert find_calibration(adapter) is None
    found.save(tmp_path / BESIDE_MODEL)
    own = find_calibration(adapter)
    assert own is not None
    assert own.steps == found.steps


@pytest.mark.parametrize("place", ["cache", "folder"])
def test_weights_that_were_trained_on_are_measured_anew(
    reader: SimpleNamespace, cache: Path, tmp_path: Path, place: str
) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    config = SimpleNamespace(_name_or_path=str(tmp_path))
    adapter = SimpleNamespace(name="x", revision=None, model=SimpleNamespace(config=config))
    found = replace(
        calibrate(reader, pages((90, 80)), max_tokens=3),
        model=adapter.name,
        revision=revision_of(adapter),
    )
    in_cache = calibration_path(found.model, found.revision)
    found.save(in_cache if place == "cache" else tmp_path / BESIDE_MODEL)
    assert find_calibration(adapter) is not None
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    assert find_calibration(adapter) is None


def test_a_taught_gaze_needs_no_measurement(
    reader: SimpleNamespace, cache: Path, tmp_path: Path
) -> None:
    config = SimpleNamespace(_name_or_path=str(tmp_path), gaze_layers=(2, 3))
    adapter = SimpleNamespace(name="x", revision=None, model=SimpleNamespace(config=config))
    taught = find_calibration(adapter)
    assert taught is not None
    choice = make_policy("fastocr", 0.2, calibration=taught).finder.choice
    assert (choice.layers, choice.heads, choice.source) == ((3,), ((0,),), "training")
    assert make_policy("fastocr", 0.2, calibration=taught, heads="mean").finder.choice is None
    named = make_policy("fastocr", 0.2, calibration=taught, focal_layers="1").finder.choice
    assert (named.layers, named.heads) == ((1,), ())
    calibrate(reader, pages((90, 80)), max_tokens=3).save(tmp_path / BESIDE_MODEL)
    assert isinstance(find_calibration(adapter), Calibration)  # measured on purpose


def test_revisions_and_names_do_not_share_a_file(cache: Path) -> None:
    names = [("a/b", None), ("a/b", "main"), ("a--b@x", "main"), ("/models/b", None)]
    assert len({calibration_path(*name) for name in names}) == len(names)


def test_pages_that_show_nothing_are_refused(reader: SimpleNamespace) -> None:
    with pytest.raises(InputError, match="nothing to measure"):
        calibrate(reader, pages((30, 30)))  # nine tokens, all of which would be kept


@pytest.mark.parametrize("text", ["", "{}", '{"format": 99}', "[1]", "not json"])
def test_a_file_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"broken\.json.*fastocr calibrate"):
        Calibration.load(path)


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from fastocr_cli.fixation.picture import draw_calibration

    table = torch.rand(3, 3)
    masses = Masses(table, table, torch.ones(3), torch.rand(3, 2, 3))
    calibration = Calibration("toy", None, (0, 2, 5), 0.05, 1, 9, masses)
    path = draw_calibration(calibration, FixationSettings(), tmp_path / "new" / "scores.png")
    assert Image.open(path).size[0] > 500
    with pytest.raises(OutputError, match=r"use \.svg, \.png or \.pdf"):
        draw_calibration(calibration, FixationSettings(), tmp_path / "scores.xyz")


def test_the_command_says_where_it_wrote_and_what_it_found(
    reader: SimpleNamespace, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastocr_cli.api.load_reader", lambda options: reader)
    Image.new("RGB", (200, 150), "white").save(tmp_path / "page.png")
    app = typer.Typer()
    app.command()(command)
    picture = tmp_path / "scores.svg"
    arguments = [str(tmp_path / "page.png"), "--tokens", "5", "--picture", str(picture)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    path = Path(result.stdout.strip())
    assert Calibration.load(path).steps == 4
    assert picture.is_file()
    assert "1 focal of 4 layers recover" in result.stderr
    assert result.stderr.count("  focal\n") == 1
    with pytest.raises(UsageError, match="did you mean 'heads'"):
        CliRunner().invoke(app, [*arguments, "--fixation", "head=max"], catch_exceptions=False)
    assert CliRunner().invoke(app, [*arguments, "--tokens", "0"]).exit_code == ExitCode.USAGE

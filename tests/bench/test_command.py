"""`fastocr bench` in this process on a tiny random reader."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import orjson
import pytest

from fastocr_cli.__main__ import run
from fastocr_cli.delivery.side_files import BENCH, BENCH_ROWS, PICTURE
from fastocr_cli.errors import ExitCode
from fastocr_cli.schemas import load_schema
from tests.models.tiny import page
from tests.models.tiny_reader import tiny_reader

pytestmark = pytest.mark.usefixtures("all_legible")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_reader(tmp_path_factory.mktemp("reader"), layers=4)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "page.png"
    page(320, 160).save(path)
    path.with_suffix(".txt").write_text("any words will do")
    return path


def test_a_whole_bench(
    model: Path, picture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / name for name in ("out.json", "out.csv", "out.svg")]
    code = run([
        "bench", str(picture), "--model", str(model), "--keep", "0.5,0.1", "--repeat", "2",
        "--methods", "fastocr,random", "--rtprune", "dynamic,0.5:mean",
        "--max-tokens", "30", "--device", "cpu",
        "--json", str(files[0]), "--csv", str(files[1]), "--plot", str(files[2]),
    ])  # fmt: skip
    assert code == ExitCode.OK
    record = orjson.loads(files[0].read_bytes())
    jsonschema.validate(record, load_schema("bench"))
    names = [(row["method"], row["keep"]) for row in record["rows"]]
    methods = [(m, k) for m in ("fastocr", "random") for k in (0.5, 0.1)]
    assert names == [("dense", 1), *methods, ("rtprune dynamic", 1), ("rtprune 0.5:mean", 1)]
    assert record["rounds"] == 2
    assert record["documents"][0]["truth"] == "file"
    for row in record["rows"]:
        times = row["times"]
        parts = times["prepare_ms"] + times["prefill_ms"] + times["decode_ms"] + times["rest_ms"]
        assert parts == pytest.approx(times["whole_ms"])
        assert row["generated_tokens"] > 0
    dense, *pruned = record["rows"]
    assert dense["kv_share"] == dense["agreement"] == 1
    assert all(row["kv_share"] < 1 for row in (*pruned[:4], pruned[-1]))
    assert record["rows"][-1]["visual_tokens"] < dense["visual_tokens"]
    for path, kind in zip(files, (BENCH, BENCH_ROWS, PICTURE), strict=True):
        assert path.stat().st_size
        assert kind.holds(path), "the next bench may replace it"
    out, err = capsys.readouterr()
    assert "random" in out
    assert "written" in err


@pytest.mark.parametrize(
    "arguments", [["--methods", "nonsense"], ["--keep", "many"], ["--keep", "2"], ["--repeat", "0"]]
)
def test_impossible_settings(model: Path, picture: Path, arguments: list[str]) -> None:
    assert run(["bench", str(picture), "--model", str(model), *arguments]) == ExitCode.USAGE

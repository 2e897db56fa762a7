"""Recording a reading, packing it, the page and the picture made of it; no browser."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import orjson
import pytest
from PIL import Image

from fastocr_cli.__main__ import run
from fastocr_cli.bench.trace.codec import decode, encode
from fastocr_cli.bench.trace.html import trace_page
from fastocr_cli.bench.trace.picture import draw_trace
from fastocr_cli.bench.trace.record import record
from fastocr_cli.bench.trace.trace import Trace
from fastocr_cli.decoding.engine import generate
from fastocr_cli.delivery.side_files import TRACE
from fastocr_cli.errors import ExitCode, InputError
from fastocr_cli.reading import Reader
from tests.bench.made_up_trace import made_up_picture, made_up_trace
from tests.models.tiny import page
from tests.models.tiny_reader import tiny_reader

pytestmark = pytest.mark.usefixtures("all_legible")

STEPS = 40


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_reader(tmp_path_factory.mktemp("reader"), layers=4)


@pytest.fixture(scope="module")
def reader(model: Path) -> Reader:
    return Reader.from_pretrained(
        str(model), device="cpu", keep=0.25, fixation={"trace": 6, "focal_layers": (1,)}
    )


def embedded(html: str) -> Trace:
    found = re.search(r'<script type="application/json" id="trace">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return decode(orjson.loads(found[1]))


def assert_alike(one: Trace, other: Trace) -> None:
    for field in fields(Trace):
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(ours, np.ndarray):
            np.testing.assert_allclose(ours, theirs, atol=1e-5, err_msg=field.name)
        else:
            assert ours == theirs, field.name


def test_packing_loses_nothing_that_shows() -> None:
    trace = made_up_trace(500)
    assert_alike(decode(orjson.loads(orjson.dumps(encode(trace)))), trace)


def test_more_tokens_than_16_bits_can_name() -> None:
    trace = made_up_trace(20)
    many = np.resize(trace.boxes, (70_000, 4))
    looked = trace.looked.copy()
    looked[5, 0] = 69_999
    wide = replace(trace, boxes=many, looked=looked)
    assert decode(encode(wide)).looked[5, 0] == 69_999


def test_a_long_page_is_small_and_keeps_its_trace() -> None:
    trace = made_up_trace(3000)
    html = trace_page(trace, made_up_picture())
    assert len(html) < 5_000_000
    assert_alike(embedded(html), trace)


def test_nothing_in_the_text_can_end_the_data() -> None:
    nasty = "</script><!--<script>\u2028{{script}}"
    trace = replace(made_up_trace(1), pieces=(nasty,), title=nasty)
    html = trace_page(trace, page(32, 32))
    assert embedded(html).pieces == (nasty,)
    assert html.count("</script>") == 2
    assert "innerHTML" not in html


def test_a_recording_says_what_happened(reader: Reader) -> None:
    image = page(320, 160)
    prompt = reader.adapter.prepare(image)
    trace = record(reader, image, "page", STEPS)
    (plain,) = generate(
        reader.adapter, [prompt], policy=reader.policy(reader.keep), max_tokens=STEPS
    )
    assert trace.pieces == tuple(reader.adapter.pieces(plain.token_ids))
    count, patches = trace.steps, prompt.layout.num_patches
    assert trace.looked.shape == trace.shares.shape == (count, 6)
    assert trace.places.shape == (count, 4)
    assert (trace.looked[0] == -1).all()
    assert (trace.looked[1:] >= 0).all()
    assert trace.looked.max() < patches
    assert np.all(np.diff(trace.shares, axis=1) <= 0)
    assert np.all(trace.mass[1:] >= trace.shares[1:].sum(axis=1) - 1e-3)
    assert trace.kept[1:].mean() == pytest.approx(plain.stats.keep_all_layers, abs=0.02)
    # Layer 0 reuses; 1 is focal and attends, as 2 and 3 do, to what it chose. In the first step
    # layer 0 has nothing to reuse.
    pruned = max(np.ceil(0.25 * patches), 16) / patches
    assert trace.kept[1] == pytest.approx((1 + 3 * pruned) / 4, abs=1e-3)
    assert trace.kept[2:] == pytest.approx(pruned, abs=1e-3)


def test_a_page_of_several_strips_is_refused(reader: Reader) -> None:
    tall = Image.new("RGB", (400, 20_000), "white")
    tallest = reader.adapter.tallest(tall)
    assert tallest is not None
    with pytest.raises(InputError, match=f"20,000 px tall.* at most {tallest:,} px"):
        record(reader, tall, "page", STEPS)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_still_picture(tmp_path: Path, suffix: str) -> None:
    path = draw_trace(made_up_trace(300), page(200, 160), tmp_path / f"trace.{suffix}")
    assert path.stat().st_size > 10_000


def test_the_command(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "page.png", tmp_path / "new" / "trace.html"
    page(320, 160).save(source)
    code = run([
        "trace", str(source), "-o", str(target), "--model", str(model), "--device", "cpu",
        "--max-tokens", "20", "--keep", "0.2",
    ])  # fmt: skip
    assert code == ExitCode.OK
    assert capsys.readouterr().out.strip() == str(target)
    assert TRACE.holds(target), "the next trace may replace it"
    trace = embedded(target.read_text())
    assert trace.steps == 20
    assert trace.keep == 0.2
    assert (trace.looked[1:] >= 0).all()  # focal layers were found before


def test_a_page_that_is_not_there(model: Path, tmp_path: Path) -> None:
    source = tmp_path / "page.png"
    page(32, 32).save(source)
    arguments = ["trace", str(source), "--page", "2", "--model", str(model)]
    assert run([*arguments, "-o", str(tmp_path / "x.html")]) == ExitCode.USAGE

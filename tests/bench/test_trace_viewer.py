"""The replay in a real browser: scrub, play, hover, keys, 3,000 steps, hostile text, no errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fastocr_cli.bench.trace.html import trace_page
from tests.bench.browser import CHROMIUM, Tab, browsing
from tests.bench.made_up_trace import made_up_picture, made_up_trace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]

MARKED = "<img src=x onerror=document.title='owned'></script><script>document.title='owned'//"
READ = "[...document.querySelectorAll('#text span:not(.unread)')].map(e => e.textContent).join('')"
INK = """(() => {
  const c = document.getElementById('heat');
  const copy = Object.assign(document.createElement('canvas'), {width: c.width, height: c.height});
  const pen = copy.getContext('2d', {willReadFrequently: true});
  pen.drawImage(c, 0, 0);
  const d = pen.getImageData(0, 0, c.width, c.height).data;
  let mass = 0, x = 0, y = 0;
  for (let i = 3; i < d.length; i += 4) {
    if (!d[i]) continue;
    const at = (i - 3) / 4;
    mass += d[i]; x += d[i] * (at % c.width); y += d[i] * Math.floor(at / c.width);
  }
  return mass ? [x / mass / c.width, y / mass / c.height] : null;
})()"""
"""Where the middle of the heat is, as shares of the page; null without any."""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    folder = tmp_path_factory.mktemp("viewer")
    trace = made_up_trace(title=MARKED)
    pieces = list(trace.pieces)
    pieces[30] = MARKED
    path = folder / "trace.html"
    path.write_text(trace_page(replace(trace, pieces=tuple(pieces)), made_up_picture()))
    with browsing(folder / "profile") as opened:
        opened.open(path.as_uri())
        yield opened
        assert opened.complaints == []


def scrub(tab: Tab, step: int) -> None:
    tab.run(f"(s => {{s.value = {step}; s.dispatchEvent(new Event('input'))}})"
            "(document.getElementById('step'))")  # fmt: skip


def middle_of(tab: Tab, selector: str) -> tuple[float, float]:
    x, y = tab.run(
        f"(r => [r.left + r.width / 2, r.top + r.height / 2])"
        f"(document.querySelector({selector!r}).getBoundingClientRect())"
    )
    return x, y


def test_scrubbing_writes_exactly_the_text_up_to_the_step(tab: Tab) -> None:
    pieces = list(made_up_trace().pieces)
    pieces[30] = MARKED
    for step in (2999, 0, 1501, 1500, 33, 2998):
        scrub(tab, step)
        assert tab.run(READ) == "".join(pieces[: step + 1])
        assert tab.run("document.getElementById('where').textContent") == f"{step + 1} / 3000"


def test_the_heat_moves_to_where_the_step_looked(tab: Tab) -> None:
    trace = made_up_trace()
    scrub(tab, 0)
    assert tab.run(INK) is None
    for step in (50, 1250, 2333):
        scrub(tab, step)
        x, y = tab.run(INK)
        left, top, right, bottom = trace.places[step]
        assert x == pytest.approx((left + right) / 2, abs=0.09)
        assert y == pytest.approx((top + bottom) / 2, abs=0.02)


def test_hovering_a_word_shows_where_it_was_read(tab: Tab) -> None:
    scrub(tab, 2999)
    tab.run("document.getElementById('text').scrollTop = 0")
    unit = tab.run("document.querySelectorAll('.word')[20].dataset.unit")
    word = f'.word[data-unit="{unit}"]'
    written = tab.run(
        f"[...document.querySelectorAll('#text span')].slice(0, {unit})"
        ".map(e => e.textContent).join('').length"
    )
    step = written - len(MARKED) + 1  # every other step wrote one character
    before = tab.run(INK)
    tab.mouse("mouseMoved", *middle_of(tab, word))
    tab.next_frame()
    x, y = tab.run(INK)
    left, top, right, bottom = made_up_trace().places[step]
    assert x == pytest.approx((left + right) / 2, abs=0.05)
    assert y == pytest.approx((top + bottom) / 2, abs=0.02)
    tab.mouse("mouseMoved", 5, 5)
    tab.next_frame()
    assert tab.run(INK) == pytest.approx(before)
    tab.click(*middle_of(tab, word))
    assert tab.run("document.querySelector('.now').dataset.unit") == unit
    tab.mouse("mouseMoved", 5, 5)


def test_play_and_pause(tab: Tab) -> None:
    scrub(tab, 100)
    step = "Number(document.getElementById('step').value)"
    button = middle_of(tab, "#play")
    tab.click(*button)
    assert tab.run("document.getElementById('play').getAttribute('aria-label')") == "Pause"
    tab.wait_for(f"{step} > 103")
    tab.click(*button)
    assert tab.run("document.getElementById('play').getAttribute('aria-label')") == "Play"
    paused = tab.run(step)
    tab.run("new Promise(done => setTimeout(done, 300))")
    assert tab.run(step) == paused


def test_playing_ends_at_the_end_and_begins_anew(tab: Tab) -> None:
    tab.run("document.getElementById('speed').value = '16'")
    scrub(tab, 2990)
    tab.click(*middle_of(tab, "#play"))
    label = "document.getElementById('play').getAttribute('aria-label')"
    tab.wait_for(f"{label} === 'Play'")
    assert tab.run("document.getElementById('step').value") == "2999"
    tab.click(*middle_of(tab, "#play"))
    tab.wait_for("Number(document.getElementById('step').value) < 2900")
    scrub(tab, 5)
    tab.run("document.getElementById('speed').value = '1'")


def test_keys_and_the_strip(tab: Tab) -> None:
    scrub(tab, 10)
    step = "document.getElementById('step').value"
    tab.key("ArrowRight")
    assert tab.run(step) == "11"
    tab.key("ArrowLeft")
    tab.key("ArrowLeft")
    assert tab.run(step) == "9"
    left, top, width, height = tab.run(
        "(r => [r.left, r.top, r.width, r.height])"
        "(document.getElementById('strip').getBoundingClientRect())"
    )
    middle = top + height / 2
    tab.mouse("mousePressed", left + width / 4, middle)
    tab.wait_for(f"Math.abs({step} - 750) < 5")
    tab.mouse("mouseMoved", left + width / 2, middle, is_held=True)
    tab.wait_for(f"Math.abs({step} - 1500) < 5")
    tab.mouse("mouseReleased", left + width / 2, middle)
    tab.mouse("mouseMoved", left + width / 3, middle)
    tab.next_frame()
    assert int(tab.run(step)) == pytest.approx(1500, abs=5)
    assert tab.run("document.getElementById('kept').textContent") == "20.0 %"


def test_every_step_is_quick(tab: Tab) -> None:
    """A frame at 60 Hz has 16 ms; the quickest quarter is asked, as the machine may be busy."""
    times = tab.run("""(() => {
      const slider = document.getElementById('step'), times = [];
      for (let i = 0; i < 300; i++) {
        slider.value = i < 200 ? 1400 + i : (i * 7919) % 3000;
        const began = performance.now();
        slider.dispatchEvent(new Event('input'));
        void document.body.offsetHeight;
        times.push(performance.now() - began);
      }
      return times.sort((a, b) => a - b);
    })()""")
    print(f"ms a step: quarter {times[75]:.1f}, median {times[150]:.1f}, 95 % {times[285]:.1f}")
    assert times[75] < 16


def test_text_of_the_page_is_text(tab: Tab) -> None:
    scrub(tab, 2999)
    assert "owned" not in tab.run("document.title.slice(0, 5)")
    assert tab.run("document.querySelectorAll('#text img, #text script').length") == 0
    assert MARKED in tab.run("document.getElementById('text').textContent")
    assert tab.run("document.querySelector('h1').textContent") == MARKED
    assert tab.complaints == []

"""Other programs, where they are installed."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import pytest

from fastocr_cli.bench import peers
from fastocr_cli.bench.scoring import character_error_rate
from fastocr_cli.errors import MissingModelError
from fastocr_cli.machine.selftest import HEADING, TEXT, draw_page

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.skipif(
    not shutil.which("tesseract") and not find_spec("rapidocr"), reason="no peer is installed"
)
def test_every_peer_reads_a_printed_page() -> None:
    page = draw_page()
    for peer in peers.find_peers():
        peer.warm_up(page)
        (run,) = peer.read([page])
        assert character_error_rate(run.text, "\n\n".join([HEADING, *TEXT])) < 0.05, peer.method
        assert run.whole_ms > 0
        assert run.stats is None


def test_no_peer_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers.shutil, "which", lambda name: None)
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    with pytest.raises(MissingModelError, match="apt install tesseract-ocr"):
        peers.find_peers()

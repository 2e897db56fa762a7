"""Our HTML, and our Markdown rendered without any care, in a real browser.

Skips where Chromium is not installed. A server on this machine stands in for the web and counts
who calls; the same harness is shown to notice a script and a request when they are there.
"""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from fastocr_cli.text.neutral import neutralise
from tests.text import nasty
from tests.writers.examples import page, pages, written

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


@dataclass(frozen=True)
class Visit:
    """What a browser made of a page. dom: the document after scripts had time to run."""

    dom: str
    console: list[str]
    requests: list[str]


@contextmanager
def counting_server() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on this machine, and the paths that were asked of it."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.05))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def visit(html: str, folder: Path, requests: list[str]) -> Visit:
    file = folder / "page.html"
    file.write_text(html, encoding="utf-8")
    result = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
            "--enable-logging=stderr", "--virtual-time-budget=2000", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", "--no-first-run",
            f"--user-data-dir={folder / 'profile'}", file.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    console = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    return Visit(result.stdout, console, list(requests))


def hostile_pages(address: str) -> list[str]:
    called = [text.replace("evil.example", address) for text in nasty.STRINGS]
    return [
        *called,
        f"![x](http://{address}/image) <img src=http://{address}/tag>",
        f"<table><tr><td background=http://{address}/cell><img src=http://{address}/in>x</td></tr>",
        f"<link rel=stylesheet href=http://{address}/css><script src=http://{address}/js></script>",
    ]


def test_the_harness_notices_scripts_and_requests(tmp_path: Path) -> None:
    with counting_server() as (address, requests):
        html = f"<title>x</title><img src=http://{address}/image><script>document.title='owned'"
        seen = visit(html + ";console.log('hello')</script>", tmp_path, requests)
    assert "<title>owned</title>" in seen.dom
    assert seen.requests == ["/image"]
    assert any("hello" in line for line in seen.console)


def test_the_html_output_is_quiet(tmp_path: Path) -> None:
    with counting_server() as (address, requests):
        results = pages() + [
            replace(page(number, text), warnings=(text,))
            for number, text in enumerate(hostile_pages(address), start=10)
        ]
        seen = visit(written("html", results), tmp_path, requests)
    assert seen.console == []
    assert seen.requests == []
    assert "<title>reports/annual report.pdf</title>" in seen.dom
    assert seen.dom.count("<section") == len(results)


def test_the_markdown_output_is_quiet_in_a_careless_renderer(tmp_path: Path) -> None:
    """Raw HTML passed through, links not checked, and no content policy to help."""
    renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    renderer.validateLink = lambda _: True  # type: ignore[method-assign]
    with counting_server() as (address, requests):
        texts = hostile_pages(address)
        whole = written("md", [page(number, text) for number, text in enumerate(texts, start=1)])
        alone = "<hr>".join(renderer.render(neutralise(text)) for text in texts)
        html = f"<title>x</title>{renderer.render(whole)}<hr>{alone}"
        seen = visit(html, tmp_path, requests)
    assert "<title>x</title>" in seen.dom
    assert "<script" not in seen.dom
    assert seen.requests == []
    assert [line for line in seen.console if "ERR_FILE_NOT_FOUND" not in line] == []

"""The HTML page: every part in its place, nothing of a page's text alive, nothing to fetch."""

import base64
import hashlib
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fastocr_cli.results import PageStatus
from fastocr_cli.text.markup import is_safe_link
from fastocr_cli.writers.page_html import page_html
from fastocr_cli.writers.thumbnail import make_thumbnail
from tests.text import nasty
from tests.writers.examples import JPEG, page, pages, written

ATTRIBUTES = {
    "href", "rel", "class", "id", "title", "dir", "src", "alt", "width", "height", "type", "for",
    "colspan", "rowspan", "start", "aria-label", "aria-labelledby", "charset", "name", "content",
    "http-equiv",
}  # fmt: skip
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "h4", "h5", "h6",
    "a", "main", "section", "span", "div", "figure", "input", "label", "img", "article", "p", "ul",
    "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "br", "pre", "code", "blockquote",
    "hr", "em", "strong", "s", "details", "summary", "dl", "dt", "dd", "aside", "nav",
}  # fmt: skip
VOID = {"meta", "input", "img", "br", "hr"}


class Checker(HTMLParser):
    """Checks tags, attributes, addresses and nesting; collects ids and in-page links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        values = dict(attrs)
        assert values.keys() <= ATTRIBUTES, values
        if tag not in VOID:
            self.open.append(tag)
        if "id" in values:
            self.ids.append(values["id"] or "")
        if "href" in values:
            self.links.append(values["href"] or "")
            assert is_safe_link(values["href"] or "")
        if "src" in values:
            assert (values["src"] or "").startswith("data:image/jpeg;base64,")

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def checked(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    return checker


def test_every_page_has_its_section_and_its_link() -> None:
    html = checked(written("html"))
    for number in range(1, 6):
        assert f"page-{number}" in html.ids
        assert html.links.count(f"#page-{number}") == 2  # in the list of pages, and its own
    assert len(html.ids) == len(set(html.ids))
    text = "".join(html.texts)
    for words in ("5 (1 retried, 1 blank, 1 looped, 1 failed)", "This page is blank.",
                  "This page could not be read.", "read again at 0.95 of its size",
                  "Least sure passage (0.22)", "tiny-model @ 0123456789ab"):  # fmt: skip
        assert words in text


@pytest.mark.parametrize("text", nasty.STRINGS)
def test_the_corpus_stays_text(text: str) -> None:
    results = [replace(page(1, text), warnings=(text,)), page(2, "after")]
    html = written("html", results)
    checked(html)
    assert html.count("<p>after</p>") == 1


@settings(max_examples=200, deadline=None)
@given(st.one_of(nasty.markdown, st.text()))
def test_any_text_stays_text(text: str) -> None:
    checked(f"<main>{page_html(text)}</main>")


def test_the_policy_allows_our_style_sheet_and_no_script() -> None:
    html = written("html", [])
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert style
    assert policy
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "script" not in policy[1]
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_a_source_name_is_escaped() -> None:
    from fastocr_cli.writers import Provenance, open_writer

    stream = io.BytesIO()
    with open_writer("html", stream, Provenance("<b>&\n\udcff.pdf")) as writer:
        writer.write(page(1, "x"))
    html = stream.getvalue().decode()
    assert "<title>&lt;b&gt;&amp;\\n\\udcff.pdf</title>" in html
    checked(html)


def test_without_thumbnails_the_text_takes_the_width() -> None:
    html = written("html", [replace(page(1, "x"), dpi=0.0)])
    assert "without-picture" in html
    assert "<img" not in html


def test_alignment_survives_as_a_class() -> None:
    html = page_html("|a|b|\n|:-:|-:|\n|1|2|")
    assert '<td class="center">1</td>' in html
    assert "style" not in html


def test_headings_are_below_those_of_the_page() -> None:
    assert page_html("# A\n\n###### B") == (
        '<h3 class="level-1">A</h3>\n<h6 class="level-6">B</h6>\n'
    )


@pytest.mark.parametrize("status", PageStatus)
def test_every_status_is_shown(status: PageStatus) -> None:
    html = written("html", [page(1, "", status, is_read=False)])
    assert f'<span class="status {status}">{status}</span>' in html


@pytest.mark.parametrize("size", [(3000, 2000), (1, 1), (20000, 10), (5, 9000)])
def test_thumbnails_are_small_jpegs(size: tuple[int, int]) -> None:
    pixels = np.full((*size, 3), 255, np.uint8)
    thumbnail = make_thumbnail(pixels)
    image = Image.open(io.BytesIO(thumbnail))
    assert image.format == "JPEG"
    assert image.width <= 640
    assert image.height <= 3 * 640
    assert len(thumbnail) < 20_000


def test_pictures_are_in_the_page() -> None:
    assert base64.b64encode(JPEG).decode() in written("html", pages()[:1])

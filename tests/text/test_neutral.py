"""The gate: what leaves it is inert in a careless renderer, and harmless text leaves unchanged."""

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from fastocr_cli.text import neutral
from fastocr_cli.text.markup import clean_text, escape_inline, is_local_image, is_safe_link
from fastocr_cli.text.neutral import is_neutral, neutralise
from tests.text import nasty

TABLE = {"table", "thead", "tbody", "tr", "td", "th", "br"}
MARKDOWN = {"p", "a", "em", "strong", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr"}
HEADINGS = {f"h{level}" for level in range(1, 7)}
ATTRIBUTES = {"href", "title", "class", "start", "colspan", "rowspan", "src", "alt", "style"}


class Tags(HTMLParser):
    """Fails on any tag, attribute or address that should not be there."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TABLE | MARKDOWN | HEADINGS | {"img"}, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name)
            if name == "href":
                assert is_safe_link(value or ""), value
            if name == "src":
                assert is_local_image(value or ""), value
            if name == "style":
                assert (value or "").startswith("text-align:")

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"comment {data!r}")

    handle_decl = unknown_decl = handle_pi = handle_comment


def assert_inert(markdown: str) -> None:
    """Rendered with raw HTML passed through and markdown-it's own link check off."""
    renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    renderer.validateLink = lambda _: True  # type: ignore[method-assign]
    Tags().feed(renderer.render(markdown))


@pytest.mark.parametrize("text", nasty.STRINGS)
def test_nothing_active_survives(text: str) -> None:
    assert_inert(neutralise(text))
    assert is_neutral(neutralise(text))


def test_the_corpus_is_dangerous_as_it_is() -> None:
    """Guards the tests above: most of the corpus would get through without the gate."""
    caught = 0
    for text in nasty.STRINGS:
        try:
            assert_inert(text)
        except AssertionError:
            caught += 1
    assert caught > len(nasty.STRINGS) * 0.7


@settings(max_examples=400, deadline=None)
@given(nasty.markdown)
def test_any_string_comes_out_inert(text: str) -> None:
    assert_inert(neutralise(text))


@settings(max_examples=400, deadline=None)
@given(nasty.markdown, nasty.markdown)
def test_pages_stay_inert_side_by_side(one: str, other: str) -> None:
    """No page may open something (a fence, a comment) that the next page's text falls into."""
    assert_inert(f"{neutralise(one)}\n\n{neutralise(other)}")


@settings(max_examples=200, deadline=None)
@given(nasty.markdown)
def test_what_fails_the_check_is_escaped_altogether(text: str) -> None:
    assert_inert(neutral._escape_everything(clean_text(text)))


def test_a_page_that_fails_the_check_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neutral, "is_neutral", lambda _: False)
    assert neutralise.__wrapped__("```\n<b>\n```") == "```\n&lt;b>\n```"


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\nOne *two* **three** `code` p < 0.05, a <= b, x<5, 1 < 2 > 0 & so on.",
        "[site](https://example.org/a?b=c&d) [there](#top) [file](a/b.md) <5 kg",
        "- one\n- two\n\n  more\n\n1. a\n   - b",
        "| a | b |\n| --- | --- |\n| 1<br>2 | c |",
        "```python\nprint('<b>')\n```\n\ntext",
        "$a < b$ and\n\n$$\nx \\\\ y\n$$",
        "![chart](images/1.png)",
        "<table>\n<tr><th>A</th></tr>\n<tr><td>x<br>y &amp; z</td></tr>\n</table>",
        "He said: “no” [1], then [sic]. Wow!",
    ],
)
def test_harmless_text_is_not_changed(text: str) -> None:
    assert neutralise(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("std::vector<int> v", "std::vector&lt;int> v"),
        ("use `List<String>`", "use List&lt;String>"),
        ("$a<b$", "$a< b$"),
        ("[1]: https://example.org", "[1]&#58; https://example.org"),
        ("```\nopen", "```\nopen\n```"),
        ("~~~py\n```\n~~~", "````py\n```\n````"),
        ("before\n```\nx\n```\nafter", "before\n\n```\nx\n```\n\nafter"),
        ("a\r\nb\rc\x0cd", "a\nb\nc\ufffdd"),
        ("\n\n  indented", "  indented"),
    ],
)
def test_what_is_changed_still_reads_the_same(text: str, expected: str) -> None:
    assert neutralise(text) == expected


@settings(max_examples=300, deadline=None)
@given(nasty.markdown)
def test_a_second_pass_changes_nothing_that_matters(text: str) -> None:
    assert_inert(neutralise(neutralise(text)))


def test_the_corpus_is_stable_under_a_second_pass() -> None:
    for text in nasty.STRINGS:
        once = neutralise(text)
        assert neutralise(once) == once


@pytest.mark.parametrize(
    ("destination", "safe"),
    [
        ("https://a.b/c?d=e:f", True),
        ("HTTP://a", True),
        ("mailto:a@b.c", True),
        ("a/b:c", True),
        ("#x:y", True),
        ("page.html", True),
        ("", True),
        ("javascript:x", False),
        ("JAVASCRIPT:x", False),
        ("data:text/html,x", False),
        ("vbscript:x", False),
        ("file:///x", False),
        ("&#106;avascript:x", False),
        ("java\\script:x", False),
        ("x&y", False),
    ],
)
def test_links(destination: str, safe: bool) -> None:
    assert is_safe_link(destination) is safe


def test_images_are_local_or_text() -> None:
    assert is_local_image("images/a.png")
    assert not is_local_image("https://a/b.png")
    assert not is_local_image("//a/b.png")
    assert escape_inline("![a](http://x/y.png)") == "&#33;[a](http://x/y.png)"


@pytest.mark.parametrize(
    "piece",
    ["`", "` ``", "<table>", "<table><tr>", "<!--", "[", "![[", "](", "$", "$$\n", "\\(", "<td>",
     "> ", "- ", "&#", "*a **a ", "[a]:", "|", "<", "\\[ ", "<a "],
)  # fmt: skip
def test_pathological_pages_take_no_time_to_speak_of(piece: str) -> None:
    """20,000 characters; quadratic work would take minutes. The limit leaves room for a busy
    machine."""
    text = piece * (20_000 // len(piece))
    start = time.process_time()
    neutralise(text)
    assert time.process_time() - start < 5

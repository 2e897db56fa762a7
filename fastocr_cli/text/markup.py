"""Make characters and inline markup of a page harmless, changing nothing that is harmless.

Page text is data: whatever was printed on the page, or made up by a model, must not become a tag,
a script link or a remote image when the Markdown is rendered. Knows characters and inline syntax;
knows nothing of blocks (fences and tables are `neutral.py`'s).

Every change keeps what a reader sees: `<` becomes `&lt;` only where a tag could start, so
"p < 0.05" stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

TAG_START = re.compile(r"<(?=[A-Za-z/!?])")

_NEWLINES = re.compile(r"\r\n?|[\x85\u2028\u2029]")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

_SUSPECT = re.compile(r"<[A-Za-z/!?]|\][(:]|!\[|\\(?:href|url)\b")
_SAFE_LINK = re.compile(
    r"(?:https?://|mailto:|tel:)\S*|[^:&\\\s]*|[^:&\\\s]*[/?#]\S*", re.IGNORECASE
)
_LINK = re.compile(r"\]([(:])(?=\s*<?\s*(\S{0,500}))")
_DEFINITION = re.compile(r"^([ \t>*+.)\d-]*\[(?:[^\[\]\\]|\\.)+\]):", re.MULTILINE)
_IMAGE = re.compile(r"!(?=\[)")
_LOCAL_IMAGE = re.compile(r"!\[[^\[\]\n]*\]\((?!//)[\w.~%+,@/-]+\)")

_MATH = re.compile(
    r"\$\$.{1,2000}?\$\$|\\\[.{1,2000}?\\\]|\\\(.{1,2000}?\\\)"
    r"|\$(?=\S)[^$\n]{1,2000}?(?<=\S)\$(?!\d)",
    re.DOTALL,
)
_TEX_LINK = re.compile(r"\\(?:href|url)(?=\s*\{\s*(?:\w*script|data)\s*:)", re.IGNORECASE)

_SCRIPT = re.compile(r"<(su[pb])\b[^<>]*>([^<>]{0,200})</\1>", re.IGNORECASE)
_SCRIPTS = {
    "sup": str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ"),
    "sub": str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎"),
}

_BLANK_LINES = re.compile(r"(\n[ \t]*\n)")
_BACKTICKS = re.compile(r"(?<![\\`])`+")
_MARKDOWN_MARKS = re.compile(r"([\\`*_\[\]~$|])")
_LITERAL = re.compile(
    rf"(?P<math>{_MATH.pattern})"
    r"|\\(?!\\*\|)(?=[!-/:-@\[-`{-~\n])"  # would escape what follows; bars are the table's affair
    r"|`"
    r"|(?<=[^ *~])[*~]+|[*~]+(?=[^ *~])"  # emphasis; with space on both sides they are plain
    r"|(?<![^\W_])_+(?=[^ _])|(?<=[^ _])_+(?![^\W_])"  # within a word underscores are plain, too
    r"|\](?=\()"  # a link
    r"|&(?=#?\w+;)",  # an entity
    re.DOTALL,
)


def clean_text(text: str) -> str:
    """Newlines as LF; control characters and lone surrogates as U+FFFD.

    Controls would reach terminals (escape sequences) and page separators (form feed); lone
    surrogates cannot be written as UTF-8.
    """
    return _UNPRINTABLE.sub("\ufffd", _NEWLINES.sub("\n", text))


def escape_inline(text: str) -> str:
    """`text` with tags, dangerous links and remote images turned into plain characters.

    Reference definitions too: renderers show nothing of them, and the page did.
    """
    if not _SUSPECT.search(text):
        return text
    text = _TEX_LINK.sub(r"\\mathrm", text)
    text = _MATH.sub(_tame_math, text)
    text = "".join(_unwrap_code(part) for part in _BLANK_LINES.split(text))
    text = TAG_START.sub("&lt;", text)
    text = _DEFINITION.sub(r"\1&#58;", text)
    text = _LINK.sub(_break_link, text)
    return _escape_images(text)


def escape_marks(text: str) -> str:
    """Plain text as Markdown that shows it, whatever marks are in it; formulas stay formulas."""
    return _LITERAL.sub(_escape_mark, text)


def spell_scripts(html: str) -> str:
    """Raised and lowered text without tags: 10<sup>6</sup> must not become 106."""
    return _SCRIPT.sub(_spell_script, html)


def is_safe_link(destination: str) -> bool:
    """Web, mail, telephone, or relative: no scheme, nor an escape that could spell one."""
    return _SAFE_LINK.fullmatch(destination) is not None


def is_local_image(destination: str) -> bool:
    """An image that a viewer looks for beside the document, not on the network."""
    return is_safe_link(destination) and not re.match(r"[\w+.-]*:|[/\\]{2}", destination)


def _spell_script(match: re.Match[str]) -> str:
    kind, text = match[1].lower(), match[2].strip()
    if all(ord(character) in _SCRIPTS[kind] for character in text):
        return text.translate(_SCRIPTS[kind])
    mark = "^" if kind == "sup" else "_"
    return f"{mark}{text}" if len(text) == 1 else f"{mark}({text})"


def _escape_mark(match: re.Match[str]) -> str:
    return match[0] if match["math"] else "".join(f"\\{mark}" for mark in match[0])


def _tame_math(match: re.Match[str]) -> str:
    """TeX reads `a<b` and `a< b` alike; a browser takes only the first for a tag."""
    return TAG_START.sub("< ", match[0])


def _unwrap_code(paragraph: str) -> str:
    """Code spans holding a tag or a link lose their backticks, so that escapes show right in them.

    Renderers differ on where a code span ends (math, attributes), so nothing active may stay in
    one.
    """
    runs = list(_BACKTICKS.finditer(paragraph))
    if not runs or not _SUSPECT.search(paragraph):
        return paragraph
    parts, done = [], 0
    for opening, closing in _pair_equal_runs(runs):
        code = paragraph[opening.end() : closing.start()]
        if _SUSPECT.search(code):
            parts += [paragraph[done : opening.start()], _MARKDOWN_MARKS.sub(r"\\\1", code.strip())]
            done = closing.end()
    return "".join(parts) + paragraph[done:]


def _pair_equal_runs(
    runs: list[re.Match[str]],
) -> Iterable[tuple[re.Match[str], re.Match[str]]]:
    """Pairs of backtick runs of equal length, as CommonMark pairs them; linear in their number."""
    later: dict[int, list[int]] = {}
    for index in reversed(range(len(runs))):
        later.setdefault(len(runs[index][0]), []).append(index)
    index = 0
    while index < len(runs):
        same = later[len(runs[index][0])]
        while same and same[-1] <= index:
            same.pop()
        if same:
            yield runs[index], runs[same[-1]]
            index = same[-1]
        index += 1


def _break_link(match: re.Match[str]) -> str:
    """An entity in place of the bracket shows the same and can no longer be syntax."""
    if is_safe_link(match[2]):
        return match[0]
    return "]&#40;" if match[1] == "(" else "]&#58;"


def _escape_images(text: str) -> str:
    """Images whose file is not beside the document would be fetched by a viewer: plain links."""
    kept = {match.start() for match in _LOCAL_IMAGE.finditer(text)}
    return _IMAGE.sub(lambda mark: "!" if mark.start() in kept else "&#33;", text)

"""A trace as one HTML page that replays it; nothing is loaded, no text can become markup or code.

The content policy allows exactly our own style and script, by their hashes. Knows the viewer's
files beside this module.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
from importlib.resources import files

import orjson
from PIL import Image

from fastocr_cli.bench.trace.codec import encode
from fastocr_cli.bench.trace.trace import Trace
from fastocr_cli.version import __version__

PICTURE_PX = 1400, 2800
"""Most width and height of the page's picture."""
QUALITY = 70


def trace_page(trace: Trace, image: Image.Image) -> str:
    """The whole page; image: the one that was read."""
    style, script = _file("viewer.css"), _file("viewer.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}"
    )
    values = {
        "version": __version__,
        "policy": policy,
        "title": html.escape(trace.title),
        "facts": html.escape(facts(trace)),
        "style": style,
        "picture": _jpeg(image),
        "trace": _json(trace),
        "script": script,
    }
    page = _file("viewer.html").replace("\\\n", "")
    parts = page.split("{{")
    filled = [parts[0]]
    for part in parts[1:]:  # in one pass, so that no value is searched for places of its own
        name, _, rest = part.partition("}}")
        filled += [values[name], rest]
    return "".join(filled)


def facts(trace: Trace) -> str:
    """What was read by whom, in a line."""
    return (
        f"{trace.model.replace(chr(92), '/').rpartition('/')[2]} at keep {trace.keep:g}: "
        f"{trace.steps:,} tokens written, {len(trace.boxes):,} to look at"
    )


def _json(trace: Trace) -> str:
    """Inside a script element only "<" could end it or begin a comment."""
    return orjson.dumps(encode(trace)).decode().replace("<", "\\u003c")


def _jpeg(image: Image.Image) -> str:
    picture = image.convert("RGB")
    picture.thumbnail(PICTURE_PX, reducing_gap=3.0)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _file(name: str) -> str:
    return files("fastocr_cli.bench.trace").joinpath(name).read_text(encoding="utf-8")

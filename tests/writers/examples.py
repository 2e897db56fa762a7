"""Hand-made pages that show every kind of block, status and field; and what they should become.

`python -m tests.writers.examples` writes the golden files anew; look at the difference before
committing it.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from fastocr_cli.results import PageReading, PageResult, PageStats, PageStatus
from fastocr_cli.version import __version__
from fastocr_cli.writers import FORMATS, Provenance, Style, open_writer

GOLDEN = Path(__file__).parents[1] / "golden"
PROVENANCE = Provenance(
    "reports/annual report.pdf", "tiny-model", "0123456789abcdef", {"keep": 0.25, "dpi": None}
)
JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffd9")

LETTER = """\
# Annual report

Dear reader, p < 0.05 and a<b> stay *text*.

- one
- two

| Item | Price |
| :--- | ---: |
| Pen | 1.50 |
"""

TECHNICAL = """\
## Numbers

1. first
   - nested
2. second

Euler: $e^{i\\pi} = -1$

$$
x = a
+ b
$$

<table border="1"><tr><th rowspan="2">Region</th><th colspan="2">Sales</th></tr>
<tr><th>2024</th><th>2025</th></tr><tr><td>North &amp; East</td><td>12<br>13</td><td>14</td></tr>
</table>

<table><tr><td>a</td><td>b|c</td></tr><tr><td>d</td><td>e</td></tr></table>

```python
print("<b>")
```

> quoted

---

[1]: https://example.org <script>alert(1)</script> [x](javascript:alert(1))
"""


def reading(text: str, status: PageStatus = PageStatus.OK) -> PageReading:
    """Each character a token, read on a grid of 40 columns; sure of everything but the end."""
    count = len(text)
    places = tuple(
        (
            0.1 + 0.02 * (i % 40),
            0.1 + 0.01 * (i // 40),
            0.12 + 0.02 * (i % 40),
            0.11 + 0.01 * (i // 40),
        )
        for i in range(count)
    )
    logprobs = tuple(-0.01 if i < count - 40 else -1.5 for i in range(count))
    stats = PageStats(
        visual_tokens=1000,
        prompt_tokens=1010,
        generated_tokens=count,
        keep_sparse_layers=0.25,
        keep_all_layers=0.34,
        kv_bytes_read=count * 1_000,
        kv_bytes_dense=count * 3_000,
        prepare_ms=12.34,
        prefill_ms=100.0,
        decode_ms=2.0 * count,
        attention_ms=0.5 * count,
        extra={"focal_layers": (3, 7)},
    )
    return PageReading(text, tuple(range(count)), logprobs, status, stats, places, tuple(text))


def page(
    number: int,
    markdown: str,
    status: PageStatus = PageStatus.OK,
    warnings: tuple[str, ...] = (),
    is_read: bool = True,
) -> PageResult:
    return PageResult(
        source=PROVENANCE.source,
        number=number,
        status=status,
        markdown=markdown,
        width_px=850,
        height_px=1100,
        dpi=100.0,
        reading=reading(markdown, status) if is_read else None,
        warnings=warnings,
    )


def pages() -> list[PageResult]:
    unread = PageResult(
        PROVENANCE.source, 5, PageStatus.FAILED, "", 0, 0, 0.0, None, ("damaged -->\n<b>",)
    )
    return [
        page(1, LETTER),
        page(2, TECHNICAL, PageStatus.RETRIED, ("read again at 0.95 of its size",)),
        page(3, "", PageStatus.BLANK, is_read=False),
        page(4, "again and again", PageStatus.LOOPED, ("repeated itself",)),
        unread,
    ]


def written(name: str, results: list[PageResult] | None = None, style: Style | None = None) -> str:
    """The output of one format as text."""
    stream = io.BytesIO()
    with open_writer(name, stream, PROVENANCE, style) as writer:
        for result in pages() if results is None else results:
            writer.write(result, JPEG if FORMATS[name].needs_thumbnail and result.dpi else None)
    return stream.getvalue().decode("utf-8")


def golden_text(name: str) -> str:
    """Without what changes for reasons of its own: the version and the style sheet."""
    text = written(name, style=Style("comment") if name == "md" else None)
    text = re.sub(r"<style>.*</style>|'sha256-[^']*'", "", text, flags=re.DOTALL)
    return text.replace(f'"{__version__}"', '"VERSION"').replace(
        f"fastocr {__version__}", "fastocr VERSION"
    )


if __name__ == "__main__":
    for format_name in FORMATS:
        path = GOLDEN / f"example.{format_name}"
        path.write_text(golden_text(format_name), encoding="utf-8", newline="\n")

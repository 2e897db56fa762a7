"""The fixed words and tags of the HTML output; what varies is filled in by `html.py`, escaped."""

HEAD = """\
<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="generator" content="fastocr {version}">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header id="top">
<h1 dir="auto">{title}</h1>
<a class="skip" href="#contents">Pages and totals</a>
</header>
<main>
"""

PAGE = """\
<section class="page {status} {has}" id="{anchor}" aria-labelledby="{anchor}-title">
<header>
<h2 id="{anchor}-title"><a href="#{anchor}" title="Link to this page">Page {number}</a></h2>
<span class="status {status}">{status}</span>
<span class="facts" title="Confidence: mean token probability, not calibrated">{facts}</span>
</header>
<div class="spread">
{figure}<article>
{remarks}{text}
</article>
</div>
{details}</section>
"""

DETAILS = """\
<details>
<summary>Details</summary>
<dl>
{pairs}
</dl>
</details>
"""

FIGURE = """\
<figure>
<input type="checkbox" id="{anchor}-zoom" aria-label="Enlarge the picture of page {number}">
<label for="{anchor}-zoom"><img width="{width}" height="{height}" \
alt="Picture of page {number}" src="data:image/jpeg;base64,{data}"></label>
</figure>
"""

TAIL = """\
</main>
<aside id="contents">
<dl>
{totals}
</dl>
<nav aria-label="Pages">
{links}
</nav>
<p class="made">Read by fastocr {version}</p>
</aside>
</body>
</html>
"""

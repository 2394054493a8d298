"""The report of a study: one self-contained HTML file for screen (light and dark) and print.

Pictures are inline SVG with selectable text. A script sorts tables; without it, everything can be read. The security
policy of the page forbids every request and every other script.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from xml.etree import ElementTree

from rprs.evaluation.table import Table
from rprs.studies.figures.canvas import GRID, INK, PAPER, Picture, plain

__all__ = ["Section", "html"]


@dataclass(frozen=True)
class Section:
    """A part of the report: paragraphs, then tables, then pictures. `Backquotes` in a paragraph mark code."""

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()


def html(title: str, sections: Sequence[Section], facts: Mapping[str, str]) -> str:
    """The complete page. `facts` describe what was measured: collection, queries, encoder, version, command."""
    anchors = list(_anchors(section.title for section in sections))
    contents = "\n".join(
        f'<li><a href="#{anchor}">{_text(section.title)}</a></li>'
        for anchor, section in zip(anchors, sections, strict=True)
    )
    numbers = count(1)
    parts = [_section(anchor, section, numbers) for anchor, section in zip(anchors, sections, strict=True)]
    entries = "\n".join(f"<dt>{_text(name)}</dt><dd>{_prose(value)}</dd>" for name, value in facts.items())
    return _PAGE.format(
        title=_text(title),
        policy=_POLICY,
        style=_STYLE,
        script=_SCRIPT,
        contents=contents,
        facts=f'<dl class="facts">\n{entries}\n</dl>' if facts else "",
        sections="\n".join(parts),
    )


def _section(anchor: str, section: Section, numbers: Iterator[int]) -> str:
    parts = [
        f"<h2>{_text(section.title)}</h2>",
        *(f"<p>{_prose(paragraph)}</p>" for paragraph in section.text),
        *(f'<div class="table">\n{table.html()}</div>' for table in section.tables),
        *(_figure(picture, next(numbers)) for picture in section.pictures),
    ]
    return "\n".join([f'<section id="{anchor}">', *parts, "</section>"])


def _figure(picture: Picture, number: int) -> str:
    caption = (
        f'<figcaption id="caption-{number}"><b>Figure {number}.</b> {_text(picture.alt or picture.name)}</figcaption>'
    )
    return f"<figure>\n{_inline(picture.svg, number)}\n{caption}\n</figure>"


# ---------------------------------------------------------------------------- text


def _text(text: str) -> str:
    return escape(plain(text))


def _prose(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))


def _anchors(titles: Iterable[str]) -> Iterator[str]:
    """An anchor for each section: the letters and digits of its title, numbered where they repeat."""
    used: set[str] = set()
    for title in titles:
        slug = "section-" + ("-".join(re.findall(r"[a-z0-9]+", title.lower())) or "untitled")
        anchor = next(name for name in (slug, *(f"{slug}.{n}" for n in range(2, len(used) + 3))) if name not in used)
        used.add(anchor)
        yield anchor


# ---------------------------------------------------------------------------- pictures

_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_THEME = {INK: "var(--ink)", PAPER: "var(--paper)", GRID: "var(--rule)"}


def _inline(svg: bytes, number: int) -> str:
    """A picture as an element of the page, with unique ids, the colours of the page, and a label."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in (f"{_SVG}metadata", f"{_SVG}style")]:
            parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        element.attrib = {
            key.replace(_XLINK, "xlink:"): _own(key, value, number) for key, value in element.attrib.items()
        }
    root.attrib.update(
        {
            "role": "img",
            "aria-labelledby": f"caption-{number}",
            "style": "stroke-linejoin: round; stroke-linecap: butt",  # as in the removed <style>
        }
    )
    return ElementTree.tostring(root, encoding="unicode").strip()


def _own(key: str, value: str, number: int) -> str:
    """The value of an attribute with unique ids, and with neutral colours replaced by those of the page."""
    if key == "id":
        return f"picture-{number}-{value}"
    if key == f"{_XLINK}href":
        return re.sub(r"^#", f"#picture-{number}-", value)
    value = value.replace("url(#", f"url(#picture-{number}-")
    return re.sub("|".join(_THEME), lambda match: _THEME[match[0]], value)


# ---------------------------------------------------------------------------- the page

_STYLE = """
:root { --ink: #1c2024; --paper: #fefefe; --ground: #f4f5f6; --rule: #d9dde1; --quiet: #59626b; --link: #005b8f;
  color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e3e6e9; --paper: #1b1f23; --ground: #121518; --rule: #3a4148; --quiet: #a2abb4; --link: #6cb8e6; }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body { margin: 0; color: var(--ink); background: var(--ground); font: 16px/1.55 system-ui, "Segoe UI", Roboto,
  "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif; }
a { color: var(--link); }
.page { max-width: 76rem; margin: 0 auto; padding: 2.5rem 1.5rem; display: grid; gap: 2rem 3rem;
  grid-template-columns: minmax(0, 1fr); }
h1 { margin: 0 0 1.2rem; font-size: 2rem; line-height: 1.2; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { margin: 0 0 0.8rem; font-size: 1.3rem; line-height: 1.3; overflow-wrap: anywhere; }
section, .facts { background: var(--paper); border: 1px solid var(--rule); border-radius: 8px; padding: 1.5rem 2rem; }
section { margin-top: 1.5rem; scroll-margin-top: 1rem; }
p { max-width: 46rem; margin: 0 0 0.9rem; overflow-wrap: break-word; }
code { font: 0.88em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  background: var(--ground); border-radius: 4px; padding: 0.1em 0.35em; overflow-wrap: anywhere; }
.facts { margin: 0; display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.35rem 1.5rem;
  font-size: 0.92rem; }
.facts dt { color: var(--quiet); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
nav { font-size: 0.92rem; }
nav h2 { font-size: 0.8rem; margin-bottom: 0.5rem; color: var(--quiet); text-transform: uppercase;
  letter-spacing: 0.06em; }
nav ol { margin: 0; padding: 0; list-style: none; }
nav li { margin: 0.3rem 0; overflow-wrap: anywhere; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
.table { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums;
  border-top: 1.5px solid var(--ink); border-bottom: 1.5px solid var(--ink); }
caption { text-align: left; font-weight: 600; padding-bottom: 0.5rem; }
th, td { padding: 0.32rem 0.9rem; text-align: left; vertical-align: baseline; }
th { border-bottom: 1px solid var(--ink); font-weight: 600; white-space: nowrap; }
tbody td:first-child:not(.number) { min-width: 9rem; }
td.number, th.number { text-align: right; white-space: nowrap; }
tbody tr + tr td { border-top: 1px solid var(--rule); }
tbody.references { border-top: 1px solid var(--ink); color: var(--quiet); }
tbody.references td:first-child { font-style: italic; }
tbody tr:hover { background: var(--ground); }
td sup { display: inline-block; width: 0; line-height: 0; white-space: nowrap; }
tfoot td { border-top: 1px solid var(--ink); color: var(--quiet); font-size: 0.86rem; }
th button { all: unset; cursor: pointer; }
th button:hover { text-decoration: underline; }
th button:focus-visible { outline: 2px solid var(--link); outline-offset: 3px; }
th[aria-sort] button::after { content: " ↑"; position: absolute; }
th[aria-sort="descending"] button::after { content: " ↓"; }
figure { margin: 1.6rem 0 0.6rem; max-width: 50rem; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { margin-top: 0.5rem; color: var(--quiet); font-size: 0.88rem; }
footer { margin-top: 1.5rem; color: var(--quiet); font-size: 0.85rem; }
@media (min-width: 64rem) {
  .page { grid-template-columns: 13rem minmax(0, 1fr); }
  nav { position: sticky; top: 2rem; align-self: start; max-height: calc(100vh - 4rem); overflow-y: auto; }
}
@media (max-width: 40rem) {
  .page { padding: 1.25rem 0.75rem; }
  section, .facts { padding: 1rem; }
}
@media print {
  body { background: none; font-size: 10pt; }
  nav { display: none; }
  .page { display: block; max-width: none; padding: 0; }
  section, .facts { border: 0; padding: 0.6rem 0; }
  .table { overflow: visible; }
  h2, p:has(+ figure), p:has(+ .table) { break-after: avoid; }
  figure, tr { break-inside: avoid; }
}
"""

_SCRIPT = """
for (const table of document.querySelectorAll(".table table")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const number = head.classList.contains("number");
      const first = number ? "descending" : "ascending", second = number ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const text = row => row.cells[column].textContent;
      const value = row => parseFloat(text(row).replaceAll(",", ""));
      const compare = (a, b) => {
        if (!number) return sign * text(a).localeCompare(text(b));
        const x = value(a), y = value(b);
        return isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) : sign * (x - y);
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
}
"""

_DIGEST = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{_DIGEST}'"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div class="page">
<nav aria-label="Contents">
<h2>Contents</h2>
<ol>
{contents}
</ol>
</nav>
<main>
<h1>{title}</h1>
{facts}
{sections}
<footer>Created with rprs. This file is self-contained.</footer>
</main>
</div>
<script>{script}</script>
</body>
</html>
"""

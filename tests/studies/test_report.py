"""The report: one self-contained HTML file, whatever its titles are, in a real browser."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rprs.evaluation.table import Figure, Table
from rprs.studies import figures
from rprs.studies.report import Section, html

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp; {title} url(#a)"
TABLE = Table(
    "Systems",
    ("system", "AP"),
    (
        ("BM25", Figure(0.25)),
        ("RPRS", Figure(0.5, mark="†", best=True)),
        ("K", Figure(float("nan"))),
        ("SDR", Figure(0.3)),
    ),
    ("† significant",),
)


@cache
def pictures(title: str = "Length & score") -> tuple[figures.Picture, ...]:
    """Two with the same names inside, because they differ only in size; the last contains an image."""
    many = figures.canvas.VECTOR_POINTS + 1
    return tuple(figures.correlation("pearson", title, range(n), range(n), 1.0) for n in (5, 6, many))


def page(title: str = "A study") -> str:
    sections = [
        Section("Systems", ("What `rprs evaluate` says.", "A < B"), (TABLE,)),
        Section("Length", (), (), pictures()),
        Section("Systems"),
        Section("漢字"),
    ]
    return html(title, sections, {"collection": "beir(sample)", "command": "`rprs study a.toml`"})


class Elements(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {key: value or "" for key, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def values(self, key: str) -> list[str]:
        return [attributes[key] for _, attributes in self.tags if key in attributes]


def test_the_same_study_gives_the_same_page() -> None:
    first = page()
    pictures.cache_clear()
    assert page() == first


def test_ids_are_unique_and_every_reference_has_its_target() -> None:
    source = page()
    elements = Elements(source)
    names = Counter(elements.values("id"))
    assert [name for name, times in names.items() if times > 1] == []
    links = [link for key in ("href", "xlink:href") for link in elements.values(key) if link.startswith("#")]
    referred = {link[1:] for link in links} | set(re.findall(r'"url\(#([^)]+)\)"', source))
    referred |= set(elements.values("aria-labelledby"))
    assert len(referred) > 15
    assert referred - set(names) == set()


def test_the_page_loads_nothing_from_outside() -> None:
    elements = Elements(page())
    fetched = [link for key in ("src", "href", "xlink:href", "srcset", "data") for link in elements.values(key)]
    assert {link.partition(":")[0] if link[0] != "#" else "#" for link in fetched} == {"#", "data"}
    assert not {tag for tag, _ in elements.tags} & {"link", "iframe", "object", "embed", "base", "img"}
    (policy,) = elements.values("content")[:1]
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert not re.search(r"@import|url\((?!#)", page())


def test_the_policy_allows_the_script_of_the_page_and_no_other() -> None:
    source = page()
    (script,) = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in source


def test_hostile_text_is_escaped_everywhere() -> None:
    table = Table(HOSTILE, (HOSTILE,), ((HOSTILE,),), (HOSTILE,))
    picture = figures.differences(HOSTILE, HOSTILE, [0.1], HOSTILE)
    bare = figures.Picture(HOSTILE, picture.svg, picture.png)  # without a caption, its name is used
    source = html(HOSTILE, [Section(HOSTILE, (HOSTILE,), (table,), (picture, bare))], {HOSTILE: HOSTILE})
    elements = Elements(source)
    tags = Counter(tag for tag, _ in elements.tags)
    assert (tags["script"], tags["img"], tags["title"]) == (1, 0, 1)
    assert not elements.values("onerror")
    # Title twice, contents, heading, paragraph, fact twice, four of the table, one caption, two y labels; the
    # captions that begin with it and the wrapped titles of the pictures come on top.
    assert sum(text == HOSTILE for text in elements.texts) >= 13


def test_contents_link_to_sections_whose_titles_repeat_or_have_no_latin_letter() -> None:
    links = [link for link in Elements(page()).values("href") if link.startswith("#section")]
    assert links == ["#section-systems", "#section-length", "#section-systems.2", "#section-untitled"]


def test_words_facts_tables_and_captions_are_there() -> None:
    source = page()
    assert "<p>What <code>rprs evaluate</code> says.</p>\n<p>A &lt; B</p>" in source
    assert "<dt>collection</dt><dd>beir(sample)</dd>" in source
    assert "<dd><code>rprs study a.toml</code></dd>" in source
    assert TABLE.html() in source
    assert re.findall(r"<b>Figure (\d)\.</b> (.{18})", source) == [(n, "Length &amp; score") for n in "123"]


def test_pictures_use_the_colours_of_the_page_without_changing_its_style() -> None:
    source = page()
    svg = "".join(re.findall(r"<svg.*?</svg>", source, re.DOTALL))
    assert "var(--ink)" in svg
    assert not re.search(rf"{figures.canvas.INK}|{figures.canvas.PAPER}|{figures.canvas.GRID}|<style|<metadata", svg)
    assert figures.canvas.BLUE in svg


def test_an_empty_report_is_valid() -> None:
    assert "<h1>Empty</h1>" in html("Empty", [], {})


# ---------------------------------------------------------------------------- in a browser

Browse = Callable[[str], tuple[str, str]]


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no Chromium on this machine to open the report with")

    def run(source: str) -> tuple[str, str]:
        """The DOM after the script has run, and the messages of the console."""
        file = tmp_path / "report.html"
        file.write_text(source, encoding="utf-8")
        quiet = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            f"--user-data-dir={tmp_path}",
        ]
        process = subprocess.run(
            [program, *quiet, "--dump-dom", file.as_uri()],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "HOME": str(tmp_path)},
        )
        return process.stdout, "\n".join(line for line in process.stderr.splitlines() if "CONSOLE" in line)

    return run


def test_a_browser_shows_the_complete_page_without_console_messages(browse: Browse) -> None:
    dom, complaints = browse(page(HOSTILE))
    assert complaints == ""
    assert '<th class="number"><button>AP</button></th>' in dom  # the policy let the script run
    tags = Counter(tag for tag, _ in Elements(dom).tags)
    assert tags["svg"] == tags["figure"] == len(pictures(HOSTILE))


def test_a_click_on_a_header_sorts_the_table_with_missing_values_last(browse: Browse) -> None:
    click = "document.querySelectorAll('th button')[1].click();"
    order = "document.title = [...document.querySelectorAll('tbody tr')].map(row => row.cells[0].textContent).join();"
    for clicks, expected in ((1, "RPRS,SDR,BM25,K"), (2, "BM25,SDR,RPRS,K")):
        open_page = re.sub(r"<meta http-equiv.*", "", page())  # or the policy would stop the test's own script
        dom, complaints = browse(open_page.replace("</body>", f"<script>{click * clicks}{order}</script></body>"))
        assert f"<title>{expected}</title>" in dom
        assert complaints == ""

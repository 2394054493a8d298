"""The documentation is correct: commands print what it shows, links and names exist, and nothing is missing."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
from typer.main import get_command

import rprs
from rprs import errors
from rprs.cli import app
from rprs.cli.reference import verbs as all_verbs
from rprs.spec import Kind
from tests.support.docs import DOCS, PAGES, Block, Reader, alike, blocks, missing
from tests.support.paths import ROOT

COMMANDS, PYTHON = DOCS / "cli.md", DOCS / "python-api.md"
GENERATED = (COMMANDS, PYTHON)
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
RUN = [
    page
    for page in PAGES
    if page not in GENERATED and any(block.session or block.language == "python" for block in blocks(TEXTS[page]))
]
OTHERS = [ROOT / name for name in ("CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT))


# ---------------------------------------------------------------------------- commands and Python


ENTRY = {
    "README.md",
    "docs/tutorial.md",
    "docs/how-to/keep-up-to-date.md",
    "docs/how-to/python.md",
}
PARAMETERS = [
    pytest.param(page, id=_named(page), marks=() if _named(page) in ENTRY else pytest.mark.slow) for page in RUN
]


@pytest.mark.parametrize("page", PARAMETERS)
def test_the_blocks_of_a_page_print_what_it_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(Reader()) as reader:
        for block in blocks(TEXTS[page]):
            if block.file:
                reader.write(block)
            elif block.session and not block.reason:
                _follow(reader, block)
            elif block.language == "python" and not block.reason:
                expected = _expected(block)
                assert missing(expected, printed := reader.execute(block.text)) == [], printed


def _follow(reader: Reader, block: Block) -> None:
    """Run a session; a command may fail only where the page shows its error."""
    for command, expected in block.steps:
        code, printed = reader.run(command)
        assert missing(expected, printed) == [], f"$ {command}\n{printed}"
        fails = any(line.startswith("rprs: ") for line in expected)
        assert code == (2 if fails else 0), f"$ {command}\n{printed}"


def _expected(block: Block) -> list[str]:
    """The lines that a Python block prints: its comments that begin with an arrow."""
    return re.findall(r"# → (.*)", block.text)


def test_every_block_is_run_or_gives_a_reason() -> None:
    unexplained = [
        f"{_named(page)}: {block.text[:60]}"
        for page in PAGES
        if page not in GENERATED
        for block in blocks(TEXTS[page])
        if not (block.reason or block.file or block.language in ("python", "text") or (block.session and block.steps))
    ]
    assert unexplained == []


def test_all_python_blocks_are_valid_syntax() -> None:
    for page in PAGES:
        for block in blocks(TEXTS[page]):
            if block.language == "python":
                ast.parse(block.text)


def test_lines_are_compared_apart_from_times_and_last_digits() -> None:
    assert alike("3 documents in 0.1 s, cosine 0.70", "3 documents in 12.3 s,  cosine 0.71")
    assert alike("  1  0.1933  █▉   46 %  brief", "  1  0.1930  █▊   45 %  brief")
    assert alike("skipped scan.pdf: …", "skipped scan.pdf: an empty file")
    assert not alike("3 documents", "4 documents")
    assert not alike("cosine 0.70", "cosine 0.75")
    assert not alike("46 % of it", "56 % of it")
    assert alike("46% of it", "46 % of it")
    assert not alike("46% of it", "56% of it")
    assert missing(["a", "…", "c"], "a\nb\nc\n") == []
    assert missing(["c", "a"], "a\nb\nc\n") == ["a"]


# ---------------------------------------------------------------------------- names of the package

_NAME = re.compile(r"(?<![\w./'\"-])rprs((?:\.[A-Za-z_]\w*)+)")  # "rprs.trec" in quotes is a file
_CODE = re.compile(r"`([^`\n]+)`")
_ENTRY_POINTS = {f"rprs.{kind}" for kind in (*get_args(Kind), "reader")}


def _python_names(page: str) -> Iterator[str]:
    """Names such as `rprs.Index.in_memory`, in Python blocks and in code within sentences."""
    python = [block.text for block in blocks(page) if block.language == "python"]
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    for text in (*python, *_CODE.findall(prose)):
        yield from (f"rprs{match[1]}" for match in _NAME.finditer(text))


def _exists(name: str) -> bool:
    """Whether a dotted name is a public name of the package or an attribute of one, or a module or a name in one."""
    first, *rest = name.split(".")[1:]
    if first in rprs.__all__:
        value = getattr(rprs, first)
    else:
        try:
            value = import_module(f"rprs.{first}")
        except ModuleNotFoundError:
            return False
    for attribute in rest:
        if isinstance(value, ModuleType) and not hasattr(value, attribute) and hasattr(value, "__path__"):
            submodule = f"{value.__name__}.{attribute}"
            value = import_module(submodule) if find_spec(submodule) else None
        elif hasattr(value, attribute):
            value = getattr(value, attribute)
        elif attribute in getattr(value, "__dataclass_fields__", {}):
            value = value.__dataclass_fields__[attribute]
        else:
            return False
    return value is not None


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_every_name_of_the_package_on_a_page_exists(page: Path) -> None:
    names = {*_python_names(TEXTS[page])} - _ENTRY_POINTS
    assert sorted(name for name in names if not _exists(name)) == []


def test_names_are_recognised_and_checked() -> None:
    page = (
        "`rprs.Index`, `rprs.Serch(...)`, `x.rprs.gz`\n\n```python\nrprs.tune.best('rprs.x')\n```\n```sh\nrprs.y\n```\n"
    )
    assert sorted(_python_names(page)) == ["rprs.Index", "rprs.Serch", "rprs.tune.best"]
    present = ["rprs.Index", "rprs.Searcher.search", "rprs.Hit.score", "rprs.Tuned.best", "rprs.testing.encoders"]
    absent = ["rprs.Serch", "rprs.Searcher.serch", "rprs.tune.best", "rprs.testing.nothing", "rprs.sys"]
    assert [name for name in (*present, *absent) if _exists(name)] == present


def test_the_python_reference_is_complete_and_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import python_api

    monkeypatch.delitem(sys.modules, "python_api")
    assert python_api.undocumented() == []
    assert TEXTS[PYTHON] == python_api.reference(), "run python scripts/python_api.py > docs/python-api.md"
    assert [name for name in rprs.__all__ if f"### {name}\n" not in TEXTS[PYTHON]] == []


# ---------------------------------------------------------------------------- links and words

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"")


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=_named)
def test_links_have_a_target(page: Path) -> None:
    for link in _LINK.finditer(page.read_text(encoding="utf-8")):
        target, _, anchor = (link[1] or link[2]).partition("#")
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        place = page if not target else page.parent / target
        assert place.exists(), f"{link[0]}: no such file"
        if anchor:
            assert anchor in _anchors(place.read_text(encoding="utf-8")), f"{link[0]}: no such heading"


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=_named)
def test_no_page_has_paths_of_one_machine(page: Path) -> None:
    paths = re.findall(
        r"(?:^|[\s`(\"'=])(/(?!var/(?:lib|cache)/rprs)(?:tmp|work|home|root|usr|var|Users)\b\S*|[A-Z]:\\\S*)",
        page.read_text("utf-8"),
    )
    assert paths == []


def test_all_pages_are_listed() -> None:
    index = TEXTS[DOCS / "README.md"]
    unlisted = [
        _named(page) for page in PAGES if page.parent != ROOT and f"({page.relative_to(DOCS).as_posix()})" not in index
    ]
    assert unlisted == ["docs/README.md"]


def test_every_verb_is_in_the_reference_and_in_a_guide() -> None:
    verbs = [name for name, _ in all_verbs(get_command(app))]
    guides = "".join(text for page, text in TEXTS.items() if page not in GENERATED)
    assert [verb for verb in verbs if f"## rprs {verb}\n" not in TEXTS[COMMANDS]] == []
    assert [verb for verb in verbs if f"rprs {verb}" not in guides] == []


def test_every_error_is_in_troubleshooting() -> None:
    page = TEXTS[DOCS / "how-to" / "troubleshooting.md"]
    assert [name for name in errors.__all__ if f"`{name}`" not in page] == []


def test_the_sample_is_small() -> None:
    files = [path for path in (DOCS / "sample").rglob("*") if path.is_file()]
    assert len(files) >= 12
    assert sum(path.stat().st_size for path in files) < 50_000

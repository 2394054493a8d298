"""The documentation is true: commands run and print what it shows, links lead somewhere, nothing is forgotten."""

from __future__ import annotations

import ast
import re
from contextlib import closing
from pathlib import Path

import pytest
from typer.main import get_command

from rprs import errors
from rprs.cli import app
from rprs.cli.reference import verbs as all_verbs
from tests.support.docs import DOCS, PAGES, ROOT, Block, Reader, alike, blocks, missing

GENERATED = DOCS / "cli.md"
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
RUN = [
    page
    for page in PAGES
    if page != GENERATED and any(block.session or block.language == "python" for block in blocks(TEXTS[page]))
]
OTHERS = [ROOT / name for name in ("CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT))


# ---------------------------------------------------------------------------- commands and Python


@pytest.mark.parametrize("page", RUN, ids=_named)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(Reader()) as reader:
        for block in blocks(TEXTS[page]):
            if block.file:
                reader.write(block)
            elif block.session and not block.reason:
                _follow(reader, block)
            elif block.language == "python" and not block.reason:
                shown = _shown(block)
                assert missing(shown, printed := reader.execute(block.text)) == [], printed


def _follow(reader: Reader, block: Block) -> None:
    """Run a session; a command may only fail where the page shows its error."""
    for command, shown in block.steps:
        code, printed = reader.run(command)
        assert missing(shown, printed) == [], f"$ {command}\n{printed}"
        fails = any(line.startswith("rprs: ") for line in shown)
        assert code == (2 if fails else 0), f"$ {command}\n{printed}"


def _shown(block: Block) -> list[str]:
    """What a piece of Python is said to print: its comments that begin with an arrow."""
    return re.findall(r"# → (.*)", block.text)


def test_every_block_is_run_or_says_why_not() -> None:
    open_questions = [
        f"{_named(page)}: {block.text[:60]}"
        for page in PAGES
        if page != GENERATED
        for block in blocks(TEXTS[page])
        if not (block.reason or block.file or block.language in ("python", "text") or (block.session and block.steps))
    ]
    assert open_questions == []


def test_python_that_is_not_run_is_python() -> None:
    for page in PAGES:
        for block in blocks(TEXTS[page]):
            if block.language == "python":
                ast.parse(block.text)


def test_lines_are_compared_as_a_reader_would() -> None:
    assert alike("3 documents in 0.1 s, cosine 0.70", "3 documents in 12.3 s,  cosine 0.71")
    assert alike("  1  0.1933  █▉   46 %  brief", "  1  0.1930  █▊   45 %  brief")
    assert alike("skipped scan.pdf: …", "skipped scan.pdf: an empty file")
    assert not alike("3 documents", "4 documents")
    assert not alike("cosine 0.70", "cosine 0.75")
    assert not alike("46 % of it", "56 % of it")
    assert missing(["a", "…", "c"], "a\nb\nc\n") == []
    assert missing(["c", "a"], "a\nb\nc\n") == ["a"]


# ---------------------------------------------------------------------------- links and words

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"")


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=_named)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.finditer(page.read_text(encoding="utf-8")):
        target, _, anchor = (link[1] or link[2]).partition("#")
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        place = page if not target else page.parent / target
        assert place.exists(), f"{link[0]} leads nowhere"
        if anchor:
            assert anchor in _anchors(place.read_text(encoding="utf-8")), f"{link[0]}: no such heading"


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=_named)
def test_no_page_names_a_place_of_one_machine(page: Path) -> None:
    found = re.findall(
        r"(?:^|[\s`(\"'=])(/(?:tmp|work|home|root|usr|var|Users)\b\S*|[A-Z]:\\\S*)", page.read_text("utf-8")
    )
    assert found == []


def test_all_pages_are_in_the_index() -> None:
    index = TEXTS[DOCS / "README.md"]
    unlisted = [
        _named(page) for page in PAGES if page.parent != ROOT and f"({page.relative_to(DOCS).as_posix()})" not in index
    ]
    assert unlisted == ["docs/README.md"]


def test_every_verb_is_in_the_reference_and_in_a_guide() -> None:
    verbs = [name for name, _ in all_verbs(get_command(app))]
    guides = "".join(text for page, text in TEXTS.items() if page != GENERATED)
    assert [verb for verb in verbs if f"## rprs {verb}\n" not in TEXTS[GENERATED]] == []
    assert [verb for verb in verbs if f"rprs {verb}" not in guides] == []


def test_every_error_has_its_cure() -> None:
    page = TEXTS[DOCS / "how-to" / "troubleshooting.md"]
    assert [name for name in errors.__all__ if f"`{name}`" not in page] == []


def test_the_sample_is_small_and_ours() -> None:
    files = [path for path in (DOCS / "sample").rglob("*") if path.is_file()]
    assert len(files) >= 12
    assert sum(path.stat().st_size for path in files) < 50_000

"""Coverage in words in the web interface: the sentences are those of the library, whatever is matched."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from rprs.alignment.describe import coverage_sentence
from rprs.alignment.values import Coverage
from tests.support.browser import visit
from tests.support.coverages import every_coverage
from tests.support.server import Server
from tests.support.web_samples import cases, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SENTENCES = """async (coverages) => {
    const { coverageSentence } = await import(new URL("static/kinds.js", document.baseURI).href);
    return coverages.map((coverage) => coverageSentence(coverage, "query"));
}"""


@pytest.fixture(scope="module")
def index_path(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_index(tmp_path_factory.mktemp("words") / "made.rprs", cases())


def random_coverages(count: int) -> list[Coverage]:
    chance = Random(0)
    counts = [[chance.randrange(10 ** chance.randrange(1, 6)) for _ in range(4)] for _ in range(count)]
    return [Coverage(sum(each), *each[1:]) for each in counts]


def test_every_sentence_is_that_of_the_library(chrome: Browser, server: Server) -> None:
    """Of all coverages of up to 16 words, and of many longer texts; `test_describe` shows that those add up."""
    coverages = [*every_coverage(16), *random_coverages(5000)]
    with visit(chrome, server.url) as visited:
        values = [{**asdict(coverage), "matched": coverage.matched} for coverage in coverages]
        shown = visited.open().evaluate(SENTENCES, values)
    assert shown == [coverage_sentence(coverage, "query") for coverage in coverages]

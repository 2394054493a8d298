"""Every clause of 8 or more words that two real documents share is matched, by a slow and literal check."""

from __future__ import annotations

import importlib.util
import json
import lzma
import os
import random
from pathlib import Path

import pytest

from rprs.alignment.align import align_sides
from rprs.alignment.sides import make_side
from rprs.document import Document
from rprs.text.split import SentenceSplitter
from tests.support.verbatim_oracle import unmatched_clauses

PAIRS = 200


def check(texts: list[str]) -> None:
    """Align random pairs of texts, by words alone."""
    chance, splitter = random.Random(0), SentenceSplitter()
    for _ in range(PAIRS):
        left, right = (
            make_side(Document(id, text), splitter.split(text))
            for id, text in zip(("left", "right"), chance.sample(texts, 2), strict=True)
        )
        assert unmatched_clauses(align_sides(left, right, ideas=False)) == []


@pytest.mark.slow
def test_every_clause_of_licence_pairs_is_matched() -> None:
    package = importlib.util.find_spec("licensedcode")
    if package is None or not package.submodule_search_locations:
        pytest.skip("needs the package licensedcode-data, which `make test-all` installs")
    folder = Path(package.submodule_search_locations[0]) / "data" / "licenses"
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*gpl*.LICENSE"))]
    check(texts + [path.read_text(encoding="utf-8") for path in sorted(folder.glob("apache*.LICENSE"))])


@pytest.mark.effectiveness
def test_every_clause_of_opinion_pairs_is_matched() -> None:
    corpus = Path(os.environ["RPRS_DATA"]) / "scotus_cite" / "corpus.jsonl.xz"
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        check([json.loads(line)["text"] for line, _ in zip(lines, range(600), strict=False)])

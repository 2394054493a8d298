"""A fitted table gives the bytes that a literal reading of its definition gives, whatever the text."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rprs.encode import remembered
from rprs.encode.fitted import Table
from rprs.encode.onnx import Onnx
from rprs.read import read
from rprs.spec import parse
from tests.support.paths import ROOT, SAMPLE

MODULES = ("argparse", "asyncio", "builtins", "collections", "datetime", "decimal", "json", "logging", "re", "unittest")
GLUED = st.sampled_from([*"()[]{}<>.,;:!?\"'`-–—_/\\|§¶&@#%*+=~^$€…", "...", "--", "\u00a0", "\u200b", "\u0301"])
WORDS = st.sampled_from(
    "the COURT Straße ΣΑΣ İstanbul naïve re\u0301sume\u0301 中文 한국어 ไทย 3.14 U.S.C. e-mail o'clock".split()
)
TEXTS = st.text(max_size=60) | st.lists(WORDS | GLUED | st.just(" ") | st.text(max_size=4), max_size=30).map("".join)


@pytest.fixture(scope="module")
def table() -> Table:
    """A table of the default model's tokenizer with random rows."""
    words = Onnx().load().words
    rows = np.random.default_rng(1).standard_normal((words.get_vocab_size(), 48)).astype(np.float16)
    return Table(rows, words.to_str(), {})


def literally(table: Table, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """One text and one token after another: the sum of the tokens' rows, scaled to unit length."""
    rows, vectors = table.rows.astype(np.float32), np.zeros((len(texts), table.dimension), dtype=np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        for token in table.words.encode(text, add_special_tokens=False).ids:
            vector += rows[token]
        length = math.sqrt(math.fsum(float(value) ** 2 for value in vector))
        if length:
            vector[:] = vector.astype(np.float64) / length
    return vectors


def assert_same_bytes(table: Table, texts: Sequence[str]) -> None:
    expected = literally(table, texts)
    fresh = Table(table.rows, table.tokenizer, {})
    for _ in range(2):  # the second time, every word is known
        assert fresh.encode(texts).tobytes() == expected.tobytes()


def docstrings() -> list[str]:
    """The documentation strings of some modules of Python and of what they define."""
    texts = []
    for module in map(importlib.import_module, MODULES):
        members = [module, *vars(module).values()]
        texts += [each.__doc__ for each in members if isinstance(getattr(each, "__doc__", None), str)]
    return sorted(set(texts))


def test_real_texts_have_the_bytes_of_the_definition(table: Table) -> None:
    documents = [document.text for document in read(SAMPLE / "files")]
    texts = [*documents, (ROOT / "LICENSE").read_text(encoding="utf-8"), *docstrings()]
    split = parse("splitter", "sentences")
    sentences = [sentence for text in texts for sentence in split.split(text).texts(text)]
    assert len(sentences) > 1500
    assert_same_bytes(table, sentences)
    assert_same_bytes(table, texts)


def test_a_text_of_more_than_512_tokens_counts_as_a_whole(table: Table) -> None:
    """The window of the teacher does not bind a table."""
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert len(table.words.encode(licence, add_special_tokens=False).ids) > 1500
    texts = [licence, licence[:6000], f"{licence[:6000]} and a last word", "x" * 3000, "word " * 2000]
    assert_same_bytes(table, texts)
    vectors = table.encode(texts)
    assert not np.array_equal(vectors[1], vectors[2])


@given(st.lists(TEXTS, max_size=6))
@example(["", " ", "\u0301", "the", "THE", "the.", "(the)", "the\x00the", "the\u2028the", "x" * 101])
def test_any_text_has_the_bytes_of_the_definition(table: Table, texts: list[str]) -> None:
    assert_same_bytes(table, texts)


def test_words_that_are_forgotten_and_joined_have_them_too(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MOST_WORDS", 50)
    monkeypatch.setattr(remembered, "WORDS_OF_A_TEXT", 3)
    texts = docstrings()[:200]
    once, expected = Table(table.rows, table.tokenizer, {}), literally(table, texts)
    for start in range(0, len(texts), 7):
        assert once.encode(texts[start : start + 7]).tobytes() == expected[start : start + 7].tobytes()

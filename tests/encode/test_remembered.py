"""Tokens that are remembered word by word are those of the tokenizer, for any text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rprs.encode import remembered
from rprs.encode.onnx import Onnx
from rprs.encode.remembered import RememberedTokens, is_word_by_word, tokenize

WORDS = "the The COURT's don't (a)(1) §12 12,000.50 naïve e\u0301 \u0301x ΣΑΣ ß İ 中文 かな 각 ไทย [CLS] ##ing".split()
SEPARATORS = [" ", "\t", "\n", "\r\n", "  ", *"\x00\x0b\x0c\x1c\x85\xa0\u2028\u200b\ufeff"]
PIECES = st.sampled_from([*WORDS, *SEPARATORS, "x" * 130])
TEXTS = st.lists(PIECES, max_size=12).map("".join) | st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=30)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """The tokenizer of the default model."""
    return Onnx().load().words


def equal(found: tuple[Any, Any], expected: tuple[Any, Any]) -> bool:
    return all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))


def test_the_default_model_is_tokenised_word_by_word(tokenizer: Any) -> None:
    settings = tokenizer.to_str()
    assert is_word_by_word(settings)
    for part, value in (
        ("pre_tokenizer", {"type": "Whitespace"}),
        ("truncation", {"max_length": 5, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}),
        ("added_tokens", [{"content": "two words", "lstrip": False, "rstrip": False}]),
        ("added_tokens", [{"content": "one", "lstrip": True, "rstrip": False}]),
    ):
        assert not is_word_by_word(json.dumps({**json.loads(settings), part: value}))


@given(st.lists(TEXTS, max_size=5))
@example(["", " ", "a\x0cb"])
def test_tokens_are_those_of_the_tokenizer(tokenizer: Any, texts: list[str]) -> None:
    tokens = RememberedTokens(tokenizer)
    for _ in range(2):  # the second time, every word is known
        assert equal(tokens(texts), tokenize(tokenizer, texts))


def test_the_table_starts_again_when_it_is_full(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MOST_WORDS", 5)
    tokens = RememberedTokens(tokenizer)
    for texts in (["one two three four five six"], ["seven eight"], ["one nine"]):
        assert equal(tokens(texts), tokenize(tokenizer, texts))
    assert len(tokens._numbers) == 4


def test_threads_share_a_table(tokenizer: Any) -> None:
    tokens = RememberedTokens(tokenizer)
    texts = [[f"word{number} of thread{thread}" for number in range(300)] for thread in range(4)]
    found: dict[int, tuple[Any, Any]] = {}

    def work(thread: int, texts: Sequence[str]) -> None:
        found[thread] = tokens(texts)

    threads = [Thread(target=work, args=item) for item in enumerate(texts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(equal(found[number], tokenize(tokenizer, own)) for number, own in enumerate(texts))

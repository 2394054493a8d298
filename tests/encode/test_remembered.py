"""Tokens that are remembered word by word are those of the tokenizer, for any text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rprs.encode import remembered
from rprs.encode.onnx import Onnx, OnnxEncoder
from rprs.encode.remembered import RememberedTokens, RememberedVectors, is_word_by_word, tokenize
from tests.support.tiny_models import make_bert

WORDS = "the The COURT's don't (a)(1) §12 e\u0301 \u0301x ΣΑΣ ß İ 中文 かな 각 ไทย [CLS] ##ing | a|b ‖".split()
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


def test_a_token_between_words_is_found_although_it_is_one_of_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are passed on together, with a character between them that another one may be folded to."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    folding = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "b": 2, "|": 3}, unk_token="[UNK]"))
    folding.normalizer = normalizers.Replace("ⱶ", "|")
    folding.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    monkeypatch.setattr(remembered, "WORDS_OF_A_TEXT", 3)
    for texts in (["a b a b b"], ["a ⱶ b", "ⱶ ⱶ", "b a"], ["a aⱶb |b", "b"], ["||", "a"]):
        assert equal(RememberedTokens(folding)(texts), tokenize(folding, texts))


def test_a_tokenizer_that_fails_leaves_a_table_that_works(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = RememberedTokens(tokenizer)
    tokens(["one two"])
    with monkeypatch.context() as patched:
        patched.setattr(remembered, "tokenize", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tokens(["two three"])
    assert equal(tokens(["three two one four"]), tokenize(tokenizer, ["three two one four"]))


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


def test_sentences_of_earlier_calls_are_not_encoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    model = str(make_bert(tmp_path / "tiny"))
    encoder, fresh = (Onnx(model, "fp32").load() for _ in range(2))
    first, second = ["the court", "the appeal", "a claim"], ["a claim", "the contract", "the court", "the court"]
    encoder.encode(first)
    encoded: list[str] = []
    original = OnnxEncoder._encode_distinct

    def record(self: OnnxEncoder, sentences: list[str], *rest: Any) -> Any:
        encoded.extend(sentences)
        return original(self, sentences, *rest)

    monkeypatch.setattr(OnnxEncoder, "_encode_distinct", record)
    steps: list[int] = []
    vectors = encoder.encode(second, steps.append)
    assert encoded == ["the contract"]
    assert sum(steps) == len(second)
    assert vectors.tobytes() == fresh.encode(second).tobytes()


def test_remembered_vectors_are_bounded_and_the_ones_in_use_stay() -> None:
    memory = RememberedVectors(room=3)
    rows = np.arange(20, dtype=np.float32)[:, None]
    for number in range(20):
        memory.add([f"sentence {number}"], rows[number : number + 1])
        assert memory.fill(["sentence 0"], np.zeros((1, 1), dtype=np.float32)) == []
    assert len(memory._newer) <= 4
    assert len(memory._older) <= 4
    memory.add(["x" * 1000], rows[:1])
    assert memory.fill(["x" * 1000, "sentence 5"], np.zeros((2, 1), dtype=np.float32)) == [0, 1]

"""Sentences that an index has vectors of are not encoded again, and the index has the same bytes all the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import rprs
from rprs import spec
from rprs.document import Document
from rprs.encode.hashed import Hashed
from rprs.errors import IndexCorrupt, IndexMismatch, UsageError
from rprs.index import Index, Writer, sentence_hashes, verify, writer
from rprs.index.segment import Hashes
from rprs.progress import Advance, Progress, no_op, silent
from rprs.scoring.vectors import VECTOR_TYPES, VectorType
from rprs.spec import Component, Kind
from tests.support.cli import rprs_error, rprs_ok
from tests.support.crash import memory_folder
from tests.support.tiny_models import make_bert

ASKED: list[str] = []  # the sentences that the encoder was asked for


@dataclass(frozen=True)
class Asked(Component):
    """Words hashed to directions, by an encoder that notes what it is asked for."""

    size: int = 24
    name: ClassVar[str] = "asked"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)
    slow: ClassVar[bool] = True

    @property
    def dimension(self) -> int:
        return self.size

    @property
    def fingerprint(self) -> str:
        return Hashed(self.size).fingerprint

    def load(self, progress: Progress = silent) -> Asked:
        return self

    def encode(self, sentences: Sequence[str], advance: Advance = no_op) -> NDArray[np.float32]:
        ASKED.extend(sentences)
        return Hashed(self.size).encode(sentences, advance)


@pytest.fixture(autouse=True)
def plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(spec.BUILT_IN["encoder"], "asked", f"{__name__}:Asked")
    spec._targets.cache_clear()
    ASKED.clear()
    yield
    monkeypatch.undo()
    spec._targets.cache_clear()


@pytest.fixture
def folder() -> Iterator[Path]:
    with memory_folder() as opened:
        yield opened


def sentence(number: int) -> str:
    return f"The tenant of house number {number} pays the rent."


def document(id: str, *numbers: int) -> Document:
    return Document(id, " ".join(map(sentence, numbers)))


def add(path: Path, *documents: Document, **options: Any) -> list[str]:
    """What the encoder was asked for when documents were added."""
    ASKED.clear()
    with Writer(path, create=True, **{"encoder": "asked", **options}) as writer:
        writer.add(documents)
    return list(ASKED)


def vectors(path: Path) -> dict[str, bytes]:
    with Index(path) as index:
        return {id: index.sentences(id).vectors.tobytes() for id in index}


def test_only_new_sentences_of_a_changed_document_are_encoded(folder: Path) -> None:
    path = folder / "a.rprs"
    add(path, document("a", *range(20)), document("b", *range(20, 40)))
    assert add(path, document("b", *range(20, 30), 99, *range(30, 40))) == [sentence(99)]
    assert add(path, document("b", 99, 20)) == []
    assert verify(path) == []


@pytest.mark.parametrize("vector_type", VECTOR_TYPES)
def test_vectors_are_the_same_as_those_of_a_new_index(folder: Path, vector_type: VectorType) -> None:
    first = [document(f"d{number}", *range(number, number + 7)) for number in range(9)]
    second = [document(f"d{number}", *range(2 * number, 2 * number + 5)) for number in range(4, 14)]
    old, new = folder / "old.rprs", folder / "new.rprs"
    add(old, *first, vectors=vector_type, batch=900)
    asked = add(old, *second, vectors=vector_type, batch=900)
    assert sorted(asked) == [sentence(number) for number in range(15, 31)]
    add(new, *{document.id: document for document in [*first, *second]}.values(), vectors=vector_type)
    assert vectors(old) == vectors(new)


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(0, 6), max_size=8), min_size=1, max_size=8), st.integers(1, 400))
def test_no_sentence_is_encoded_twice(texts: list[list[int]], batch: int) -> None:
    documents = [document(f"d{place % 5}", *numbers) for place, numbers in enumerate(texts)]
    with memory_folder() as folder:
        add(folder / "a.rprs", document("x", 0, 1), batch=batch)
        asked = add(folder / "a.rprs", *documents, batch=batch)
        assert len(set(asked)) == len(asked)
        assert not {sentence(0), sentence(1)} & set(asked)
        latest = {document.id: document for document in [document("x", 0, 1), *documents]}
        add(folder / "b.rprs", *latest.values())
        assert vectors(folder / "a.rprs") == vectors(folder / "b.rprs")


def test_another_index_gives_its_vectors(folder: Path) -> None:
    old, new, plain = folder / "old.rprs", folder / "new.rprs", folder / "plain.rprs"
    add(old, document("a", *range(20)), document("b", *range(20, 40)))
    documents = [document("a", *range(5, 25)), document("c", 99)]
    assert add(new, *documents, phrases=False, vectors_from=old) == [sentence(99)]
    add(plain, *documents, phrases=False)
    assert vectors(new) == vectors(plain)
    with Index(new) as one, Index(plain) as other:
        assert one.fingerprint == other.fingerprint
    ASKED.clear()
    rprs.build(folder / "third.rprs", {"a": sentence(3)}, encoder="asked", vectors_from=old)
    assert ASKED.count(sentence(3)) <= 1  # that of the sample by which the language is measured
    with Writer(folder / "fourth.rprs", create=True, encoder="asked", vectors_from=old) as writer:
        for number in (1, 2):
            ASKED.clear()
            writer.add([document(f"d{number}", number)])
            assert not ASKED


def test_an_index_with_other_vectors_is_refused(folder: Path) -> None:
    old, new = folder / "old.rprs", folder / "new.rprs"
    add(old, document("a", 1))
    for options, problem in (
        ({"encoder": "asked(size=25)"}, "another encoder"),
        ({"vectors": "float32"}, "stores its vectors as float16"),
    ):
        with pytest.raises(IndexMismatch, match=problem):
            add(folder / f"{problem[:4]}.rprs", document("b", 1), vectors_from=old, **options)
    with pytest.raises(UsageError, match="fitted to each collection"):
        add(new, document("b", 1), vectors_from=old, encoder="fitted")
    message = rprs_error("index", folder / "nowhere", "--to", folder / "x.rprs", "--vectors-from", folder / "none.rprs")
    assert "Traceback" not in message


def test_damaged_vectors_are_not_copied(folder: Path) -> None:
    path = folder / "a.rprs"
    add(path, document("a", *range(4)), document("b", *range(4, 8)), encoder="asked(size=600)")
    (file,) = path.glob("segments/*/vectors.*.npy")
    content = bytearray(file.read_bytes())
    content[-1] ^= 64
    file.write_bytes(content)
    assert add(path, document("c", 0, 7), encoder="asked(size=600)", measured=False) == [sentence(7)]
    with Index(path) as index:
        expected = Hashed(600).encode([sentence(0), sentence(7)])
        assert np.allclose(index.sentences("c").vectors, expected, atol=1e-3)
        with pytest.raises(IndexCorrupt):
            index.sentences("b")


def test_two_sentences_with_the_same_first_half_of_a_hash_are_told_apart(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def colliding(sentences: Iterable[str]) -> Hashes:
        hashes = sentence_hashes.sentence_hashes(sentences)
        hashes[:, 0] %= 2
        return hashes

    monkeypatch.setattr(writer, "sentence_hashes", colliding)
    path = folder / "a.rprs"
    add(path, document("a", *range(20)))
    add(path, document("b", *range(30)), batch=1)
    add(folder / "b.rprs", document("a", *range(20)), document("b", *range(30)))
    assert vectors(path) == vectors(folder / "b.rprs")


def test_a_transformer_encodes_a_document_that_was_edited(folder: Path) -> None:
    encoder = f'onnx(model="{make_bert(folder / "tiny")}")'
    (folder / "texts").mkdir()
    text = folder / "texts/a.txt"
    text.write_text("The court dismissed the appeal. The tenant pays the rent. The cat.", encoding="utf-8")
    rprs_ok("index", folder / "texts", "--to", folder / "a.rprs", "--encoder", encoder)
    text.write_text("The court dismissed the appeal. The first month. The cat.", encoding="utf-8")
    rprs_ok("index", folder / "texts", "--to", folder / "a.rprs")
    rprs_ok("index", folder / "texts", "--to", folder / "b.rprs", "--encoder", encoder)
    options = ["--encoder", encoder, "--vectors-from", folder / "a.rprs"]
    rprs_ok("index", folder / "texts", "--to", folder / "c.rprs", *options)
    assert vectors(folder / "a.rprs") == vectors(folder / "b.rprs") == vectors(folder / "c.rprs")

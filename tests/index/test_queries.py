"""The sentences of the last query are kept, and of more where there is room, in bounded memory."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest

from rprs import Document, Index
from rprs.document import Sentences
from rprs.encode.hashed import Hashed
from rprs.index.queries import KnownQueries


def sentences(rows: int) -> Sentences:
    return Sentences(
        np.zeros((rows, 2), dtype=np.int64), np.zeros(rows, dtype=np.int32), np.zeros((rows, 4), dtype=np.float16)
    )


def test_without_room_only_the_last_query_is_kept() -> None:
    known, one, two = KnownQueries(), sentences(1), sentences(2)
    known.add("one", one)
    assert known.find("one") is one
    known.add("two", two)
    assert known.find("one") is None
    assert known.find("two") is two


def test_the_query_that_was_not_asked_for_longest_is_forgotten() -> None:
    known = KnownQueries(room=3 * (4 + 24))  # three queries of one letter and one sentence
    for text in "abc":
        known.add(text, sentences(1))
    assert known.find("a") is not None
    known.add("d", sentences(1))
    assert [text for text in "abcd" if known.find(text) is not None] == ["a", "c", "d"]
    known.add("e", sentences(1000))
    assert [text for text in "abcde" if known.find(text) is not None] == ["e"]


def test_threads_share_it() -> None:
    known = KnownQueries(room=1000)

    def work(thread: int) -> None:
        for number in range(300):
            text = f"{thread} {number % 40}"
            if known.find(text) is None:
                known.add(text, sentences(1 + number % 7))

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert known._bytes == sum(4 * len(text) + 24 * len(own) for text, own in known._sentences.items()) <= 1000


@pytest.mark.parametrize(("room", "encodings"), [(0, 4), (10**6, 2)])
def test_queries_that_come_again_are_not_encoded_again(
    monkeypatch: pytest.MonkeyPatch, room: int, encodings: int
) -> None:
    index = Index.in_memory(["The tenant paid. The rent was low.", "The court heard."], encoder="hashed(dimension=8)")
    index.known_queries.room = room
    encoded: list[str] = []
    original = Hashed.encode

    def encode(self: Hashed, texts: list[str], *rest: object) -> object:
        encoded.extend(texts)
        return original(self, texts, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Hashed, "encode", encode)
    queries = [Document("", "Who paid the rent?"), Document("", "Who heard it?")]
    found = [index.query_sentences(query).vectors.tolist() for query in queries * 2]
    assert found[:2] == found[2:]
    assert len(encoded) == encodings

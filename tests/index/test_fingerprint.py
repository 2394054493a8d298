"""The fingerprint of an index: the same bytes are hashed as ever, in less time."""

from __future__ import annotations

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from rprs.index import reader
from rprs.index.reader import fingerprint_of

ANY_TEXT = st.text(st.characters(codec=None), max_size=20)


@given(st.lists(st.one_of(st.none(), ANY_TEXT), max_size=4), st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=12))
def test_rows_are_hashed_one_by_one_as_json(settings: list[str | None], rows: list[tuple[str, str]]) -> None:
    digest = hashlib.sha256(json.dumps(settings).encode())
    for row in rows:
        digest.update(json.dumps(row).encode())
    assert fingerprint_of(settings, iter(rows)) == digest.hexdigest()[:16]


def test_blocks_of_rows_change_nothing() -> None:
    rows = [(f"document {number}", f"{number:x}") for number in range(2 * reader.BLOCK + 1)]
    digest = hashlib.sha256(b"[]")
    for row in rows:
        digest.update(json.dumps(row).encode())
    assert fingerprint_of([], rows) == digest.hexdigest()[:16]

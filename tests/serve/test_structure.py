"""The number of values of a JSON text, counted without parsing it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.serve import structure
from rprs.serve.structure import has_too_many_values
from tests.support.cli import sample_index
from tests.support.server import Server

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('",[{\\:ab \u00e9'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('",[{\\'), inner),
)


def beginnings(value: Any) -> int:
    """The commas and opening brackets of a JSON text, by the value."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(0, len(value) - 1) + sum(map(beginnings, inner))
    return 0


@settings(max_examples=50)
@given(value=VALUES, piece=st.integers(1, 9), escaped=st.booleans())
def test_it_counts_what_is_outside_of_texts(value: Any, piece: int, escaped: bool) -> None:
    data = json.dumps(value, ensure_ascii=escaped).encode()
    count = beginnings(value)
    with patch.object(structure, "PIECE", piece):
        assert not has_too_many_values(data, count)
        assert count == 0 or has_too_many_values(data, count - 1)


def test_texts_do_not_count_and_lists_do() -> None:
    assert not has_too_many_values(json.dumps({"text": ',[{"\\"' * 400_000}).encode())
    assert has_too_many_values(b"[" + b"[]," * 300_000 + b"[]]")


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("structure"))


def test_a_server_refuses_too_many_values_at_once(server: Server) -> None:
    body = b'{"text": "a", "documents": [' + b"[]," * 2_000_000 + b"[]]}"
    with server.client() as client:
        response = client.post("/search", content=body, headers={"content-type": "application/json"})
        assert response.status_code == 413
        assert response.json()["error"] == "The JSON has more than 200,000 values: send it in several requests"
        assert client.get("/health").json() == {"status": "ok"}

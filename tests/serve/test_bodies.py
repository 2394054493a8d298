"""Large JSON is parsed in other processes, with the same results and errors as here."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from rprs.errors import Busy, TooLarge
from rprs.serve import bodies
from rprs.serve.bodies import LARGE, InvalidBody, close_parsers, parse, parse_body
from rprs.serve.models import SearchRequest


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_parsers()


def body(**parts: object) -> bytes:
    return json.dumps({"text": "é word\n" * (LARGE // 7), "k": 5, **parts}).encode()


def started(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The commands of processes that are started from now on."""
    commands: list[object] = []
    popen = subprocess.Popen

    def counting(command: object, **options: object) -> object:
        commands.append(command)
        return popen(command, **options)  # type: ignore[call-overload]  # passed on as they come

    monkeypatch.setattr(subprocess, "Popen", counting)
    return commands


def test_a_large_body_gives_the_same_request(monkeypatch: pytest.MonkeyPatch) -> None:
    close_parsers()
    commands, data = started(monkeypatch), body(exclude=["a", "b"])
    assert parse_body(SearchRequest, [data[:1000], data[1000:]]) == parse(SearchRequest, data)
    assert parse_body(SearchRequest, [data]) == parse(SearchRequest, data)
    assert len(commands) == 1  # and it is used again


def test_a_small_body_needs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    close_parsers()
    commands = started(monkeypatch)
    assert parse_body(SearchRequest, [b'{"text": ', b'"a"}']).text == "a"
    assert commands == []


@pytest.mark.parametrize("data", [body(k=0), body(unknown=1), body()[:-1], body() + b"\xff"])
def test_the_problem_of_a_large_body_is_the_same_line(data: bytes) -> None:
    with pytest.raises(InvalidBody) as here:
        parse(SearchRequest, data)
    with pytest.raises(InvalidBody) as there:
        parse_body(SearchRequest, [data])
    assert str(there.value) == str(here.value)
    assert "\n" not in str(here.value)


def test_too_many_values_are_refused_there_too() -> None:
    with pytest.raises(TooLarge, match="more than 200,000 values"):
        parse_body(SearchRequest, [b'{"documents": [' + b"[]," * LARGE + b"[]]}"])


def test_a_parser_that_dies_is_replaced() -> None:
    parse_body(SearchRequest, [body()])
    bodies._processes()._idle[-1]._process.kill()
    with pytest.raises(Busy, match="try again"):
        parse_body(SearchRequest, [body()])
    assert parse_body(SearchRequest, [body()]).k == 5

"""JSON bodies → models. Large ones are parsed in other processes, which hold Python's lock of their own.

A parser in C or Rust holds the lock until it is done: a third of a second for a text of 30 MB with many escapes, in
which the server could not even say that it is alive.

`python -P -m rprs.serve.bodies` is such a process. It reads a line with the module and name of a model and the size of
a body, then the body, and writes the model, or why there is none. It ends with its input, that is, with the server.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from threading import Lock
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from rprs.errors import Busy, RprsError, TooLarge
from rprs.forks import PerProcess
from rprs.processes import environment
from rprs.serve.structure import MOST_VALUES, has_too_many_values

__all__ = ["LARGE", "InvalidBody", "close_parsers", "first_problem", "parse", "parse_body"]

LARGE = 2**20  # bytes; a smaller body takes milliseconds

Model = TypeVar("Model", bound=BaseModel)


class InvalidBody(Exception):
    """A body that is not a valid request, and its first problem in one line."""


def parse_body(model: type[Model], chunks: Sequence[bytes]) -> Model:
    """The request in a body that arrived in these chunks; call it in a thread."""
    if sum(map(len, chunks)) < LARGE:
        return parse(model, b"".join(chunks))
    return _processes().parse(model, chunks)


def parse(model: type[Model], data: bytes) -> Model:
    """The request in a body, parsed here."""
    if has_too_many_values(data):
        raise TooLarge(f"The JSON has more than {MOST_VALUES:,} values: send it in several requests")
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise InvalidBody(first_problem(error.errors(include_input=False, include_context=False))) from error


def first_problem(errors: Any) -> str:
    """The first validation error of a request, in one line that does not quote it."""
    first = errors[0]
    loc, line = list(first["loc"]), str(first["msg"])
    if loc[-1:] == ["str"] and first["type"] == "string_type":  # reported for every value of metadata with a wrong type
        loc, line = loc[:-1], "Input should be a string, a finite number, true, false or null"
    place = ".".join(str(part) for part in loc if part not in ("body", "query", "path"))
    return f"{place}: {line}" if place else line


# ---------------------------------------------------------------------------- processes


class _Process:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        self._requests, self._answers = cast("Any", self._process.stdin), cast("Any", self._process.stdout)

    def ask(self, model: type[Model], chunks: Sequence[bytes]) -> Model | Exception:
        """The model, or why there is none."""
        self._requests.write(f"{model.__module__} {model.__name__} {sum(map(len, chunks))}\n".encode())
        for chunk in chunks:
            self._requests.write(chunk)
        self._requests.flush()
        size = int(self._answers.readline())
        return cast("Model | Exception", pickle.loads(self._answers.read(size)))

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        with suppress(OSError):
            self._requests.close()
        self._answers.close()
        self._process.wait()


class _Processes:
    """Processes that have been started and are idle: as many as bodies were parsed at the same time."""

    def __init__(self) -> None:
        self._idle: list[_Process] = []
        self._lock = Lock()

    def parse(self, model: type[Model], chunks: Sequence[bytes]) -> Model:
        with self._lock:
            process = self._idle.pop() if self._idle else None
        process = process or _Process()
        try:
            answer = process.ask(model, chunks)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:  # killed, for example for memory
            process.end()
            raise Busy("The request could not be parsed: try again in a few seconds") from error
        with self._lock:
            self._idle.append(process)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()


_processes = PerProcess(_Processes)


def close_parsers() -> None:
    """End the idle processes."""
    _processes().close()


def _serve() -> None:
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    for line in iter(requests.readline, b""):
        module, name, size = line.decode().split()
        answer: BaseModel | Exception
        try:
            answer = parse(getattr(import_module(module), name), requests.read(int(size)))
        except (RprsError, InvalidBody) as error:
            answer = type(error)(str(error))
        data = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        answers.write(b"%d\n" % len(data))
        answers.write(data)
        answers.flush()


if __name__ == "__main__":
    from rprs.serve import bodies  # as it is known to the server, not as __main__

    bodies._serve()

"""System calls that fail: jobs on an index, in processes in which a chosen call is not carried out.

faults.c is preloaded into `python -m tests.support.faults`, a server that forks a child for each job, so that one
failure costs milliseconds; `FaultyProcess` is its client. Files below the folder of the index are affected, whoever
opens them: Python, NumPy or SQLite.
"""

from __future__ import annotations

import ctypes
import errno
import faulthandler
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import typer.main

from rprs.errors import RprsError
from rprs.index import Writer
from rprs.index.catalog import Catalog
from tests.support.cli import rprs
from tests.support.crash import CHANGED, COLLECTION, HASHED, REMOVED, memory_folder, plug_in
from tests.support.paths import ROOT

LIBRARY = "RPRS_TEST_FAULTS"
PATIENCE = 240  # seconds for a job
SPACE, CHANGE, READ, LOCK, MEMORY, SHORT, STATUS = 1, 2, 4, 8, 16, 32, 64  # groups of calls, as in faults.c
LEAST_ALLOCATION = 2**12  # bytes: smaller ones come from pools that Python has already


@dataclass(frozen=True)
class Fault:
    """Which calls count, how they fail, and whether all later ones fail too."""

    groups: int
    error: int = 0
    forever: bool = False


FAULTS = {
    "an error of the disk": Fault(CHANGE, errno.EIO),
    "a disk that fails from then on": Fault(CHANGE, errno.EIO, forever=True),
    "an error while reading": Fault(READ | LOCK | STATUS, errno.EIO),
    "a full disk": Fault(SPACE, errno.ENOSPC, forever=True),
    "a quota": Fault(SPACE, errno.EDQUOT),
    "a short write": Fault(SHORT),
    "too little memory": Fault(MEMORY, errno.ENOMEM),
    "too little memory from then on": Fault(MEMORY, errno.ENOMEM, forever=True),
}


def compile_library(folder: Path) -> Path | None:
    """The library, compiled; None where there is no compiler or another C library than glibc."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    library = folder / "faults.so"
    source = Path(__file__).with_suffix(".c")
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"]
    done = subprocess.run(command, capture_output=True, check=False)
    return library if done.returncode == 0 else None


# ---------------------------------------------------------------------------- jobs


class CommandFailed(Exception):
    """A command line printed this and returned an error."""


def _command(*words: str) -> Callable[[Path], None]:
    """A command line on the index."""

    def job(path: Path) -> None:
        outcome = rprs("--quiet", words[0], path, *words[1:])
        if outcome.code:
            raise CommandFailed(outcome.err)

    return job


def _index(encoder: str, *, phrases: bool = True) -> Callable[[Path], None]:
    def job(path: Path) -> None:
        with Writer(path, create=True, encoder=encoder, phrases=phrases) as writer:
            writer.add(COLLECTION)

    return job


def _add(path: Path) -> None:
    with Writer(path) as writer:
        writer.add(CHANGED)


def _remove(path: Path) -> None:
    with Writer(path) as writer:  # the command refuses ids that are gone already
        writer.remove(REMOVED)


def _backup(path: Path) -> None:
    outcome = rprs("--quiet", "backup", path.with_name("source.rprs"), path)
    if outcome.code:
        raise CommandFailed(outcome.err)


def _upgrade(path: Path) -> None:
    from rprs.index import upgrade

    upgrade.PART = 900  # characters: two parts
    _command("upgrade")(path)


FAULTY_JOBS: dict[str, Callable[[Path], None]] = {
    "index": _index(HASHED),
    "index-learned": _index("learned"),
    "index-plain": _index(HASHED, phrases=False),
    "add": _add,
    "remove": _remove,
    "compact": _command("compact"),
    "upgrade": _upgrade,
    "backup": _backup,
    "backup again": _backup,
}


# ---------------------------------------------------------------------------- the client


@dataclass(frozen=True)
class FaultyOutcome:
    """How a job ended: its error with its class, the number of calls and of failures, and the first of these."""

    error: str
    kind: str
    calls: int
    failures: int
    call: str


class FaultyProcess:
    """Runs jobs in processes of their own, with faults."""

    def __init__(self, library: Path) -> None:
        environment = {**os.environ, "LD_PRELOAD": str(library), LIBRARY: str(library), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.support.faults"]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
        )

    def __enter__(self) -> FaultyProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()

    def run(self, job: str, path: Path, fault: str = "", number: int = 0) -> FaultyOutcome:
        """Run a job, with a fault at the call of that number; without one if the number is 0."""
        return FaultyOutcome(*self._ask("run", job, path, fault, number))

    def states(self, job: str, path: Path, to: Path) -> None:
        """Run a job without faults, and copy the index after each of its commits to a folder."""
        error, *_ = self._ask("states", job, path, str(to), 0)
        assert not error, error

    def _ask(self, verb: str, job: str, path: Path, text: str, number: int) -> list[Any]:
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps([verb, job, str(path), text, number]) + "\n")
        self._server.stdin.flush()
        answer: list[Any] = json.loads(self._server.stdout.readline())
        return answer


# ---------------------------------------------------------------------------- the server


def _serve() -> None:
    plug_in()
    typer.main.get_command = cache(typer.main.get_command)  # building all commands takes longer than any job
    library = ctypes.CDLL(os.environ[LIBRARY])
    library.arm.argtypes = (
        ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_size_t,
    )  # fmt: skip
    library.first_failed.restype = ctypes.c_char_p
    library.counted.restype = library.failed.restype = ctypes.c_long
    _warm_up()
    for line in sys.stdin:
        verb, job, path, text, number = json.loads(line)
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(receive)
            if verb == "run":
                _work(library, job, Path(path), text, number, send)
            else:
                _copy_states(job, Path(path), Path(text), send)
        os.close(send)
        with os.fdopen(receive) as stream:
            answer = stream.read()
        _, status = os.waitpid(child, 0)
        if not answer:
            answer = json.dumps([f"ended by the signal {os.WTERMSIG(status)}", "Signal", 0, 1, ""])
        print(answer, flush=True)


def _warm_up() -> None:
    """Import everything and compile all kernels once, here."""
    with memory_folder() as folder:
        path = folder / "warm.rprs"
        for job in ("index-learned", "remove", "add", "compact"):
            FAULTY_JOBS[job](path)
        shutil.copytree(path, folder / "source.rprs")
        FAULTY_JOBS["backup"](folder / "copy.rprs")
        FAULTY_JOBS["index-plain"](folder / "plain.rprs")
        FAULTY_JOBS["upgrade"](folder / "plain.rprs")
        rprs("verify", folder / "missing.rprs")  # how an error is reported


def _work(library: ctypes.CDLL, job: str, path: Path, name: str, number: int, send: int) -> None:
    faulthandler.enable()
    signal.alarm(PATIENCE)
    fault = FAULTS[name] if number else Fault(0)
    error = kind = ""
    folder = os.fsencode(path.parent)  # the name of a new index is written there
    library.arm(folder, fault.groups, number, fault.forever, fault.error, LEAST_ALLOCATION)
    try:
        FAULTY_JOBS[job](path)
    except BaseException as problem:  # reported to the test
        library.disarm()
        kind = "RprsError" if isinstance(problem, RprsError) else type(problem).__name__
        error = str(problem) or kind
    library.disarm()
    call = library.first_failed().decode()
    os.write(send, json.dumps([error, kind, library.counted(), library.failed(), call]).encode())
    os._exit(0)


def _copy_states(job: str, path: Path, to: Path, send: int) -> None:
    with _copied_commits(path, to):
        FAULTY_JOBS[job](path)
    os.write(send, json.dumps(["", "", 0, 0, ""]).encode())
    os._exit(0)


@contextmanager
def _copied_commits(path: Path, to: Path) -> Iterator[None]:
    """Copy the index after each commit."""
    transaction, count = Catalog.transaction, 0

    @contextmanager
    def copying(catalog: Catalog) -> Iterator[object]:
        nonlocal count
        with transaction(catalog) as connection:
            yield connection
        count += 1
        shutil.copytree(path, to / f"{count:03d}.rprs")

    Catalog.transaction = copying  # type: ignore[assignment, method-assign]
    yield


if __name__ == "__main__":
    _serve()

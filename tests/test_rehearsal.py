"""A process compiles the functions of searches while an index is made; it never disturbs the index, nor outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rprs import Document, Writer, __version__, align, rehearsal
from rprs.alignment.align import _combine
from rprs.processes import environment
from rprs.rehearsal import FROM_END, rehearsing, show_matches
from rprs.scoring.threads import cores

INDEX = """
import signal, time
from rprs import rehearsal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background ignores
rehearsal.DELAY = 0.0
with rehearsal.rehearsing():
    time.sleep(600)
"""
needs_proc = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are found in /proc")
needs_cores = pytest.mark.skipif(cores() < 2, reason="on a single core nothing is rehearsed")


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that says that all is done, which is not there; processes start at once."""
    monkeypatch.setattr(rehearsal, "mark", lambda name: tmp_path / name)
    monkeypatch.setattr(rehearsal, "cores", lambda: 2)
    monkeypatch.setattr(rehearsal, "DELAY", 0.0)
    return tmp_path / f"searches-{__version__}"


def wait_until(reached: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@needs_proc
@needs_cores
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_program_that_ends_leaves_neither_process_nor_files(tmp_path: Path, by: signal.Signals) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(temporary)}
    program = subprocess.Popen([sys.executable, "-c", INDEX], env=environment(**places), stderr=subprocess.DEVNULL)
    wait_until(lambda: children(program.pid) and any((tmp_path / "cache" / "rprs").iterdir()))
    (child,) = children(program.pid)
    assert os.getpriority(os.PRIO_PROCESS, child) == 19
    program.send_signal(by)
    program.wait(timeout=60)
    wait_until(lambda: not runs(child))
    assert not any(temporary.iterdir())


@pytest.mark.parametrize("program", ["/nonexistent", "/bin/false"], ids=["cannot start", "fails"])
def test_a_rehearsal_that_fails_goes_unnoticed(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], program: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with rehearsing():
        time.sleep(0.2)
    assert capfd.readouterr() == ("", "")
    assert not fresh.exists()


def test_errors_within_the_block_are_those_of_the_block(fresh: Path) -> None:
    with pytest.raises(ZeroDivisionError), rehearsing():
        1 / 0  # noqa: B018


def test_nothing_is_rehearsed_twice_or_on_a_single_core_or_for_a_moment(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(rehearsal, "_start", lambda *what: started.append(what))
    with monkeypatch.context() as context:
        context.setattr(rehearsal, "cores", lambda: 1)
        with rehearsing():
            time.sleep(0.05)
    with monkeypatch.context() as context:
        context.setattr(rehearsal, "DELAY", 60.0)
        with rehearsing():
            time.sleep(0.05)
    fresh.touch()
    with rehearsing():
        time.sleep(0.05)
    assert not started
    fresh.unlink()
    with rehearsing():
        time.sleep(0.2)
    assert started


def test_the_end_of_the_evidence_is_rehearsed_with_the_types_of_a_search() -> None:
    align("The cat sat on the mat. It was cold.", "The cat sat on a mat. It was cold. Nobody came.", encoder="hashed")
    before = len(_combine.signatures)
    show_matches()
    assert len(_combine.signatures) == before


SEARCH = """
import sys
from rprs import Index, Searcher
with Index(sys.argv[1]) as index:
    searcher = Searcher(index)
    searcher.search(sys.argv[2])
    searcher.explain(sys.argv[2], "cat")
"""


@pytest.mark.slow
@pytest.mark.parametrize("order", [[], [FROM_END]], ids=["from the beginning", "from the end"])
def test_a_rehearsal_compiles_nearly_all_that_a_search_needs(tmp_path: Path, order: list[str]) -> None:
    text = "The cat sat on the mat beside the door of the house. It was a cold day, and the fire was out. Nobody came."
    with Writer(tmp_path / "cats.rprs", create=True, encoder="hashed") as writer:
        writer.add([Document("cat", text), Document("dog", text.replace("cat", "dog").replace("cold", "very warm"))])
    cache, folder = tmp_path / "cache", tmp_path / "folder"
    folder.mkdir()
    variables = environment(NUMBA_CACHE_DIR=str(cache))
    command = [sys.executable, "-m", "rprs.rehearsal", str(folder), *order]
    with subprocess.Popen(command, env=variables, stdin=subprocess.PIPE) as process:
        assert process.wait(timeout=300) == 0
    rehearsed = {path.name for path in (cache / "rprs").iterdir()}
    assert any(name.startswith("searches-") for name in rehearsed)
    assert len(rehearsed) > 100

    query = text.replace("mat", "rug")
    subprocess.run([sys.executable, "-c", SEARCH, tmp_path / "cats.rprs", query], env=variables, check=True)
    more = {path.name for path in (cache / "rprs").iterdir()} - rehearsed
    assert len(more) < 5, more

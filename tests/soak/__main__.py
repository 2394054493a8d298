"""Writers, readers, compaction, backups and a server on one index, killed at random: `python -m tests.soak`.

At the end, the index holds every change that a writer was told is committed, and its rankings equal those of an index
that is built anew from the same documents, to the last bit.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random

from rprs.index import Index, Writer, verify
from rprs.index.backup import backup
from tests.soak.history import History, check, check_groups
from tests.soak.workers import ROLES, Soak, work
from tests.support.crash import COLLECTION, HASHED, QUERIES, memory_folder, rankings

SERVER_LIFE = 45  # seconds between two kills of the server, on average


class Processes:
    """The workers, forked from this process, and the server; whichever ends is started again."""

    def __init__(self, soak: Soak, log: Path, seed: int) -> None:
        self.soak, self.log, self.random = soak, log, Random(seed)
        self.kills: Counter[str] = Counter()
        self.problems: list[str] = []
        self._workers: dict[str, int] = {}
        self._server: subprocess.Popen[bytes] | None = None

    def start_missing(self) -> None:
        """Start what does not run; note what ended by itself."""
        for role in ROLES:
            if role in self._workers and os.waitpid(self._workers[role], os.WNOHANG)[0]:
                self.problems.append(f"{role} ended: {self._last_words(role)}")
                del self._workers[role]
            if role not in self._workers:
                self._workers[role] = self._fork(role)
        if self._server is not None and self._server.poll() is not None:
            self.problems.append(f"the server ended: {self._last_words('server')}")
        if self._server is None or self._server.poll() is not None:
            port = self.soak.url.rpartition(":")[2]
            command = [sys.executable, "-m", "rprs", "serve", str(self.soak.index), "--port", port, "--no-open"]
            with (self.log / "server").open("ab") as stream:
                self._server = subprocess.Popen([*command, "--allow-write"], stdout=stream, stderr=stream)

    def kill(self, role: str) -> None:
        """Kill a process, so that it cannot clean up."""
        if role == "server":
            if self._server is not None:
                self._server.kill()
                self._server.wait()
                self._server = None
        elif role in self._workers:
            os.kill(self._workers[role], signal.SIGKILL)
            os.waitpid(self._workers.pop(role), 0)

    def kill_all(self) -> None:
        """Kill everything at the end."""
        for role in ("server", *self._workers.copy()):
            self.kill(role)

    def _fork(self, role: str) -> int:
        seed = self.random.getrandbits(32)
        child = os.fork()
        if child == 0:
            try:
                work(self.soak, role, seed)
            except BaseException:
                (self.log / role).write_text(traceback.format_exc())
            os._exit(1)
        return child

    def _last_words(self, role: str) -> str:
        file = self.log / role
        lines = file.read_text(errors="replace").strip().splitlines() if file.exists() else []
        return lines[-1] if lines else "it said nothing"


def run(minutes: float, seed: int, rest: float) -> list[str]:
    """What went wrong in so many minutes, one line each; figures are printed."""
    with memory_folder() as folder, tempfile.TemporaryDirectory() as log:
        (folder / "history").mkdir()
        soak = Soak(folder / "a.rprs", folder / "copy.rprs", History(folder / "history"), _free_address(), rest)
        with Writer(soak.index, create=True, encoder=HASHED) as writer:
            writer.add([])
        processes = Processes(soak, Path(log), seed)
        _warm_up(folder)
        try:
            checks = _disturb(processes, minutes)
        finally:
            processes.kill_all()
        problems = processes.problems + _final_problems(soak, folder)
        counts = {
            "changes committed": soak.history.committed(),
            **soak.history.counts(),
            "checks by the driver": checks,
        }
        print(
            f"{minutes:g} minutes, seed {seed}:", *(f"{count:,} {name}" for name, count in counts.items()), sep="\n  "
        )
        print("  kills:", ", ".join(f"{count} of {role}" for role, count in sorted(processes.kills.items())))
        return problems


def _warm_up(folder: Path) -> None:
    """Import everything and compile all kernels before the forks."""
    with Writer(folder / "warm.rprs", create=True, encoder=HASHED) as writer:
        writer.add(COLLECTION[:3])
        writer.add(COLLECTION[3:])
        writer.compact()
    backup(folder / "warm.rprs", folder / "warm-copy.rprs")
    rankings(folder / "warm.rprs")


def _disturb(processes: Processes, minutes: float) -> int:
    """Kill processes at random, and check the index from time to time; how many checks there were."""
    random, end, checks = processes.random, time.monotonic() + 60 * minutes, 0
    roles = [role for role in ROLES if role != "client"]  # what a server does for a dead client ends at no known time
    processes.start_missing()
    while time.monotonic() < end:
        time.sleep(min(random.uniform(0.5, 4), max(0.0, end - time.monotonic())))
        server = random.random() < 2.25 / SERVER_LIFE
        role = "server" if server else random.choice(roles)
        processes.kill(role)
        processes.kills[role] += 1
        if random.random() < 0.1:
            processes.problems += [*verify(processes.soak.index), *check(processes.soak.index, processes.soak.history)]
            checks += 1
        processes.start_missing()
    return checks


def _final_problems(soak: Soak, folder: Path) -> list[str]:
    """Whether the index is sound, shows all changes, and ranks like one that is built anew; likewise the copy."""
    problems = [*verify(soak.index), *check(soak.index, soak.history)]
    if soak.copy.exists():
        problems += [*verify(soak.copy), *check_groups(soak.copy)]
    with Writer(soak.index) as writer:
        writer.compact()
    backup(soak.index, soak.copy)
    with Index(soak.index) as index, Writer(folder / "fresh.rprs", create=True, encoder=HASHED) as writer:
        documents = [index.document(id) for id in index.ids]
        writer.add(documents)
    fresh = rankings(folder / "fresh.rprs")
    for path in (soak.index, soak.copy):
        if verify(path) or rankings(path) != fresh:
            problems.append(f"{path.name} does not rank like an index that is built anew")
    print(f"{len(documents)} documents, {len(QUERIES)} queries: rankings compared with those of an index built anew")
    return problems


def _free_address() -> str:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


def main() -> None:
    """Run a soak; the exit code is 1 if anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rest", type=float, default=0.5, help="seconds after each piece of work, on average")
    options = parser.parse_args()
    problems = run(options.minutes, options.seed, options.rest)
    print(*problems or ["Nothing went wrong"], sep="\n")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()

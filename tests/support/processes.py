"""The processes that a test has started, however they came about: the folder of the test is in their environment."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

__all__ = ["processes_of", "wait_until_gone"]


def processes_of(folder: Path) -> dict[int, str]:
    """The command lines of the running processes, but for this one, that were started with a folder in a variable."""
    found, named = {}, f"{folder}".encode()
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            with suppress(OSError):
                if named in (place / "environ").read_bytes():  # empty once it has ended
                    found[int(place.name)] = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    return found


def wait_until_gone(folder: Path, but: Collection[int] = (), seconds: float = 20.0) -> None:
    """Wait until only some processes of a folder run."""
    deadline = monotonic() + seconds
    while left := {pid: words for pid, words in processes_of(folder).items() if pid not in but}:
        assert monotonic() < deadline, f"processes are left behind: {left}"
        sleep(0.1)

"""A process that does a part of the work of an index: `python -m rprs.index.worker`, started by `rprs.index.workers`.

It reads pickled values from its standard input: a function, then one argument after the other, and writes the results.
It ends with its input, so also when the program that started it ends.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from contextlib import suppress

from rprs.scoring.threads import limit_cores

__all__ = ["main"]


def main() -> None:
    """Do tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that started it decides
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library may print something
    tasks = sys.stdin.buffer
    with suppress(EOFError), limit_cores(1):
        function = pickle.load(tasks)  # of the program that started it
        while True:
            pickle.dump(function(pickle.load(tasks)), results, pickle.HIGHEST_PROTOCOL)
            results.flush()


if __name__ == "__main__":
    main()

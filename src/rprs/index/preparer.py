"""A process that splits and analyses documents: `python -m rprs.index.preparer`, started by `rprs.index.preparing`.

It reads pickled values from its standard input: the settings, then one list of texts after the other, and writes the
list of their entries. It ends with its input, so also when the program that started it ends.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys

from rprs import spec
from rprs.index.batches import prepare

__all__ = ["main"]


def main() -> None:
    """Answer until there are no more texts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that started it decides
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library may print something
    tasks = sys.stdin.buffer
    splitter_text, analyzer_text, phrases = pickle.load(tasks)  # of the program that started it
    splitter, analyzer = spec.parse("splitter", splitter_text), spec.parse("analyzer", analyzer_text)
    while True:
        try:
            texts = pickle.load(tasks)
        except EOFError:
            return
        pickle.dump([prepare(text, splitter, analyzer, phrases=phrases) for text in texts], answers, 5)
        answers.flush()


if __name__ == "__main__":
    main()

"""Look at a folder again and again, and synchronise once its files have stopped changing.

Looking is polling: notices of the operating system do not come from network drives, get lost when many files change at
once, and name files that an editor has already renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic

__all__ = ["EVERY", "changes_of"]

EVERY = 2.0  # seconds between two looks, at least
EFFORT = 10  # a look that takes long is followed by a break this many times as long
RESTLESS = 30.0  # seconds after which a folder that never comes to rest is synchronised all the same


def changes_of(look: Callable[[], str], wait: Callable[[float], bool], every: float = EVERY) -> Iterator[str]:
    """Yields at first, and then whenever `look` has returned something else and the same twice in a row.

    Files are often saved in several steps, and copied in many: what is yielded has rested for a while. `wait` sleeps
    for some seconds, and returns True to stop.
    """
    done, previous, since = None, None, monotonic()
    while True:
        started = monotonic()
        state = look()
        took = monotonic() - started
        if state == done:
            since = monotonic()
        elif done is None or state == previous or monotonic() - since > RESTLESS:
            done, since = state, monotonic()
            yield state
        previous = state
        if wait(max(every, EFFORT * took)):
            return

"""Work in a forked process, which is killed if it does not answer."""

from __future__ import annotations

import os
import pickle
import select
import signal
from collections.abc import Callable
from typing import Any

import pytest

PATIENCE = 60  # seconds for a child that would otherwise wait forever


def in_child(work: Callable[[], Any]) -> Any:
    """The result of a function in a forked process, or its error as a text."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result = work()
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(send, pickle.dumps(result))
        os._exit(0)
    os.close(send)
    try:
        if not select.select([receive], [], [], PATIENCE)[0]:
            os.kill(child, signal.SIGKILL)
            pytest.fail("the child does not answer")
        return pickle.loads(b"".join(iter(lambda: os.read(receive, 2**16), b"")))
    finally:
        os.close(receive)
        os.waitpid(child, 0)

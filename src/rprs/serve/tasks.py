"""The work of the routes that search, by the path of each: what a worker process can do in place of the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rprs.serve.collections import Collections
from rprs.serve.coverage import CoverageHandlers
from rprs.serve.handlers import Handlers
from rprs.serve.jobs import Job
from rprs.serve.limits import Limits
from rprs.serve.passages import PassageHandlers
from rprs.serve.requests import Submission

__all__ = ["Task", "Tasks", "make_tasks"]

Task = Callable[[Job, Submission[Any]], Any]  # returns bytes or a `File`
Tasks = Mapping[str, Task]


def make_tasks(service: Collections, limits: Limits) -> Tasks:
    """The tasks in this process; all of them only read the index."""
    handlers, passages = Handlers(service, limits), PassageHandlers(service)
    coverage = CoverageHandlers(handlers)
    return {
        "search": handlers.search,
        "explain": handlers.explain,
        "sentences": handlers.sentences,
        "align": handlers.align,
        "export": handlers.export,
        "report": handlers.report,
        "coverage": coverage.coverage,
        "coverage/export": coverage.export,
        "passages": passages.passages,
        "passages/export": passages.export,
    }

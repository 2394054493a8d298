"""Progress of long computations: a callable that opens a task and yields a function to advance it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rprs.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

__all__ = [
    "Advance",
    "Progress",
    "ProgressBars",
    "as_progress",
    "counted",
    "divided",
    "no_op",
    "reading_progress",
    "scan_progress",
    "show_reading",
    "show_scans",
    "silent",
    "stopper",
]

Advance = Callable[[int], None]
Part = TypeVar("Part")

PATIENCE = 2.0  # seconds before a task gets a bar


def no_op(_amount: int) -> None:
    """No-op progress callback."""


def divided(advance: Advance, passes: int) -> Advance:
    """A callback for each of several passes over the same rows, so that together they advance by one pass."""
    done, lock = 0, Lock()

    def advance_part(rows: int) -> None:
        nonlocal done
        with lock:  # a pass may call it from several threads
            before, done = done, done + rows
            advance(done // passes - before // passes)

    return advance_part


def _never_stop() -> None:
    """The default of `stopper`: the computation runs to its end."""


# Raises an error once the computation of this context has been cancelled. Progress callbacks call it already; it is for
# long computations without one. A new thread does not inherit it: get it before starting the thread.
stopper: ContextVar[Callable[[], None]] = ContextVar("stopper", default=_never_stop)


class Progress(Protocol):
    """`with progress("encoding", total=1000, unit="sentences") as advance: advance(32)`"""

    def __call__(self, what: str, total: int | None = None, unit: str = "") -> AbstractContextManager[Advance]:
        """Open a task of `total` steps, or of an unknown number."""
        ...


@contextmanager
def silent(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
    """Progress that is not shown: the default of the library."""
    yield no_op


# Where a first stage that reads all sentences of an index shows its progress. A new thread does not inherit it.
scan_progress: ContextVar[Progress] = ContextVar("scan_progress", default=silent)


@contextmanager
def show_scans(progress: Progress) -> Iterator[None]:
    """Show the progress of first stages that read all sentences of an index."""
    token = scan_progress.set(progress)
    try:
        yield
    finally:
        scan_progress.reset(token)


# Where the reader of a large file shows how far it is. A new thread does not inherit it.
reading_progress: ContextVar[Progress] = ContextVar("reading_progress", default=silent)


@contextmanager
def show_reading(progress: Progress) -> Iterator[None]:
    """Show the progress inside of large files."""
    token = reading_progress.set(progress)
    try:
        yield
    finally:
        reading_progress.reset(token)


def counted(parts: Iterable[Part], path: str, unit: str) -> Iterator[Part]:
    """The parts of a file, such as the messages of a mailbox, with progress."""
    total = len(parts) if isinstance(parts, Sized) else None
    with reading_progress.get()(f"reading {path}", total, unit) as advance:
        for part in parts:
            yield part
            advance(1)


def as_progress(progress: Progress | bool | None) -> Progress:
    """`True` is a progress bar in the terminal or notebook, `False` and `None` are silence."""
    if progress is True:
        from rich.console import Console

        return ProgressBars(Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True))
    if progress is None or progress is False:
        return silent
    if not callable(progress):
        raise UsageError(f"progress must be True, False or a callable such as rprs.Progress. Got {progress!r} instead.")
    return progress


class ProgressBars:
    """Bars in a terminal or notebook: a task gets one if it is still running after two seconds."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, Progress, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.text import Text

        class Amount(TextColumn):
            def render(self, task: Task) -> Text:
                return Text(_amount(task.completed, task.total, str(task.fields["unit"])))

        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            Amount(""),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,  # standard output is data
            redirect_stderr=False,
        )
        self._lock = Lock()

    @contextmanager
    def __call__(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        """Open a task, as `Progress` describes."""
        task = self._bars.add_task(what, total=total, visible=False, unit=unit)
        timer = Timer(PATIENCE, self._show, [task])
        timer.daemon = True
        timer.start()
        try:
            yield lambda amount: self._bars.advance(task, amount)
        finally:
            timer.cancel()
            with self._lock:
                self._bars.remove_task(task)
                if not self._bars.task_ids:
                    self._bars.stop()

    def _show(self, task: TaskID) -> None:
        with self._lock:
            if task in self._bars.task_ids:
                self._bars.update(task, visible=True)
                self._bars.start()


def _amount(done: float, total: float | None, unit: str) -> str:
    """How far a task is: `12,000/50,000 sentences`, `3.1/91.6 MB`."""
    parts: list[Any] = [part for part in (done, total) if part is not None]
    shown = [f"{part / 1e6:,.1f}" if unit == "bytes" else f"{part:,.0f}" for part in parts]
    return f"{'/'.join(shown)} {'MB' if unit == 'bytes' else unit}".rstrip()

"""What the command line says on standard error: remarks, and bars for what takes longer than two seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING

from rprs.progress import Advance, Progress, silent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task, TaskID

PATIENCE = 2.0  # seconds before a bar appears
SHOWN = 20  # remarks of one kind before the rest is only counted


class Talk:
    """The voice of one command: quiet, or on standard error."""

    def __init__(self, quiet: bool = False) -> None:
        from rich.console import Console

        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self.progress: Progress = silent if quiet or not self.console.is_terminal else Bars(self.console)

    def say(self, line: str) -> None:
        """One remark."""
        if not self.quiet:
            self.console.print(line)


class Remarks:
    """Remarks that may come by the thousand: the first ones are said, all are counted."""

    def __init__(self, talk: Talk, verbose: bool = False) -> None:
        self.talk, self.limit = talk, None if verbose else SHOWN
        self.count = 0

    def __call__(self, what: object) -> None:
        """Say it, or only count it."""
        self.count += 1
        if self.limit is None or self.count <= self.limit:
            self.talk.say(str(what))

    def close(self) -> None:
        """Say how many were not said."""
        if self.limit is not None and self.count > self.limit:
            self.talk.say(f"and {self.count - self.limit:,} more (see --verbose)")


class Bars:
    """Progress as bars on a terminal: a task gets one if it is still at work after two seconds."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.text import Text

        class Amount(TextColumn):
            def render(self, task: Task) -> Text:
                return Text(amount(task.completed, task.total, str(task.fields["unit"])))

        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            Amount(""),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,  # what is printed there is data, and stays there
            redirect_stderr=False,
        )
        self._lock = Lock()

    @contextmanager
    def __call__(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        """A task, as `rprs.progress.Progress` has it."""
        task = self._bars.add_task(what, total=total, visible=False, unit=unit)
        timer = Timer(PATIENCE, self._reveal, [task])
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

    def _reveal(self, task: TaskID) -> None:
        with self._lock:
            if task in self._bars.task_ids:
                self._bars.update(task, visible=True)
                self._bars.start()


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: `1 document`, `2,310 documents`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def amount(done: float, total: float | None, unit: str) -> str:
    """How far a task has come: `12,000/50,000 sentences`, `3.1/91.6 MB`."""
    shown = [f"{part / 1e6:,.1f}" if unit == "bytes" else f"{part:,.0f}" for part in (done, total) if part is not None]
    return f"{'/'.join(shown)} {'MB' if unit == 'bytes' else unit}".rstrip()

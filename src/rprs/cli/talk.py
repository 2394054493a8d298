"""What the command line says on standard error: remarks, and bars for what takes longer than two seconds."""

from __future__ import annotations

from rprs.progress import Progress, ProgressBars, silent

SHOWN = 20  # remarks of one kind before the rest is only counted


class Talk:
    """The voice of one command: quiet, or on standard error."""

    def __init__(self, quiet: bool = False) -> None:
        from rich.console import Console

        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self.progress: Progress = silent if quiet or not self.console.is_terminal else ProgressBars(self.console)

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


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: `1 document`, `2,310 documents`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"

"""Messages and progress bars of the command line, on standard error."""

from __future__ import annotations

from rprs.progress import Progress, ProgressBars, silent

LIMIT = 20  # messages of one kind that are printed; the others are counted


class Messages:
    """Prints the messages of one command, and shows bars for tasks that take longer than two seconds."""

    def __init__(self, quiet: bool = False) -> None:
        from rich.console import Console

        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self.watched = self.console.is_terminal
        self.progress: Progress = ProgressBars(self.console) if self.watched and not quiet else silent

    def print(self, line: str) -> None:
        """Print one message, unless the command is quiet."""
        if not self.quiet:
            self.console.print(line)

    def log(self, line: str) -> None:
        """Write one line of a long log: unless people watch it, without the console, which takes 50 times as long."""
        if self.watched:
            self.print(line)
        elif not self.quiet:
            self.console.file.write(f"{line}\n")
            self.console.file.flush()


class LimitedMessages:
    """Messages that may come by the thousand: the first 20 are printed (all with `verbose`), the others counted."""

    def __init__(self, messages: Messages, verbose: bool = False) -> None:
        self.messages, self.limit = messages, None if verbose else LIMIT
        self.count = 0

    def __call__(self, message: object) -> None:
        """Print the message, or only count it."""
        self.count += 1
        if self.limit is None or self.count <= self.limit:
            self.messages.print(str(message))

    def close(self) -> None:
        """Print how many messages were left out."""
        if self.limit is not None and self.count > self.limit:
            self.messages.print(f"and {self.count - self.limit:,} more (see --verbose)")


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: `1 document`, `2,310 documents`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"

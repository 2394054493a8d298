"""What became of the files of a command: how many were read, partly read and skipped, grouped by reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from rprs.cli.messages import Messages, counted
from rprs.document import Document
from rprs.index.unread import write_unread
from rprs.read.reasons import group_by_reason
from rprs.read.source import Skipped

__all__ = ["Outcome"]

_REASONS = 10  # lines of the table for each of the two kinds
_EXAMPLES = 3  # names of files on a line


class Outcome:
    """Collects the files that were not read, or only partly, and shows them as a short table."""

    def __init__(self, messages: Messages, verbose: bool) -> None:
        self.messages, self.verbose = messages, verbose
        self.items: list[Skipped] = []
        self.recognised: list[tuple[int, float]] = []  # pages of each file that OCR has read, and its confidence

    def watched(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents, of which those that OCR has read are counted."""
        for document in documents:
            if pages := document.metadata.get("ocr_pages"):
                self.recognised.append((int(pages), float(document.metadata.get("ocr_confidence") or 0.0)))
            yield document

    def __call__(self, item: Skipped) -> None:
        """Add a file; with `--verbose`, it is named at once."""
        self.items.append(item)
        if self.verbose:
            self.messages.print(f"{_status(item)} {item}")

    @property
    def skipped(self) -> int:
        """The number of files and records that were not read."""
        return sum(not item.partly for item in self.items)

    def close(self, index: Path) -> None:
        """Print the table, and write the full list to a file in the folder of the index."""
        self.print_table()
        lines = sorted(f"{_status(item)}\t{item.path}\t{item.reason}" for item in self.items)
        place = write_unread(index, (" ".join(line.split("\n")) for line in lines))
        if not self.items:
            return
        self.messages.print(f"Full list: {place}")

    def print_table(self) -> None:
        """Print how many pages were recognised, and the reasons why files were not read, or only partly."""
        if pages := sum(count for count, _ in self.recognised):
            confidence = sum(count * value for count, value in self.recognised) / pages
            files = counted(len(self.recognised), "file")
            self.messages.print(f"OCR          {pages:>6,}  pages of {files}, mean confidence {confidence:.0%}")
        partly = [item for item in self.items if item.partly]
        for heading, items in (("partly read", partly), ("skipped", [one for one in self.items if not one.partly])):
            for number, line in enumerate(_table(items)):
                self.messages.print(f"{heading if number == 0 else '':<11}  {line}")


def _status(item: Skipped) -> str:
    return "partly read" if item.partly else "skipped"


def _table(items: list[Skipped]) -> list[str]:
    """One line for each reason, the most frequent first."""
    groups = group_by_reason(items)
    lines = [f"{len(group):>6,}  {reason} [{_names(group)}]" for reason, group in groups[:_REASONS]]
    rest = sum(len(group) for _, group in groups[_REASONS:])
    return [*lines, f"{rest:>6,}  other reasons"] if rest else lines


def _names(group: list[Skipped]) -> str:
    names = [PurePath(item.path).name for item in group[:_EXAMPLES]]
    return ", ".join(names) + (", …" if len(group) > _EXAMPLES else "")

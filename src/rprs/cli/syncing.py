"""The verb that keeps an index in sync with a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from time import perf_counter, sleep, strftime
from typing import Annotated

import typer

from rprs.cli.messages import Messages, counted
from rprs.cli.options import Analyzer, Encoder, IndexPath, Ocr, OcrModes, Splitter, Verbose
from rprs.errors import IndexLocked, ReadError, RprsError, UsageError

Options = dict[str, str | bool]


def sync(
    context: typer.Context,
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="The folder, or a file of records.", show_default=False)
    ],
    path: IndexPath,
    root: Annotated[
        str,
        typer.Option(
            "--root",
            help="A name for the folder, with which the ids begin: needed if the index has several.",
            metavar="NAME",
        ),
    ] = "",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Remove documents whose files are gone without asking.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and do nothing.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Keep going: synchronise whenever files change.")] = False,
    every: Annotated[
        float, typer.Option("--every", help="With --watch: seconds between two looks at the folder.", min=0.1)
    ] = 2.0,
    relocated: Annotated[bool, typer.Option("--relocated", help="The folder of the root is now at SOURCE.")] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Also read files again that were skipped or only partly read.")
    ] = False,
    encoder: Encoder = None,
    splitter: Splitter = None,
    analyzer: Analyzer = None,
    ocr: Ocr = OcrModes.auto,
    verbose: Verbose = False,
) -> None:
    """Bring an index in step with a folder: add, replace, rename and remove documents.

    Only files that are new or have changed are read. Files that were moved or renamed are recognised by their content.
    Before documents are removed because their files are gone, you are asked; without a terminal, --yes is needed. An
    interrupted command is resumed by the next one. An index that does not exist is created.

    Example: rprs sync cases/ cases.rprs

    Example: rprs sync /mnt/shared/cases cases.rprs --watch --yes
    """
    messages: Messages = context.obj
    options: Options = {"root": root, "relocated": relocated, "retry": retry}
    if dry_run:
        if watch:
            raise UsageError("--dry-run and --watch exclude each other")
        _print_plan(messages, source, path, options)
        return
    command = _Command(messages, source, path, options, (encoder, splitter, analyzer), ocr, verbose)
    if watch:
        command.watch(yes, every)
    else:
        command.run((lambda _: True) if yes else _ask(messages))


def _ask(messages: Messages) -> Callable[[int], bool]:
    def ask(number: int) -> bool:
        if not sys.stdin.isatty():
            return False
        return typer.confirm(f"Remove {counted(number, 'document')} whose files are gone?", err=True)

    return ask


def _print_plan(messages: Messages, source: Path, path: Path, options: Options) -> None:
    """One line for each file that would be read, is a copy of another, or whose documents would be removed."""
    from rprs.syncing.synchronise import plan_sync

    plan = plan_sync(source, path, **options, progress=messages.progress)  # type: ignore[arg-type]  # by their names
    for reading in plan.readings:
        origin = f"{reading.earlier} -> " if reading.earlier else ""
        typer.echo(f"{_VERBS[reading.why]:<7} {origin}{reading.row.path}")
    for copy in plan.copies:
        typer.echo(f"also at {copy.path} (a copy of {copy.copies[0]})")
    for id in plan.lost:
        typer.echo(f"remove  {id}")
    number = counted(len(plan.readings), "file")
    copies = f"{counted(len(plan.copies), 'new copy', 'new copies')}, " if plan.copies else ""
    messages.print(f"{number} to read, {copies}{counted(len(plan.lost), 'document')} to remove; nothing was changed")


_VERBS = {"new": "add", "changed": "replace", "moved": "rename", "places": "update"}


class _Command:
    """One `rprs sync`, which may run many times."""

    def __init__(
        self,
        messages: Messages,
        source: Path,
        path: Path,
        options: Options,
        components: tuple[str | None, str | None, str | None],
        ocr: OcrModes,
        verbose: bool,
    ) -> None:
        self.messages, self.source, self.path, self.ocr, self.verbose = messages, source, path, ocr, verbose
        self.options = {**options, **dict(zip(("encoder", "splitter", "analyzer"), components, strict=True))}

    def run(self, remove: Callable[[int], bool], *, quiet: bool = False) -> None:
        """Synchronise once and print a summary; `quiet`: not if nothing has changed."""
        from rprs.cli.outcome import Outcome
        from rprs.progress import show_reading
        from rprs.read.bounded import use_processes
        from rprs.read.ocr import use_ocr
        from rprs.syncing import sync as synchronise

        started, outcome = perf_counter(), Outcome(self.messages, self.verbose)
        with show_reading(self.messages.progress), use_ocr(self.ocr.value), use_processes():
            done = synchronise(
                self.source,
                self.path,
                remove=remove,
                skipped=outcome,
                progress=self.messages.progress,
                **self.options,  # type: ignore[arg-type]  # by their names
            )
        if quiet and not (done.added or done.changed or done.moved or done.removed):
            return
        self.messages.print(
            f"{counted(done.added, 'document')} added, {done.changed:,} changed, {done.moved:,} moved, "
            f"{done.removed:,} removed, {done.unchanged:,} unchanged, {outcome.skipped:,} skipped: "
            f"{done.sentences:,} sentences, {done.terms:,} index terms in {perf_counter() - started:.1f} s"
        )
        if done.gone:
            self.messages.print(
                f"Not removed, although their files are gone: {counted(done.gone, 'document')}; to remove, use --yes"
            )
        outcome.close(self.path)
        for note in done.notes:
            self.messages.print(note)

    def watch(self, yes: bool, every: float) -> None:
        """Synchronise whenever files have changed, until interrupted."""
        from rprs.syncing.synchronise import look_at
        from rprs.syncing.watch import changes_of

        problem, first = "", True

        def look() -> str:
            nonlocal problem
            try:
                state = look_at(self.source, self.path)
            except ReadError as error:
                if first:
                    raise
                if str(error) != problem:
                    self._note(problem := str(error))
                return "unavailable"
            problem = ""
            return state

        wait = Event().wait
        for state in changes_of(look, wait, every):
            if state == "unavailable":
                continue
            self._run_again(yes, every, first)
            if first:
                self._note(f"Watching {self.source}; Ctrl-C stops")
            first = False

    def _run_again(self, yes: bool, every: float, first: bool) -> None:
        """Synchronise once. What fails then may work after the next change; what fails at first is a mistake."""
        while True:
            try:
                return self.run(lambda _: yes, quiet=not first)
            except IndexLocked:
                sleep(every)  # another command is writing to the index
            except RprsError as error:
                if first:
                    raise
                return self._note(str(error))

    def _note(self, line: str) -> None:
        self.messages.print(f"{strftime('%H:%M:%S')} {line}")

"""The processes that build, one for each core of each node, and what is known of how they are. No Ray.

A process that works cannot be told from one that hangs by waiting for it, and the engine notices a cut link after
minutes. So each process is asked every few seconds whether it is there: one that does not answer keeps its task, and
another gets the same. Once processes run, they need nothing but their link: a build goes on while the head is away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import Any, Protocol

from rprs.cluster.replicas import Lost

__all__ = ["Builders", "Processes"]

ASKING = 1.0  # seconds between an answer of a process and the next question
SILENT = 15.0  # seconds without an answer until another process gets the same task
STARTING = 180.0  # seconds until a process that was started must answer, on a busy machine
LOOKING = 2.0  # seconds between two looks for nodes and for processes to replace
SPARE = 3  # processes on a node, for each of its cores, of which some do not answer


class Processes(Protocol):
    """Starts processes on nodes, and sends requests to them. A reference stands for an answer that may come."""

    def cores(self) -> Mapping[str, int]:
        """The cores of each node that can build. Waits while the head is away, or raises `Lost`."""

    def start(self, node: str) -> Any:
        """A new process on a node, without waiting for it; raises `Lost` if that is impossible."""

    def ask(self, process: Any) -> Hashable:
        """Ask a process whether it is there, also while it works, without waiting."""

    def run(self, process: Any, function: Callable[..., Any], arguments: tuple[Any, ...], most: int) -> Hashable:
        """Run a function in a process on at most so many cores, without waiting."""

    def wait(self, references: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        """Wait until at least one answer is there; those that are."""

    def outcome(self, reference: Hashable) -> Any:
        """An answer that is there; raises `Lost` if its process is gone."""

    def end(self, process: Any) -> None:
        """End a process, without waiting."""


@dataclass(slots=True, eq=False)
class _Builder:
    node: str
    process: Any
    question: Hashable | None
    since: float  # when it was asked, or when it answered
    answered: bool = False  # at least once
    task: Hashable | None = None

    def is_silent(self) -> bool:
        limit = SILENT if self.answered else STARTING
        return self.question is not None and monotonic() - self.since > limit


class Builders:
    """The `Nodes` of `run_repeated`: processes on nodes, which are started, watched and replaced."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._lock, self._closing = Lock(), Event()
        self._builders: list[_Builder] = []
        self.reason = ""  # why the last process was lost
        self._total = 0
        self.most = 1  # cores that a task may use
        self._look()
        self._looking = Thread(target=self._keep_looking, name="builders", daemon=True)
        self._looking.start()

    def share_cores(self, tasks: int) -> None:
        """Let each of so many tasks use its share of all cores: one alone may use what all would use together."""
        self.most = max(1, self._total // max(1, tasks))

    def close(self) -> None:
        """End all processes."""
        self._closing.set()
        with self._lock:
            for builder in self._builders:
                self._processes.end(builder.process)
            self._builders = []

    # ------------------------------------------------------------------------ tasks

    def slots(self) -> int:
        """How many tasks can run at the same time: the processes that answer."""
        self._listen()
        with self._lock:
            return sum(builder.answered and not builder.is_silent() for builder in self._builders)

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Hashable | None:
        """Run a function in a free process, of the node that has most of them; None if there is none."""
        with self._lock:
            free = [
                builder
                for builder in self._builders
                if builder.answered and builder.task is None and not builder.is_silent()
            ]
            if not free:
                return None
            number = Counter(builder.node for builder in free)
            builder = max(free, key=lambda each: number[each.node])
            builder.task = self._processes.run(builder.process, function, arguments, self.most)
            return builder.task

    def wait(self, references: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        """Wait until at least one task has ended, or a new process has answered; the tasks that have."""
        with self._lock:
            new = [each.question for each in self._builders if each.question is not None and not each.answered]
        if not references and not new:
            sleep(seconds)
            return []
        ready, tasks = self._processes.wait([*references, *new], seconds), set(references)
        return [reference for reference in ready if reference in tasks]

    def outcome(self, reference: Hashable) -> Any:
        """What a task that has ended gave; raises `Lost` if its process is gone."""
        builder = self._of(reference)
        try:
            outcome = self._processes.outcome(reference)
        except Lost as error:
            if builder is not None:
                self._drop(builder, str(error))
            raise
        if builder is not None:
            builder.task = None
        return outcome

    def is_silent(self, reference: Hashable) -> bool:
        """Whether the process that runs a task does not answer: it may hang, and its task may still end."""
        builder = self._of(reference)
        return builder is None or builder.is_silent()

    def cancel(self, reference: Hashable) -> None:
        """End the process of a task whose result is not needed any more."""
        builder = self._of(reference)
        if builder is not None:
            self._drop(builder)

    def _of(self, reference: Hashable) -> _Builder | None:
        with self._lock:
            return next((builder for builder in self._builders if builder.task == reference), None)

    # ------------------------------------------------------------------------ processes

    def _listen(self) -> None:
        """Note who has answered, and ask again those whose answer is some time ago."""
        with self._lock:
            asked = {builder.question: builder for builder in self._builders if builder.question is not None}
        for question in self._processes.wait(list(asked), 0) if asked else ():
            builder = asked[question]
            try:
                self._processes.outcome(question)
            except Lost as error:
                # A task that it was running ends with the same error, which `outcome` raises.
                if builder.task is None:
                    self._drop(builder, str(error))
                continue
            builder.question, builder.since, builder.answered = None, monotonic(), True
        with self._lock:
            for builder in self._builders:
                if builder.question is None and monotonic() - builder.since > ASKING:
                    builder.question, builder.since = self._processes.ask(builder.process), monotonic()

    def _drop(self, builder: _Builder, reason: str = "") -> None:
        with self._lock:
            self.reason = reason or self.reason
            if builder in self._builders:
                self._builders.remove(builder)
                self._processes.end(builder.process)

    def _keep_looking(self) -> None:
        while not self._closing.wait(LOOKING):
            self._look()

    def _look(self) -> None:
        """Start processes on new nodes, and in the place of those that are lost or silent."""
        try:
            cores = self._processes.cores()
            self._total = sum(cores.values())
            for node, number in cores.items():
                for _ in range(number):
                    if self._closing.is_set() or not self._lacks(node, number):
                        break
                    process = self._processes.start(node)
                    builder = _Builder(node, process, self._processes.ask(process), monotonic())
                    with self._lock:
                        self._builders.append(builder)
        except Lost as error:  # the head is away; it is asked again
            self.reason = str(error)

    def _lacks(self, node: str, cores: int) -> bool:
        with self._lock:
            present = [builder for builder in self._builders if builder.node == node]
        well = sum(not builder.is_silent() for builder in present)
        return well < cores and len(present) < SPARE * cores

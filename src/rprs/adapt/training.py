"""The loop that all training goes through: seeded, checkpointed, and resumed to the very same weights.

What happens in a step depends on the seed and the number of the step alone: its batch, which the task draws from the
two, and its dropout, since the generator is seeded anew before each step. So a training that was killed goes on from
its last checkpoint to bit-identical weights, on the same machine with the same versions.
"""

from __future__ import annotations

import hashlib
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rprs.adapt.curve import Curve
from rprs.errors import MissingExtra, UsageError
from rprs.files.atomic import atomic_file
from rprs.progress import Progress, silent

try:
    import torch
except ImportError as error:
    raise MissingExtra("Training a model", "torch", "torch") from error

__all__ = ["Losses", "Task", "Training", "Validation", "device", "epoch_batch", "train", "workplace"]

CHECKPOINT = "checkpoint.pt"
Losses = dict[str, Any]  # a name and a tensor of one number


@dataclass(frozen=True)
class Training:
    """AdamW at a constant rate, after a warm-up where one is wanted. Biases and norms are not decayed."""

    steps: int
    seed: int = 0
    rate: float = 3e-5
    warmup: int = 0  # steps in which the rate rises to its value
    decay: float = 0.01
    clip: float = 1.0  # the largest norm of a step's gradient; 0: any
    checkpoint: int = 100  # steps between two checkpoints

    def __post_init__(self) -> None:
        for name, good, what in (
            ("steps", self.steps > 0, "at least 1"),
            ("seed", self.seed >= 0, "at least 0"),
            ("rate", self.rate > 0 and math.isfinite(self.rate), "above 0"),
            ("warmup", self.warmup >= 0, "at least 0"),
            ("decay", self.decay >= 0, "at least 0"),
            ("clip", self.clip >= 0, "at least 0"),
            ("checkpoint", self.checkpoint > 0, "at least 1"),
        ):
            if not good:
                raise UsageError(f"The {name!r} of a training must be {what}. Got {getattr(self, name)!r} instead.")


class Task(Protocol):
    """What is trained, and on what."""

    @property
    def module(self) -> Any:
        """The torch.nn.Module with everything that is trained and belongs into a checkpoint, on `device()`."""

    def losses(self, step: int) -> Iterable[Losses]:
        """The losses of a step's batch, which depends on the seed and the step alone.

        A batch may come in parts: each is back-propagated and let go before the next is asked for, so that memory is
        bounded by a part. The sum of all is minimised, so that a mean over the batch is divided by the whole batch.
        """


@dataclass(frozen=True)
class Validation:
    """A value to be raised, looked at every so many steps. The best weights win; `patience` looks without a better
    value end the training."""

    measure: str  # what it is called in the curve: P@5
    value: Callable[[], float]  # of the weights as they are; the module is in evaluation mode, without gradients
    every: int
    patience: int = 10


def device() -> Any:
    """Where training happens: a GPU if torch sees one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def train(
    task: Task,
    training: Training,
    work: Path,
    about: Mapping[str, Any],
    *,
    validation: Validation | None = None,
    progress: Progress = silent,
) -> Curve:
    """Train the task's module, from its checkpoint in the folder `work` if there is one; give the curve of its losses.

    `about` are the settings and fingerprints of data that the weights depend on, as JSON has them; a checkpoint of
    others is an error. At the end the module has the last weights, or the best by the validation, in evaluation mode.
    """
    state = _State(task.module, training, work, _settings(training, validation, about), validation)
    state.resume()
    with _reproducible(state.threads), progress("training", training.steps, "steps") as advance:
        advance(state.step)
        try:
            while state.step < training.steps and not state.stopped:
                state.take(task)
                advance(1)
                if state.step % training.checkpoint == 0:
                    state.save()
            state.save()  # what comes after can fail, too
        except KeyboardInterrupt:
            if state.sound:  # not in the midst of a change of the weights
                state.save()
            raise
    return state.finish()


def epoch_batch(seed: int, step: int, size: int, batch: int) -> tuple[int, list[int]]:
    """The epoch of a step, and the numbers below `size` in its batch: each epoch has all, in an order of its own."""
    epoch, at = divmod(step, math.ceil(size / batch))
    return epoch, _order(seed, epoch, size)[at * batch : (at + 1) * batch].tolist()


@lru_cache(maxsize=2)
def _order(seed: int, epoch: int, size: int) -> NDArray[np.int64]:
    return np.random.default_rng((seed, epoch)).permutation(size)


@contextmanager
def workplace(to: Path) -> Iterator[Path]:
    """The folder that the checkpoints of a model to be written to `to` are kept in.

    It goes when all went well, and when there is no checkpoint to go on from. One process at a time works in it. What
    is at `to` already is an error, so that no training is in vain.
    """
    from filelock import FileLock, Timeout

    if to.exists():
        raise UsageError(f"{to} is there already: name a folder that is not, or remove it")
    work = to.with_name(f"{to.name}.work")
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UsageError(
            f"Cannot make the folder {work}: {problem.strerror}; choose another place for {to}"
        ) from problem
    lock = FileLock(work / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as problem:
        raise UsageError(f"Another process is training in {work}: wait for it, or choose another folder") from problem
    try:
        yield work
        shutil.rmtree(work)
    except BaseException:
        if not (work / CHECKPOINT).is_file():
            shutil.rmtree(work)
        raise
    finally:
        lock.release()


# ---------------------------------------------------------------------------- one training


@dataclass
class _State:
    """Where a training stands: all that a checkpoint holds."""

    module: Any
    training: Training
    work: Path
    settings: dict[str, Any]
    validation: Validation | None
    step: int = 0
    rows: list[dict[str, float]] = field(default_factory=list)  # the losses of each step
    values: dict[int, float] = field(default_factory=dict)  # of the validation, by step
    best: dict[str, Any] | None = None  # weights
    stopped: bool = False
    sound: bool = True
    threads: int = field(default_factory=torch.get_num_threads)

    def __post_init__(self) -> None:
        trained = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        groups = [
            {"params": [weight for weight in trained if weight.ndim > 1], "weight_decay": self.training.decay},
            {"params": [weight for weight in trained if weight.ndim <= 1], "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW([group for group in groups if group["params"]], lr=self.training.rate)

    def take(self, task: Task) -> None:
        """One step: losses, gradients, weights; and a look at the validation where it is due."""
        torch.manual_seed(_seed(self.training.seed, self.step))
        self.module.train()
        self.optimiser.zero_grad(set_to_none=True)
        row: dict[str, float] = {}
        for part in task.losses(self.step):
            torch.stack([*part.values()]).sum().backward()
            for name, loss in part.items():
                row[name] = row.get(name, 0.0) + float(loss.detach())
        if not all(map(math.isfinite, row.values())):
            raise UsageError(
                f"The loss is no longer a number at step {self.step + 1}: choose a rate below {self.training.rate}"
            )
        self.sound = False
        self.update()
        self.rows.append(row)
        self.step += 1
        self.look()
        self.sound = True

    def update(self) -> None:
        """Move the weights."""
        if self.training.clip:
            torch.nn.utils.clip_grad_norm_(self.module.parameters(), self.training.clip)
        share = min(1.0, (self.step + 1) / self.training.warmup) if self.training.warmup else 1.0
        for group in self.optimiser.param_groups:
            group["lr"] = self.training.rate * share
        self.optimiser.step()

    def look(self) -> None:
        """Ask the validation, keep the weights if they are the best so far, and stop when patience is at its end."""
        plan = self.validation
        if plan is None or (self.step % plan.every and self.step < self.training.steps):
            return
        self.module.eval()
        with torch.no_grad():
            value = float(plan.value())
        if self.best is None or value > max(self.values.values()):
            self.best = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}
        self.values[self.step] = value
        behind = list(self.values.values())
        self.stopped = len(behind) - 1 - behind.index(max(behind)) >= plan.patience

    def save(self) -> None:
        """Write the checkpoint whole, in place of the last."""
        kept = {
            "settings": self.settings,
            "module": self.module.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            **{name: getattr(self, name) for name in KEPT},
        }
        with atomic_file(self.work / CHECKPOINT) as draft:
            torch.save(kept, draft)

    def resume(self) -> None:
        """Go back to the checkpoint, where there is one of the same settings."""
        for left in self.work.glob(f".{CHECKPOINT}-*"):  # by a process that was killed as it wrote
            left.unlink()
        file = self.work / CHECKPOINT
        if not file.is_file():
            return
        kept = torch.load(file, map_location=device(), weights_only=True)
        _compare(kept["settings"], self.settings, self.work)
        self.module.load_state_dict(kept["module"])
        self.optimiser.load_state_dict(kept["optimiser"])
        for name in KEPT:
            setattr(self, name, kept[name])

    def finish(self) -> Curve:
        """The curve; the module gets its best weights."""
        if self.best is not None:
            self.module.load_state_dict(self.best)
        self.module.eval()
        measure = self.validation.measure if self.validation else ""
        return Curve(tuple(self.rows), measure, self.values)


KEPT = ("step", "rows", "values", "best", "stopped", "threads")


def _settings(training: Training, validation: Validation | None, about: Mapping[str, Any]) -> dict[str, Any]:
    """All that the weights depend on; not how often they are saved."""
    found = {name: value for name, value in asdict(training).items() if name != "checkpoint"}
    if validation:
        found |= {"measure": validation.measure, "every": validation.every, "patience": validation.patience}
    return {**found, **about}


def _compare(there: Mapping[str, Any], here: Mapping[str, Any], work: Path) -> None:
    for name in sorted({*there, *here}):
        if there.get(name) != here.get(name):
            raise UsageError(
                f"The checkpoint in {work} is of another training: its {name} is {there.get(name)!r}, not "
                f"{here.get(name)!r}; remove that folder, or choose another to write to"
            )


def _seed(seed: int, step: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed} {step}".encode()).digest()[:8], "big") >> 1


@contextmanager
def _reproducible(threads: int) -> Iterator[None]:
    """Algorithms that give the same bits each time, by so many threads; the process gets its own state back."""
    before = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    torch.use_deterministic_algorithms(True, warn_only=device().type != "cpu")
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng():
            yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        torch.set_num_threads(before[1])

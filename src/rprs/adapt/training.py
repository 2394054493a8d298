"""The training loop of all methods: seeded, checkpointed, and resumable to bit-identical weights.

A step depends only on the seed and its number: the task draws its batch from both, and the random generator for dropout
is seeded before each step. So an interrupted training resumes from its last checkpoint and reaches bit-identical
weights, on the same machine with the same versions.
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

__all__ = ["Losses", "Task", "Training", "Validation", "device", "epoch_batch", "train", "work_folder"]

CHECKPOINT = "checkpoint.pt"
Losses = dict[str, Any]  # scalar tensors by name


@dataclass(frozen=True)
class Training:
    """AdamW at a constant rate, after an optional warm-up. Biases and norms are not decayed."""

    steps: int
    seed: int = 0
    rate: float = 3e-5
    warmup: int = 0  # steps in which the rate rises linearly to its value
    decay: float = 0.01
    clip: float = 1.0  # the largest norm of a step's gradient; 0: no limit
    checkpoint: int = 100  # steps between two checkpoints

    def __post_init__(self) -> None:
        for name, valid, rule in (
            ("steps", self.steps > 0, "at least 1"),
            ("seed", self.seed >= 0, "at least 0"),
            ("rate", self.rate > 0 and math.isfinite(self.rate), "above 0"),
            ("warmup", self.warmup >= 0, "at least 0"),
            ("decay", self.decay >= 0, "at least 0"),
            ("clip", self.clip >= 0, "at least 0"),
            ("checkpoint", self.checkpoint > 0, "at least 1"),
        ):
            if not valid:
                raise UsageError(f"The {name!r} of a training must be {rule}. Got {getattr(self, name)!r} instead.")


class Task(Protocol):
    """A model and its training data."""

    @property
    def module(self) -> Any:
        """The torch.nn.Module with all weights to train and to save in checkpoints, on `device()`."""

    def losses(self, step: int) -> Iterable[Losses]:
        """The losses of a step's batch, which depends only on the seed and the step.

        A batch may come in parts: each is back-propagated and freed before the next is computed, so that a part bounds
        the memory. The sum over all parts is minimised, so a mean over the batch must divide by the size of the batch.
        """


@dataclass(frozen=True)
class Validation:
    """A value to maximise, computed every `every` steps. The weights with the best value are kept; training ends after
    `patience` values in a row without a better one."""

    measure: str  # its name in the curve, such as P@5
    value: Callable[[], float]  # for the current weights; called in evaluation mode, without gradients
    every: int
    patience: int = 10


def device() -> Any:
    """The device to train on: a GPU if torch finds one."""
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
    """Train the task's module, from the checkpoint in the folder `work` if there is one, and return its loss curve.

    `about` holds the settings and fingerprints of data that the weights depend on, as JSON values; a checkpoint with
    other values is an error. At the end the module is in evaluation mode, with the last weights or, given a validation,
    the best ones.
    """
    state = _State(task.module, training, work, _settings(training, validation, about), validation)
    state.resume()
    with _reproducible(state.threads), progress("training", training.steps, "steps") as advance:
        advance(state.step)
        try:
            while state.step < training.steps and not state.stopped:
                state.run_step(task)
                advance(1)
                if state.step % training.checkpoint == 0:
                    state.save()
            state.save()  # the steps that follow the training can fail, too
        except KeyboardInterrupt:
            if state.consistent:  # not during an update of the weights
                state.save()
            raise
    return state.finish()


def epoch_batch(seed: int, step: int, size: int, batch: int) -> tuple[int, list[int]]:
    """The epoch of a step, and the items of its batch as numbers below `size`; each epoch has its own random order."""
    epoch, at = divmod(step, math.ceil(size / batch))
    return epoch, _order(seed, epoch, size)[at * batch : (at + 1) * batch].tolist()


@lru_cache(maxsize=2)
def _order(seed: int, epoch: int, size: int) -> NDArray[np.int64]:
    return np.random.default_rng((seed, epoch)).permutation(size)


@contextmanager
def work_folder(to: Path) -> Iterator[Path]:
    """The folder for the checkpoints of a model that will be written to `to`: the same path with `.work` appended.

    It is deleted on success, and on failure if it has no checkpoint to resume from. Only one process can use it at a
    time. It is an error if `to` exists, so that no training is wasted.
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
    """The state of a training run: everything that a checkpoint stores."""

    module: Any
    training: Training
    work: Path
    settings: dict[str, Any]
    validation: Validation | None
    step: int = 0
    rows: list[dict[str, float]] = field(default_factory=list)  # the losses of each step
    values: dict[int, float] = field(default_factory=dict)  # validation measure by step
    best: dict[str, Any] | None = None  # weights with the best validation measure
    stopped: bool = False
    consistent: bool = True  # weights, optimiser and step belong together
    threads: int = field(default_factory=torch.get_num_threads)

    def __post_init__(self) -> None:
        trained = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        groups = [
            {"params": [weight for weight in trained if weight.ndim > 1], "weight_decay": self.training.decay},
            {"params": [weight for weight in trained if weight.ndim <= 1], "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW([group for group in groups if group["params"]], lr=self.training.rate)

    def run_step(self, task: Task) -> None:
        """One step: losses, gradients, weights, and the validation if it is due."""
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
        self.consistent = False
        self.update()
        self.rows.append(row)
        self.step += 1
        self.validate()
        self.consistent = True

    def update(self) -> None:
        """Update the weights."""
        if self.training.clip:
            torch.nn.utils.clip_grad_norm_(self.module.parameters(), self.training.clip)
        share = min(1.0, (self.step + 1) / self.training.warmup) if self.training.warmup else 1.0
        for group in self.optimiser.param_groups:
            group["lr"] = self.training.rate * share
        self.optimiser.step()

    def validate(self) -> None:
        """Compute the measure, keep the weights if they are the best so far, and stop if patience has run out."""
        plan = self.validation
        if plan is None or (self.step % plan.every and self.step < self.training.steps):
            return
        self.module.eval()
        with torch.no_grad():
            value = float(plan.value())
        if self.best is None or value > max(self.values.values()):
            self.best = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}
        self.values[self.step] = value
        values = list(self.values.values())
        self.stopped = len(values) - 1 - values.index(max(values)) >= plan.patience

    def save(self) -> None:
        """Replace the checkpoint atomically."""
        checkpoint = {
            "settings": self.settings,
            "module": self.module.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            **{name: getattr(self, name) for name in SAVED},
        }
        with atomic_file(self.work / CHECKPOINT) as draft:
            torch.save(checkpoint, draft)

    def resume(self) -> None:
        """Load the checkpoint, if there is one; it must have the same settings."""
        for leftover in self.work.glob(f".{CHECKPOINT}-*"):  # of a process that was killed while writing
            leftover.unlink()
        file = self.work / CHECKPOINT
        if not file.is_file():
            return
        checkpoint = torch.load(file, map_location=device(), weights_only=True)
        _compare(checkpoint["settings"], self.settings, self.work)
        self.module.load_state_dict(checkpoint["module"])
        self.optimiser.load_state_dict(checkpoint["optimiser"])
        for name in SAVED:
            setattr(self, name, checkpoint[name])

    def finish(self) -> Curve:
        """Load the best weights into the module, if there was a validation, and return the curve."""
        if self.best is not None:
            self.module.load_state_dict(self.best)
        self.module.eval()
        measure = self.validation.measure if self.validation else ""
        return Curve(tuple(self.rows), measure, self.values)


SAVED = ("step", "rows", "values", "best", "stopped", "threads")


def _settings(training: Training, validation: Validation | None, about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the weights depend on; how often they are saved is not part of it."""
    settings = {name: value for name, value in asdict(training).items() if name != "checkpoint"}
    if validation:
        settings |= {"measure": validation.measure, "every": validation.every, "patience": validation.patience}
    return {**settings, **about}


def _compare(saved: Mapping[str, Any], current: Mapping[str, Any], work: Path) -> None:
    for name in sorted({*saved, *current}):
        if saved.get(name) != current.get(name):
            raise UsageError(
                f"The checkpoint in {work} is of another training: its {name} is {saved.get(name)!r}, not "
                f"{current.get(name)!r}; remove that folder, or choose another to write to"
            )


def _seed(seed: int, step: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed} {step}".encode()).digest()[:8], "big") >> 1


@contextmanager
def _reproducible(threads: int) -> Iterator[None]:
    """Deterministic algorithms and a fixed number of threads, within the block only."""
    before = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    torch.use_deterministic_algorithms(True, warn_only=device().type != "cpu")
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng():
            yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        torch.set_num_threads(before[1])

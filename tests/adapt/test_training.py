"""The training loop, its learning curve, and the sources of its texts."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rprs.adapt.curve import Curve
from rprs.adapt.sources import sample
from rprs.errors import MissingExtra, UsageError
from rprs.index import Writer
from rprs.progress import Advance
from rprs.read import read
from tests.support.small_domain import write_domain

INSTALLED = importlib.util.find_spec("torch") is not None


@pytest.mark.skipif(INSTALLED, reason="torch is installed")
@pytest.mark.parametrize("name", ["training", "model", "export", "tsdae", "sdr"])
def test_without_torch_the_error_has_the_pip_line(name: str) -> None:
    with pytest.raises(MissingExtra, match=r"Training a model needs .*torch.*pip install 'rprs\[torch\]'"):
        importlib.import_module(f"rprs.adapt.{name}")


# ---------------------------------------------------------------------------- sources


def test_a_sample_depends_on_the_texts_and_the_seed_alone(tmp_path: Path) -> None:
    """Whether they come from files, from an index built in another order, or from a collection."""
    folder = write_domain(tmp_path / "days")
    files = sample(folder, 50)
    documents = [*read([folder])]
    with Writer(tmp_path / "days.rprs", create=True, encoder="hashed") as writer:
        writer.add(documents[::-1])
    (tmp_path / "beir").mkdir()
    rows = [f'{{"_id": "{number}", "text": {_json(document.text)}}}' for number, document in enumerate(documents)]
    (tmp_path / "beir/corpus.jsonl").write_text("\n".join(reversed(rows)))
    assert len(files.sentences) == 50
    assert sample(tmp_path / "days.rprs", 50).sentences == files.sentences
    assert sample(f"beir({tmp_path / 'beir'})", 50).sentences == files.sentences
    assert sample(folder, 50, seed=1).sentences != files.sentences
    assert sample(folder, 40).sentences == files.sentences[:40]


def _json(text: str) -> str:
    return '"' + text.replace("\n", "\\n") + '"'


def test_repeated_sentences_are_sampled_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The boat is late. The boat is late. It rains at night.\n\nThe boat is late.")
    assert sorted(sample(tmp_path / "a.txt", 10).sentences) == ["It rains at night.", "The boat is late."]


def test_paragraphs_have_two_sentences_and_a_document(tmp_path: Path) -> None:
    corpus = sample(write_domain(tmp_path / "days"), 60, unit="paragraph")
    assert 60 <= len(corpus.sentences) < 72
    assert min(map(len, corpus.groups)) >= 2
    assert len(corpus.documents) == len(corpus.groups)
    assert corpus.fingerprint == sample(tmp_path / "days", 60, unit="paragraph").fingerprint
    assert corpus.fingerprint != sample(tmp_path / "days", 70, unit="paragraph").fingerprint


def test_an_invalid_source_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no nowhere: name an index"):
        sample("nowhere", 10)
    (tmp_path / "one.txt").write_text("Only one sentence.")
    with pytest.raises(UsageError, match="has no paragraphs of two sentences to learn from"):
        sample(tmp_path, 10, unit="paragraph")


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    notices: list[str] = []
    write_domain(tmp_path / "days", 2)
    (tmp_path / "days/broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    sample(tmp_path / "days", 10, notify=notices.append)
    assert len(notices) == 1
    assert "broken.pdf" in notices[0]


# ---------------------------------------------------------------------------- the curve


def test_a_curve_is_a_table_and_a_picture() -> None:
    losses = [{"masked": 2.0 - step / 20, "contrast": 0.5} for step in range(20)]
    curve = Curve(losses, "P@5", {10: 0.25, 20: 0.5})
    rows = [*csv.DictReader(curve.table().splitlines())]
    assert [row["step"] for row in rows] == [str(step) for step in range(1, 21)]
    assert (rows[9]["masked"], rows[9]["P@5"], rows[10]["P@5"]) == ("1.55", "0.25", "")
    assert curve.first() == {"masked": pytest.approx(1.975), "contrast": 0.5}
    assert curve.last() == {"masked": pytest.approx(1.075), "contrast": 0.5}
    picture = curve.picture("Losses of sdr")
    assert b"<svg" in picture
    assert b"P@5" in picture
    assert picture == curve.picture("Losses of sdr")


# ---------------------------------------------------------------------------- the loop


@dataclass
class Line:
    """A line with dropout through noisy points: a step's batch and its dropout depend on the seed and the step."""

    module: Any = None
    parts: int = 1
    steps: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        import torch

        torch.manual_seed(0)
        self.module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))

    def losses(self, step: int) -> Iterator[dict[str, Any]]:
        import torch

        self.steps.append(step)
        random = np.random.default_rng((7, step))
        x = torch.from_numpy(random.normal(size=(8, 6)).astype(np.float32))
        for part in x.chunk(self.parts):
            target = part.sum(1, keepdim=True)
            yield {"square": ((self.module(part) - target) ** 2).sum() / len(x)}

    def weights(self) -> dict[str, Any]:
        return {name: tensor.numpy().copy() for name, tensor in self.module.state_dict().items()}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def stopping(at: int) -> Any:
    """Progress that is interrupted after this many training steps."""

    @contextmanager
    def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        steps = 0

        def advance(amount: int) -> None:
            nonlocal steps
            steps += amount
            if what == "training" and steps == at:
                raise KeyboardInterrupt

        yield advance

    return progress


@pytest.mark.torch
def test_an_interrupted_training_resumes_to_the_same_weights(tmp_path: Path) -> None:
    from rprs.adapt.training import Training, train

    whole, broken, resumed = Line(), Line(), Line()
    training = Training(30, rate=0.01, warmup=5, checkpoint=10)
    (tmp_path / "whole").mkdir()
    (tmp_path / "broken").mkdir()
    curve = train(whole, training, tmp_path / "whole", {})
    with pytest.raises(KeyboardInterrupt):
        train(broken, training, tmp_path / "broken", {}, progress=stopping(17))
    (tmp_path / "broken/.checkpoint.pt-dead").touch()
    again = train(resumed, training, tmp_path / "broken", {})
    assert resumed.steps[0] == 17  # Ctrl-C left a checkpoint of its own
    assert same(whole.weights(), resumed.weights())
    assert curve == again
    assert len(curve.losses) == 30
    assert curve.last()["square"] < curve.first()["square"]
    assert [file.name for file in (tmp_path / "broken").iterdir()] == ["checkpoint.pt"]


@pytest.mark.torch
def test_a_batch_in_parts_is_the_same_batch(tmp_path: Path) -> None:
    from rprs.adapt.training import Training, train

    tasks = [Line(parts=parts) for parts in (1, 4)]
    curves = []
    for task in tasks:
        task.module[1].p = 0.0  # each part would draw its own dropout
        (tmp_path / str(task.parts)).mkdir()
        curves.append(train(task, Training(10, rate=0.01), tmp_path / str(task.parts), {}))
    for name, weight in tasks[0].weights().items():
        np.testing.assert_allclose(weight, tasks[1].weights()[name], atol=1e-5)
    assert curves[0].losses[-1]["square"] == pytest.approx(curves[1].losses[-1]["square"], rel=1e-4)


@pytest.mark.torch
def test_a_checkpoint_with_other_settings_is_one_line(tmp_path: Path) -> None:
    from rprs.adapt.training import Training, train

    train(Line(), Training(2, rate=0.01), tmp_path, {"data": "abc"})
    with pytest.raises(
        UsageError, match=r"of another training: its rate is 0\.01, not 0\.02; remove that folder"
    ) as caught:
        train(Line(), Training(2, rate=0.02), tmp_path, {"data": "abc"})
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="its data is 'abc', not 'xyz'"):
        train(Line(), Training(2, rate=0.01), tmp_path, {"data": "xyz"})
    train(Line(), Training(2, rate=0.01, checkpoint=1), tmp_path, {"data": "abc"})  # the interval of saving may change


@pytest.mark.torch
def test_the_best_weights_are_kept_and_training_stops_early(tmp_path: Path) -> None:
    from rprs.adapt.training import Training, Validation, train

    values = [0.1, 0.4, 0.3, 0.4, 0.2, 0.9]
    task, at_best = Line(), {}

    def value() -> float:
        assert not task.module.training
        if len(task.steps) == 10:
            at_best.update(task.weights())
        return values[len(task.steps) // 5 - 1]

    curve = train(task, Training(100, rate=0.01), tmp_path, {}, validation=Validation("P@5", value, 5, patience=3))
    assert curve.values == {5: 0.1, 10: 0.4, 15: 0.3, 20: 0.4, 25: 0.2}
    assert len(curve.losses) == 25
    assert same(task.weights(), at_best)


@pytest.mark.torch
def test_a_loss_that_is_nan_is_one_line(tmp_path: Path) -> None:
    from rprs.adapt.training import Training, train

    with pytest.raises(UsageError, match=r"no longer a number at step \d+: choose a rate below 1e\+30"):
        train(Line(), Training(50, rate=1e30, clip=0.0), tmp_path, {})
    with pytest.raises(UsageError, match=r"The 'rate' of a training must be above 0\. Got nan"):
        Training(1, rate=math.nan)


@pytest.mark.torch
def test_a_work_folder_is_exclusive_and_removed_after_success(tmp_path: Path) -> None:
    from rprs.adapt.training import work_folder

    to = tmp_path / "model"
    with work_folder(to) as work:
        (work / "checkpoint.pt").touch()
        with pytest.raises(UsageError, match="Another process is training in"), work_folder(to):
            pass
    assert [*tmp_path.iterdir()] == []

    def fail(*files: str) -> None:
        with work_folder(to) as work:
            for name in files:
                (work / name).touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail("config.json")
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(KeyboardInterrupt):
        fail("checkpoint.pt")
    assert (tmp_path / "model.work/checkpoint.pt").is_file()
    to.mkdir()
    with pytest.raises(UsageError, match="is there already: name a folder that is not"), work_folder(to):
        pass

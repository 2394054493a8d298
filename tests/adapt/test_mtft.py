"""MTFT-BERT: its losses, a small BERT that learns to rank, and a killed training that resumes."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rprs.document import Ranking
from rprs.evaluation.evaluate import evaluate
from rprs.evaluation.measures import parse_measure
from rprs.index import Index
from rprs.progress import silent
from rprs.rank import BM25
from rprs.rank.batch import first_stage
from tests.support.cli import rprs_error, rprs_ok
from tests.support.judged_sample import QRELS, QUERIES, RULINGS, write_queries_and_qrels, write_rulings_index

pytestmark = pytest.mark.torch

NEW = "new(layers=2,width=32,heads=2,vocabulary=400)"
SETTINGS: dict[str, Any] = {
    "depth": 8,
    "batch": 16,
    "rate": 3e-3,
    "steps": 60,
    "every": 60,
    "checkpoint": 7,
    "valid": 0.2,
}
FIRST = "bm25(k1=2.8,b=1.0)"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index, queries, judgements and a fresh BERT of two layers."""
    from rprs.adapt.model import load_base

    folder = tmp_path_factory.mktemp("mtft")
    write_rulings_index(folder)
    write_queries_and_qrels(folder)
    load_base(NEW, folder / "base", [ruling.text for ruling in RULINGS])
    return folder


@pytest.fixture(scope="module")
def learnt(place: Path) -> Any:
    from rprs.adapt.mtft import mtft

    with Index(place / "rulings.rprs") as index:
        return mtft(index, QUERIES, QRELS, NEW, place / "learnt", **SETTINGS)


def task_of(place: Path, valid: float = 0.0, **sizes: Any) -> Any:
    """A task on the fresh model, its dropout off."""
    from rprs.adapt.model import load, load_base
    from rprs.adapt.mtft import CrossTask, _sequences
    from rprs.adapt.triples import training_set

    base = load_base(str(place / "base"), place, [])
    index = Index(place / "rulings.rprs")
    training = training_set(index, QUERIES, QRELS, first_stage(index, QUERIES, BM25(k1=2.8, b=1.0), 8), {}, valid)
    off: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = load(base.folder, "AutoModelForSequenceClassification", num_labels=1, **off)
    return CrossTask(model, _sequences(base, 40, index, training), training, **sizes)


# ---------------------------------------------------------------------------- losses


def test_losses_by_hand() -> None:
    import torch

    from rprs.adapt.mtft import ranking_loss, triplet_loss

    losses = ranking_loss(torch.tensor([0.0, 2.0, 0.0]), torch.tensor([0.0, 0.0, math.log(3)]))
    # −log(1/2), −log(e²/(e² + 1)), and −log(1/(1 + 3))
    assert losses.tolist() == pytest.approx([0.693147, 0.126928, 1.386294], abs=1e-6)
    query, relevant = torch.zeros(3, 2), torch.tensor([[3.0, 4.0]] * 3)  # ‖q − d⁺‖ = 5
    others = torch.tensor([[0.0, 5.5], [6.0, 8.0], [1.0, 0.0]])  # ‖q − d⁻‖ = 5.5, 10 and 1
    assert triplet_loss(query, relevant, others).tolist() == pytest.approx([0.5, 0.0, 5.0])


def test_losses_are_finite_for_extreme_scores_and_equal_vectors() -> None:
    import torch

    from rprs.adapt.mtft import ranking_loss, triplet_loss

    assert ranking_loss(torch.tensor([-1e4, 1e4]), torch.tensor([1e4, -1e4])).tolist() == [2e4, 0.0]
    same = torch.ones(1, 4, requires_grad=True)
    triplet_loss(same, same, same).sum().backward()
    assert torch.isfinite(same.grad).all()


def test_the_losses_of_a_step_are_the_formulas_of_single_pairs_and_texts(place: Path) -> None:
    import torch

    task = task_of(place, triplet=0.5, batch=5, part=7)
    task.module.eval()
    words, texts = task.sequences.words, {query.id: query.text for query in QUERIES}
    words.enable_truncation(40, strategy="longest_first")
    texts |= {ruling.id: ruling.text for ruling in RULINGS}

    def read(*ids: str) -> Any:
        sums = words.encode(*(texts[id] for id in ids))
        return {"input_ids": torch.tensor([sums.ids]), "token_type_ids": torch.tensor([sums.type_ids])}

    def score(*ids: str) -> float:
        return float(task.module(**read(*ids)).logits)

    def vector(id: str) -> Any:
        return task.module.bert(**read(id)).last_hidden_state[0, 0].numpy().astype(np.float64)

    ranking, triplet = [], []
    with torch.no_grad():
        for query, relevant, negative in task.data.draw(5, 0, 3):
            good, bad = math.exp(score(query, relevant)), math.exp(score(query, negative))
            ranking.append(-math.log(good / (good + bad)))
            near, far = (np.linalg.norm(vector(query) - vector(id)) for id in (relevant, negative))
            triplet.append(max(0.0, float(near - far + 1)))
        words.no_truncation()
        sums: dict[str, float] = {}
        for part in task.losses(3):
            for name, loss in part.items():
                sums[name] = sums.get(name, 0.0) + float(loss)
    assert sums == pytest.approx({"ranking": np.mean(ranking), "triplet": 0.5 * np.mean(triplet)}, abs=1e-5)


def test_a_batch_in_parts_has_the_same_gradient(place: Path) -> None:
    def gradient(part: int) -> Any:
        task = task_of(place, batch=10, part=part)
        task.module.double()
        for losses in task.losses(2):
            sum(losses.values()).backward()
        return np.concatenate([weight.grad.numpy().ravel() for _, weight in task.module.named_parameters()])

    whole = gradient(30)
    assert np.abs(whole).max() > 1e-3
    for part in (3, 8):
        np.testing.assert_allclose(gradient(part), whole, rtol=0, atol=1e-12)


def test_without_the_triplet_loss_only_pairs_are_encoded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(place, triplet=0.0, batch=4, part=5)
    monkeypatch.setattr(task.sequences, "singles", lambda _keys: pytest.fail("read alone"))
    assert [list(losses) for losses in task.losses(0)] == [["ranking"], ["ranking"]]


# ---------------------------------------------------------------------------- training


def run_with(index: Index, rerank: str | None) -> dict[str, Ranking]:
    from rprs.search import Searcher

    searcher = Searcher(index, first=FIRST, rerank=rerank, depth=8)
    return {query.id: searcher.rank(query) for query in QUERIES}


def test_training_pairs_are_ranked_correctly(learnt: Any, place: Path) -> None:
    from rprs.adapt.triples import held_out

    apart = held_out(QUERIES, 0.2)
    trained = {query: grades for query, grades in QRELS.items() if query not in apart}
    assert len(trained) == 4
    with Index(place / "rulings.rprs") as index:
        before, after = run_with(index, None), run_with(index, f"cross({learnt.folder})")
    measure = parse_measure("P@1")
    assert evaluate(before, trained, [measure]).total(measure) < 0.5
    assert evaluate(after, trained, [measure]).total(measure) == 1.0
    for query, grades in trained.items():
        assert set(after[query].ids[: len(grades)]) == set(grades)
    assert learnt.curve.last()["ranking"] < learnt.curve.first()["ranking"] / 4
    assert learnt.curve.last()["triplet"] < learnt.curve.first()["triplet"] / 2


def test_the_folder_records_the_settings_and_results(learnt: Any) -> None:
    about = json.loads((learnt.folder / "adapted.json").read_text())
    assert (about["method"], about["seed"], about["training_pairs"]) == ("mtft", 0, 8)
    assert {name: about[name] for name in ("triplet", "batch", "first")} == {"triplet": 1, "batch": 16, "first": "bm25"}
    assert list(about["P@5"]) == ["60"]
    assert 0 < about["P@5"]["60"] <= 0.4
    assert (learnt.folder / "loss.csv").read_text().startswith("step,ranking,triplet,P@5\n")
    assert not learnt.folder.with_name("learnt.work").exists()


WITHOUT_TORCH = """
import json, sys
sys.modules["torch"] = sys.modules["transformers"] = None
from rprs.encode.pairs import load_pairs
left, right = json.load(sys.stdin)
print(json.dumps(load_pairs(sys.argv[1]).score(left, right).scores.tolist()))
"""


def test_a_trained_model_works_without_torch(learnt: Any) -> None:
    import torch

    from rprs.adapt.model import load, tokenizer

    pairs = [
        (query.text, ruling.text * times) for query, ruling in zip(QUERIES, RULINGS, strict=False) for times in (1, 9)
    ]
    left, right = map(list, zip(*pairs, strict=True))
    command = [sys.executable, "-c", WITHOUT_TORCH, str(learnt.folder)]
    ended = subprocess.run(command, input=json.dumps([left, right]), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    model, words = load(learnt.folder, "AutoModelForSequenceClassification").eval(), tokenizer(learnt.folder)
    tokens = words(left, right, truncation="longest_first", max_length=128, padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = model(**tokens).logits[:, 0].numpy()
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(json.loads(ended.stdout), expected, atol=1e-4)


KILLED = """
import json, os, signal, sys
from contextlib import contextmanager
import torch
from tests.support.judged_sample import QRELS, QUERIES
from rprs.adapt.mtft import mtft
from rprs.index import Index

place, settings = sys.argv[1], json.loads(sys.argv[2])
steps = 0

@contextmanager
def progress(what, total=None, unit=""):
    def advance(amount):
        global steps
        steps += amount
        if what == "training" and steps > 40:
            os.kill(os.getpid(), signal.SIGKILL)
    yield advance

torch.set_num_threads(1)
mtft(Index(f"{place}/rulings.rprs"), QUERIES, QRELS, sys.argv[3], f"{place}/killed", **settings, progress=progress)
"""


def test_a_killed_training_resumes_to_the_same_weights(learnt: Any, place: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(place), json.dumps(SETTINGS), NEW]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(command, capture_output=True, text=True, env=surroundings, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert (place / "killed.work/checkpoint.pt").is_file()
    assert not (place / "killed").exists()
    words = ["adapt", "mtft", place / "rulings.rprs", place / "queries.jsonl", "--qrels", place / "qrels.txt"]
    words += ["--base", NEW, "--to", place / "killed"]
    options = [word for name, value in SETTINGS.items() for word in (f"--{name}", value)]
    line = rprs_error(*words, *options, "--seed", 1)
    assert "is of another training" in line
    outcome = rprs_ok(*words, *options)
    assert outcome.out == f"{place / 'killed'}\n"
    assert "60 steps in" in outcome.err
    assert f'use it with --rerank "cross({place / "killed"})"' in outcome.err
    for name in ("model.safetensors", "loss.csv"):
        assert (place / "killed" / name).read_bytes() == (learnt.folder / name).read_bytes()


def test_training_stops_without_improvement_and_keeps_the_best_weights(place: Path, tmp_path: Path) -> None:
    import torch

    from rprs.adapt.mtft import _precision
    from rprs.adapt.training import Training, Validation, train

    task = task_of(place, valid=0.4, batch=8)
    look = Validation("P@5", partial(_precision, task, silent), every=2, patience=3)
    (tmp_path / "one").mkdir()
    curve = train(task, Training(200, rate=3e-3), tmp_path / "one", {}, validation=look)
    best = max(curve.values, key=lambda step: curve.values[step])
    assert len(curve.losses) == best + 2 * 3 < 200
    with torch.no_grad():
        assert _precision(task, silent) == curve.values[best]
    again = task_of(place, valid=0.4, batch=8)
    (tmp_path / "two").mkdir()
    train(again, Training(best, rate=3e-3), tmp_path / "two", {})
    for name, tensor in again.module.state_dict().items():
        assert torch.equal(tensor, task.module.state_dict()[name])


@pytest.mark.parametrize(
    ("name", "value"),
    [("batch", 0), ("part", 2), ("depth", 0), ("valid", 1.0), ("triplet", -0.1), ("triplet", math.nan)],
)
def test_a_wrong_setting_is_one_line(place: Path, name: str, value: Any) -> None:
    from rprs.adapt.mtft import mtft
    from rprs.errors import UsageError

    with (
        Index(place / "rulings.rprs") as index,
        pytest.raises(UsageError, match=f"The {name!r} of MTFT must be in"),
    ):
        mtft(index, QUERIES, QRELS, NEW, place / "never", **{name: value})
    assert not (place / "never.work").exists()

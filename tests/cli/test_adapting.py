"""`rprs adapt`: a group of verbs; all except the help needs torch."""

from __future__ import annotations

import importlib
import importlib.util
import json
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from rprs.cli import adapting
from tests.support.cli import rprs_error, rprs_ok
from tests.support.docs import DOCS, Reader, blocks, missing
from tests.support.judged_sample import RULINGS, write_queries_and_qrels, write_rulings_index
from tests.support.tiny_models import make_bert

VERBS = ["tsdae", "sdr", "mtft"]
INSTALLED = importlib.util.find_spec("sentence_transformers") is not None
NEW = "new(layers=1,width=16,heads=2,vocabulary=300)"


def words(verb: str, folder: Path) -> list[object]:
    """The words of a complete command line."""
    source: list[object] = [folder / "rulings.rprs"]
    if verb == "mtft":
        source += [folder / "queries.jsonl", "--qrels", folder / "qrels.txt"]
    return ["adapt", verb, *source, "--base", NEW, "--to", folder / "out"]


def test_without_a_method_the_help_is_printed() -> None:
    alone = rprs_ok("adapt")
    assert alone == rprs_ok("adapt", "--help")
    assert all(f" {verb} " in alone.out for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_explains_how_to_use_the_model(verb: str) -> None:
    text = " ".join(rprs_ok("adapt", verb, "--help").out.split())
    assert ("cross(FOLDER)" if verb == "mtft" else "onnx(FOLDER)") in text
    assert all(option in text for option in ("--base", "--to", "--seed", "--checkpoint", "[default: 3e-05]"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tsda"], "No such command 'tsda'"),
        (["tsdae"], "Missing argument 'SOURCE'"),
        (["sdr", "x.rprs", "--to", "y"], "Missing option '--base'"),
        (["mtft", "x.rprs", "q.jsonl", "--qrels", "q", "--base", "b", "--to", "y", "--valid", "2"], "'--valid'"),
        (["tsdae", "x.rprs", "--base", "b", "--to", "y", "--noise", "1"], "'--noise'"),
    ],
)
def test_a_wrong_command_line_is_one_line_that_points_to_the_help(arguments: list[str], message: str) -> None:
    line = rprs_error("adapt", *arguments)
    assert message in line
    assert line.endswith("--help")


@pytest.mark.skipif(INSTALLED, reason="torch is installed")
@pytest.mark.parametrize("verb", VERBS)
def test_without_torch_the_error_says_how_to_install_it(verb: str, tmp_path: Path) -> None:
    line = rprs_error(*words(verb, tmp_path))
    assert "not installed: pip install 'rprs[torch]'" in line
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------- with torch


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapt")
    write_rulings_index(folder)
    write_queries_and_qrels(folder)
    (folder / "corpus").mkdir()
    lines = (json.dumps({"_id": ruling.id, "text": ruling.text}) + "\n" for ruling in RULINGS)
    (folder / "corpus/corpus.jsonl").write_text("".join(lines))
    return folder


@pytest.mark.torch
@pytest.mark.parametrize("verb", VERBS)
def test_options_and_defaults_are_those_of_the_library(verb: str) -> None:
    ours = signature(getattr(adapting, verb)).parameters
    theirs = signature(getattr(importlib.import_module(f"rprs.adapt.{verb}"), verb)).parameters
    options = [name for name in ours if name not in ("context", *adapting.PLACES)]
    assert options
    assert {name: ours[name].default for name in options} == {name: theirs[name].default for name in options}
    others = {"index", "excluded", "progress", "notify", *adapting.PLACES}
    assert theirs.keys() - others == set(options)


@pytest.mark.torch
@pytest.mark.parametrize(("verb", "source"), [("tsdae", "rulings.rprs"), ("sdr", "corpus")])
def test_an_adapted_encoder_indexes(verb: str, source: str, place: Path, tmp_path: Path) -> None:
    to = tmp_path / "small"
    outcome = rprs_ok("adapt", verb, place / source, "--base", NEW, "--to", to, "--sentences", 24, "--seed", 3)
    assert outcome.out == f"{to}\n"
    assert f'use it with --encoder "onnx({to})"' in outcome.err
    about: dict[str, Any] = json.loads((to / "adapted.json").read_text())
    assert (about["method"], about["seed"], about["length"]) == (verb, 3, 128)
    outcome = rprs_ok("index", place / "corpus", "--to", tmp_path / "adapted.rprs", "--encoder", f"onnx({to})")
    assert f"encoder: onnx(model={to}" in outcome.err


@pytest.mark.torch
def test_a_collection_is_a_source_too(place: Path, tmp_path: Path) -> None:
    to = tmp_path / "small"
    (place / "corpus/queries.jsonl").write_text("")
    words = ["--base", NEW, "--to", to, "--sentences", 8, "--quiet"]
    outcome = rprs_ok("adapt", "tsdae", f"beir({place / 'corpus'})", *words)
    assert (outcome.out, outcome.err) == (f"{to}\n", "")


@pytest.mark.torch
def test_a_cross_encoder_reads_as_much_as_it_was_trained_on(place: Path, tmp_path: Path) -> None:
    base = make_bert(tmp_path / "base", positions=64)
    (base / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')  # of a sentence, not of a pair
    arguments = [*words("mtft", place)[:-3], base, "--batch", 1, "--steps", 1, "--valid", 0]
    for window, option in ((512, ""), (32, ",window=32")):
        to = tmp_path / f"to{window}"
        outcome = rprs_ok(*arguments, "--to", to, "--window", window)
        assert f'use it with --rerank "cross({to}{option})"' in outcome.err
        assert json.loads((to / "adapted.json").read_text())["window"] == min(window, 64)


@pytest.mark.torch
@pytest.mark.parametrize("verb", VERBS)
def test_an_existing_folder_is_not_overwritten(verb: str, place: Path) -> None:
    (place / "out").mkdir(exist_ok=True)
    assert f"{place / 'out'} is there already" in rprs_error(*words(verb, place))
    assert not list((place / "out").iterdir())


@pytest.mark.torch
def test_missing_inputs_are_one_line(place: Path, tmp_path: Path) -> None:
    to = ["--base", NEW, "--to", tmp_path / "out"]
    assert "There is no nowhere" in rprs_error("adapt", "sdr", "nowhere", *to)
    assert "There is no index at" in rprs_error("adapt", "mtft", "no.rprs", "q", "--qrels", place / "qrels.txt", *to)
    arguments = ["adapt", "mtft", place / "rulings.rprs", place / "queries.jsonl", "--qrels", place / "qrels.txt"]
    assert "There is no model in the folder" in rprs_error(*arguments, "--base", "./none", "--to", tmp_path / "out")
    other = tmp_path / "other.txt"
    other.write_text("q-mill 0 gone 1\n")
    assert "There is no pair to train on" in rprs_error(*arguments[:-1], other, *to, "--valid", 0)


@pytest.mark.torch
def test_the_commands_of_the_guide_print_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader()
    for block in blocks((DOCS / "how-to/adapt.md").read_text(encoding="utf-8")):
        for command, expected in block.steps:
            code, printed = reader.run(command)
            assert (code, missing(expected, printed)) == (0, []), f"$ {command}\n{printed}"

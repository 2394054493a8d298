"""Models on the Hugging Face hub: repository names, whether the hub can be reached, and downloads.

A repository may have the same weights in several files. The caller selects the files, best first, by the config.json
of the model.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rprs.errors import ModelError
from rprs.progress import Advance

__all__ = [
    "NAMES",
    "OPTIONAL",
    "Config",
    "MissingFile",
    "Weights",
    "download",
    "read_config",
    "repository",
    "unreachable",
]

NAMES = {  # models of the paper that are not in the namespace of sentence-transformers
    "bert-for-patents": "anferico/bert-for-patents",
    "legal-bert": "nlpaueb/legal-bert-base-uncased",
    "roberta-large": "FacebookAI/roberta-large",
}
OLDER = (
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
)  # tokenizer files from before tokenizer.json
OPTIONAL = (
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
)
PATIENCE = 3.0  # seconds to wait for an answer of the hub

Config = Mapping[str, Any]
Weights = Callable[[Config], Sequence[str]]  # config.json → usable files, best first


class MissingFile(LookupError):
    """The hub has the model, but not a required file."""


def repository(model: str) -> str:
    """The repository of a model on the hub: a bare name is a model of the paper or of sentence-transformers."""
    return NAMES.get(model) or (model if "/" in model else f"sentence-transformers/{model}")


def read_config(folder: Path) -> Config:
    """The config.json of a model folder."""
    try:
        config: Config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("it is not an object")
    except ValueError as error:
        raise ModelError(f"{folder / 'config.json'} cannot be read as JSON: {error}") from error
    return config


def unreachable(model: str) -> str | None:
    """Why the hub cannot be reached, determined within seconds; None if it can."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    problem = _connection_problem(f"{constants.ENDPOINT}/{repository(model)}/resolve/main/config.json")
    return None if problem is None else f"the hub: {problem}"


def download(model: str, folder: Path, advance: Advance, weights: Weights) -> str | None:
    """Download a model from the Hugging Face hub; return why if the hub cannot be reached."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

    problem = unreachable(model)
    if problem is not None:
        return problem
    source = repository(model)

    def fetch(name: str) -> bool:
        try:
            hf_hub_download(source, name, local_dir=folder)
        except LocalEntryNotFoundError:  # the connection was lost
            raise
        except EntryNotFoundError:
            return False
        return True

    def missing(*names: str) -> MissingFile:
        return MissingFile(f"the hub's {source} has no {' or '.join(names)}")

    try:
        with _watch(folder, advance):
            if not fetch("config.json"):
                raise missing("config.json")
            if not fetch("tokenizer.json") and not [name for name in OLDER if fetch(name)]:
                raise missing("tokenizer.json")
            names = weights(read_config(folder))
            if not any(fetch(name) for name in names):
                raise missing(*names)
            for name in OPTIONAL:
                fetch(name)
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        return f"the hub: {_line(error)}"
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    return None


@contextmanager
def _watch(folder: Path, advance: Advance) -> Iterator[None]:
    """Report the bytes that appear in a folder, instead of the hub's own progress bars, one per file."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    finished = threading.Event()

    def watch() -> None:
        reported = 0
        while not finished.wait(0.2):
            size = 0
            for place, _, names in os.walk(folder):
                for name in names:
                    with suppress(OSError):  # moved in the meantime
                        size += Path(place, name).stat().st_size
            advance(max(0, size - reported))
            reported = max(size, reported)

    thread = threading.Thread(target=watch, daemon=True)
    quiet = are_progress_bars_disabled()
    if not quiet:
        disable_progress_bars()
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
        if not quiet:
            enable_progress_bars()


def _connection_problem(url: str) -> str | None:
    """Why a host does not answer within `PATIENCE`; None if it does, with whatever response.

    The thread also limits name resolution, which the timeout of a socket does not.
    """
    import urllib.error  # only here: a search would wait for HTTP and TLS to be imported
    import urllib.request

    problem = ["no answer"]

    def connect() -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=PATIENCE).close()
        except urllib.error.HTTPError as error:
            problem[0] = f"HTTP {error.code}" if error.code in (403, 404, 407) or error.code >= 500 else ""
        except (OSError, ValueError) as error:
            problem[0] = _line(getattr(error, "reason", error))
        else:
            problem[0] = ""

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return problem[0] or None


def _line(error: object) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]

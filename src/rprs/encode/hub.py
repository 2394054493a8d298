"""Models of the Hugging Face hub: what a name means there, whether it can be asked, and which files are got.

A repository may hold the same weights several times: who asks says which files serve, best first, once config.json has
told what model it is.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rprs.errors import ModelError
from rprs.progress import Advance

__all__ = ["NAMES", "OPTIONAL", "Config", "Lacking", "Weights", "download", "read_config", "repository", "unreachable"]

NAMES = {  # those of the paper that are not sentence-transformers' own
    "bert-for-patents": "anferico/bert-for-patents",
    "legal-bert": "nlpaueb/legal-bert-base-uncased",
    "roberta-large": "FacebookAI/roberta-large",
}
OLDER = ("vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model", "spiece.model")  # than tokenizer.json
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

Config = Mapping[str, Any]
Weights = Callable[[Config], Sequence[str]]  # which files serve, best first, for a model with that config.json


class Lacking(LookupError):
    """The hub has the model, but not a file that is needed."""


def repository(model: str) -> str:
    """Where the hub has a model: a bare name is one of the paper's, or of sentence-transformers."""
    return NAMES.get(model) or (model if "/" in model else f"sentence-transformers/{model}")


def read_config(folder: Path) -> Config:
    """The config.json of a model folder."""
    try:
        found: Config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it is no object")
    except ValueError as error:
        raise ModelError(f"{folder / 'config.json'} cannot be read as JSON: {error}") from error
    return found


def unreachable(model: str) -> str | None:
    """Why the hub cannot be asked for a model, found out within seconds; None if it can."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    silence = _silence(f"{constants.ENDPOINT}/{repository(model)}/resolve/main/config.json")
    return None if silence is None else f"the hub: {silence}"


def download(model: str, folder: Path, advance: Advance, weights: Weights) -> str | None:
    """Get a model from the Hugging Face hub, or say why it cannot be asked."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

    refusal = unreachable(model)
    if refusal is not None:
        return refusal
    where = repository(model)

    def fetch(name: str) -> bool:
        try:
            hf_hub_download(where, name, local_dir=folder)
        except LocalEntryNotFoundError:  # the hub went away
            raise
        except EntryNotFoundError:
            return False
        return True

    def lacking(*names: str) -> Lacking:
        return Lacking(f"the hub's {where} has no {' or '.join(names)}")

    try:
        with _watch(folder, advance):
            if not fetch("config.json"):
                raise lacking("config.json")
            if not fetch("tokenizer.json") and not [name for name in OLDER if fetch(name)]:
                raise lacking("tokenizer.json")
            wanted = weights(read_config(folder))
            if not any(fetch(name) for name in wanted):
                raise lacking(*wanted)
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


def _line(error: object) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]

"""Write a trained model as a folder for searching: weights, tokenizer, ONNX graph, and the facts of its training.

The folder appears complete or not at all. sentence-transformers and transformers can load it; model.onnx needs neither.
It also holds the losses, as loss.csv and loss.svg, and adapted.json: the method, the base, the settings, the seed, the
fingerprint of the data, and the mean losses of the first and the last tenth of the steps.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

import rprs
from rprs.adapt.curve import Curve
from rprs.adapt.model import Base, tokenizer
from rprs.encode.folder import config_of, obstacle
from rprs.encode.loading import quiet
from rprs.encode.onnx import Pooling, unit
from rprs.errors import MissingExtra, ModelError

try:
    import torch
except ImportError as error:
    raise MissingExtra("Training a model", "torch", "torch") from error

__all__ = ["Adapted", "check_graph", "write_cross", "write_model"]

TOLERANCE = 1e-3  # relative distance allowed between torch and ONNX Runtime: a cosine of .9999995


@dataclass(frozen=True)
class Adapted:
    """The result of a training run."""

    folder: Path
    about: Mapping[str, Any]  # adapted.json
    curve: Curve


def write_model(
    folder: Path, model: Any, base: Base, curve: Curve, about: Mapping[str, Any], *, pooling: Pooling
) -> Adapted:
    """Write a sentence encoder with this pooling of token vectors. `about` is copied to adapted.json."""
    with _atomic_folder(folder) as draft:
        facts = _write(draft, model, base, curve, {**about, "pairs": base.pairs})
        _write_modules(draft, model.config.hidden_size, base.window, pooling)
        _write_graph(draft, model, pooling)
    return Adapted(folder, facts, curve)


def write_cross(folder: Path, model: Any, base: Base, curve: Curve, about: Mapping[str, Any]) -> Adapted:
    """Write a model for sequence classification, a cross-encoder. `about` is copied to adapted.json."""
    with _atomic_folder(folder) as draft:
        facts = _write(draft, model, base, curve, {**about, "pairs": True})
        _write_cross_graph(draft, model)
    return Adapted(folder, facts, curve)


def check_graph(actual: Any, expected: Any) -> None:
    """Raise `ModelError` if the outputs of a graph differ from torch's: an export can fail without an error."""
    distance = float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))
    if not distance <= TOLERANCE:
        raise ModelError(
            f"The ONNX form of this model differs from torch's by {distance:.1e}: choose a base of the BERT family"
        )


# ---------------------------------------------------------------------------- files


@contextmanager
def _atomic_folder(folder: Path) -> Iterator[Path]:
    """A draft folder that is renamed to `folder` at the end of the block; drafts of killed processes are removed."""
    for leftover in folder.parent.glob(f".{glob.escape(folder.name)}-{'[0-9a-f]' * 8}"):
        shutil.rmtree(leftover)
    draft = folder.parent / f".{folder.name}-{token_hex(4)}"
    draft.mkdir()
    try:
        yield draft
        for file in draft.rglob("*"):
            if file.is_file():
                with file.open("rb+") as stream:
                    os.fsync(stream.fileno())
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write(draft: Path, model: Any, base: Base, curve: Curve, about: Mapping[str, Any]) -> dict[str, Any]:
    """Write the files that every model folder has; return the content of adapted.json."""
    model.float().cpu().eval()
    with quiet():
        model.save_pretrained(draft)
        tokenizer(base.folder).save_pretrained(draft)
    losses = {"first": curve.first(), "last": curve.last()}
    facts = {**about, "steps": len(curve.losses), "losses": losses, "rprs": rprs.__version__}
    _write_json(draft / "adapted.json", facts)
    (draft / "loss.csv").write_text(curve.table(), encoding="utf-8")
    (draft / "loss.svg").write_bytes(curve.picture(f"Losses of {about['method']} from {Path(base.text).name}"))
    return facts


def _write_modules(draft: Path, width: int, window: int, pooling: Pooling) -> None:
    """Write the configuration files of sentence-transformers."""
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling")]
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(kinds)
    ]
    _write_json(draft / "modules.json", modules)
    _write_json(draft / "sentence_bert_config.json", {"max_seq_length": window, "do_lower_case": False})
    modes = {f"pooling_mode_{mode}": mode.startswith(pooling) for mode in ("cls_token", "mean_tokens", "max_tokens")}
    (draft / "1_Pooling").mkdir()
    _write_json(draft / "1_Pooling/config.json", {"word_embedding_dimension": width, **modes})


def _write_json(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


# ---------------------------------------------------------------------------- ONNX


def _write_graph(draft: Path, model: Any, pooling: Pooling) -> None:
    """Write model.onnx: with sentence vectors if rprs builds the graph, with token vectors if torch exports it."""
    from rprs.encode.graph import build

    file, encoder, probe = draft / "model.onnx", model.base_model, _probe(model, ["input_ids", "attention_mask"])
    if obstacle(config_of(draft)):
        _export(encoder, file, [*probe])
    else:
        file.write_bytes(build(draft, "fp32", pooling).SerializeToString())

    def sentences(vectors: Any) -> Any:
        tokens = np.asarray(vectors)
        if tokens.ndim == 3:
            tokens = tokens[:, 0] if pooling == "cls" else tokens.mean(axis=1)
        return unit(tokens)

    with torch.no_grad():
        expected = sentences(encoder(**probe)[0])
    check_graph(sentences(_run(file, probe)), expected)


def _write_cross_graph(draft: Path, model: Any) -> None:
    """Write model.onnx, which computes logits."""
    from rprs.encode.graph import build_cross

    file, parameters = draft / "model.onnx", signature(model.forward).parameters
    probe = _probe(model, [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in parameters])
    if "token_type_ids" in probe and model.config.type_vocab_size > 1:
        probe["token_type_ids"][:, 4:] = 1
    if obstacle(config_of(draft)):
        _export(model, file, [*probe])
        probe["attention_mask"][1, -2:] = 0
    else:
        file.write_bytes(build_cross(draft).SerializeToString())
    with torch.no_grad():
        expected = model(**probe)[0].numpy()
    check_graph(_run(file, probe), expected)


def _export(model: Any, file: Path, inputs: list[str]) -> None:
    """Export by torch, for any number of sequences of any length."""
    example = _probe(model, inputs)
    shape = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    before, model.config.return_dict = model.config.return_dict, False
    try:
        with warnings.catch_warnings(), quiet():
            warnings.simplefilter("ignore")  # deprecations within torch
            torch.onnx.export(
                model,
                (),
                file,
                kwargs=example,
                input_names=inputs,
                dynamic_shapes=dict.fromkeys(inputs, shape),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
    except ImportError as problem:
        raise MissingExtra("Exporting this model to ONNX", "onnxscript", "torch") from problem
    finally:
        model.config.return_dict = before


def _probe(model: Any, inputs: list[str]) -> dict[str, Any]:
    """Two token sequences. Each input is a separate tensor: a tensor passed twice would become a single input."""
    random = torch.Generator().manual_seed(0)
    ids = torch.randint(model.config.vocab_size // 2, model.config.vocab_size, (2, 8), generator=random)
    blank = {"attention_mask": 1, "token_type_ids": 0}
    return {name: torch.full_like(ids, blank[name]) if name in blank else ids for name in inputs}


def _run(file: Path, probe: Mapping[str, Any]) -> Any:
    """The output of ONNX Runtime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    return session.run(None, {need.name: probe[need.name].numpy() for need in session.get_inputs()})[0]

"""Models of sentence-transformers as encoders."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from rprs.encode.fitted import Fitted
from rprs.encode.onnx import Onnx
from rprs.encode.sbert import SBert
from rprs.errors import MissingExtra, ModelError, UsageError
from rprs.spec import parse
from rprs.testing.encoders import check_encoder
from tests.support.tiny_models import WORDS, make_bert

INSTALLED = importlib.util.find_spec("sentence_transformers") is not None


@pytest.mark.skipif(INSTALLED, reason="sentence-transformers is installed")
def test_without_torch_the_error_has_the_pip_line() -> None:
    with pytest.raises(MissingExtra, match=r"sbert\(model=legal-bert\) needs sentence-transformers.*rprs\[torch\]"):
        SBert("legal-bert").load()


def test_a_model_must_be_named() -> None:
    with pytest.raises(UsageError, match="needs the parameter 'model'"):
        parse("encoder", "sbert")


@pytest.mark.torch
def test_a_folder_fulfils_the_contract(tmp_path: Path) -> None:
    check_encoder(SBert(str(make_bert(tmp_path / "tiny", positions=64))).load(), tolerance=1e-5)


@pytest.mark.torch
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_vectors_agree_with_onnx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pooling: str) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    folder = str(make_bert(tmp_path / "tiny", pooling=pooling))
    (Path(folder) / "modules.json").write_text(
        '[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},'
        '{"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]'
    )
    texts = [" ".join(WORDS[i : i + 9]) for i in range(10)]
    sbert, onnx = SBert(folder).load(), Onnx(folder, "fp32").load()
    assert np.einsum("ij,ij->i", sbert.encode(texts), onnx.encode(texts)).min() > 0.9999
    every = range(onnx.words.get_vocab_size())
    assert np.einsum("ij,ij->i", sbert.token_vectors(every), onnx.token_vectors(every)).min() > 0.9999


@pytest.mark.torch
def test_a_table_can_be_fitted_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    random = np.random.default_rng(1)
    texts = list(dict.fromkeys(" ".join(random.choice(WORDS, 8)) for _ in range(300)))
    table = Fitted(SBert(str(make_bert(tmp_path / "tiny")))).fit(texts)
    assert float(table.report["agreement"]) > 0.9


@pytest.mark.torch
def test_a_missing_model_is_a_one_line_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="cannot load 'no-such/model'") as caught:
        SBert("no-such/model").load()
    assert "\n" not in str(caught.value)

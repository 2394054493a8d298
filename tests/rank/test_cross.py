"""Cross-encoders: two texts as one sequence, truncated as by Hugging Face, and always reported."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from rprs.document import Candidates, Document, Ranking, Sentences, Truncation
from rprs.encode.graph import build, build_cross
from rprs.encode.pairs import PairScorer, load_pairs, longest_first
from rprs.errors import MissingExtra, ModelError, UsageError
from rprs.rank.cross import Cross
from rprs.spec import parse, text
from rprs.studies.study import study
from rprs.testing.rankers import check_reranker
from tests.support.cli import QUERY, queries, rprs_error, rprs_ok, sample_index
from tests.support.study_sample import write_collection
from tests.support.tiny_models import WORDS, make_bert, make_cross

INSTALLED = importlib.util.find_spec("transformers") is not None
Ints = NDArray[np.int64]


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RPRS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder with one label and a window of 24 tokens."""
    return make_cross(tmp_path_factory.mktemp("models") / "cross")


def some(words: int, start: int = 0) -> str:
    return " ".join(WORDS[(start + i * i) % len(WORDS)] for i in range(words))


def change(folder: Path, **values: object) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
    return folder


# ---------------------------------------------------------------------------- one sequence of two texts


def roberta_words() -> Tokenizer:
    words = Tokenizer(models.WordLevel({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return words


def bert_words(folder: Path) -> Tokenizer:
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def model_inputs(
    words: Tokenizer, window: int, left: list[str], right: list[str]
) -> list[tuple[list[int], list[int], bool]]:
    """The model inputs of each pair: tokens and types, and whether the pair counts as truncated."""
    rows: dict[float, tuple[list[int], list[int]]] = {}

    def logits(inputs: Mapping[str, Ints]) -> NDArray[np.float32]:
        assert inputs["attention_mask"].all()
        first = len(rows)
        for ids, types in zip(inputs["input_ids"].tolist(), inputs["token_type_ids"].tolist(), strict=True):
            rows[len(rows)] = (ids, types)
        return np.arange(first, len(rows), dtype=np.float32)[:, None]

    pair_scores = PairScorer(logits, words, window, 1, "").score(left, right)
    return [
        (*rows[score], bool(cut)) for score, cut in zip(pair_scores.scores.tolist(), pair_scores.truncated, strict=True)
    ]


@pytest.mark.parametrize("family", ["bert", "roberta"])
@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=8), window=st.integers(8, 30)
)
def test_texts_are_truncated_as_by_the_tokenizer(
    folder: Path, family: str, sizes: list[tuple[int, int]], window: int
) -> None:
    words = bert_words(folder) if family == "bert" else roberta_words()
    left, right = [some(m) for m, _ in sizes], [some(n, 5) for _, n in sizes]
    inputs = model_inputs(words, window, left, right)
    whole = [len(words.encode(*pair).ids) for pair in zip(left, right, strict=True)]
    words.enable_truncation(window, strategy="longest_first")
    expected = [words.encode(*pair) for pair in zip(left, right, strict=True)]
    assert [(ids, types) for ids, types, _ in inputs] == [(each.ids, each.type_ids) for each in expected]
    assert [cut for _, _, cut in inputs] == [size > window for size in whole]


def test_the_longer_text_is_truncated_first_and_then_both_equally() -> None:
    """Room for 9: 3 + 20 keeps 3 + 6; 20 + 3 keeps 6 + 3; 20 + 30 keeps 4 + 5; 20 + 20 keeps 4 + 5; 4 + 5 fits."""
    left, right = np.array([3, 20, 20, 20, 4, 30]), np.array([20, 3, 30, 20, 5, 20])
    assert longest_first(left, right, 9).tolist() == [[3, 6, 4, 4, 4, 5], [6, 3, 5, 5, 5, 4]]


# ---------------------------------------------------------------------------- scores


def by_hand(folder: Path, ids: list[int], types: list[int]) -> NDArray[np.float64]:
    """The logits of a BERT classifier, computed independently with NumPy alone."""
    weights = {name: array.astype(np.float64) for name, array in load_file(folder / "model.safetensors").items()}

    def linear(rows: Any, name: str) -> Any:
        return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def normal(rows: Any, name: str) -> Any:
        rows = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-12)
        return rows * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    tables = [weights[f"bert.embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")]
    rows = normal(tables[0][ids] + tables[1][: len(ids)] + tables[2][types], "bert.embeddings.LayerNorm")
    gelu = np.vectorize(lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2)
    for layer in ("bert.encoder.layer.0", "bert.encoder.layer.1"):
        q, k, v = (
            linear(rows, f"{layer}.attention.self.{part}").reshape(len(ids), 4, -1)
            for part in ("query", "key", "value")
        )
        strength = np.einsum("ihd,jhd->hij", q, k) / math.sqrt(q.shape[-1])
        share = np.exp(strength) / np.exp(strength).sum(-1, keepdims=True)
        mixed = np.einsum("hij,jhd->ihd", share, v).reshape(len(ids), -1)
        rows = normal(linear(mixed, f"{layer}.attention.output.dense") + rows, f"{layer}.attention.output.LayerNorm")
        wide = linear(gelu(linear(rows, f"{layer}.intermediate.dense")), f"{layer}.output.dense")
        rows = normal(wide + rows, f"{layer}.output.LayerNorm")
    logits: NDArray[np.float64] = linear(np.tanh(linear(rows[0], "bert.pooler.dense")), "classifier")
    return logits


@pytest.mark.parametrize("labels", [1, 2])
def test_a_score_is_the_logit_or_the_difference_of_two(tmp_path: Path, labels: int) -> None:
    model = make_cross(tmp_path / "cross", labels=labels)
    left, right = [some(n) for n in (0, 3, 9, 30)], [some(n, 3) for n in (4, 6, 30, 30)]
    words = bert_words(model)
    words.enable_truncation(24)
    encodings = [words.encode(*pair) for pair in zip(left, right, strict=True)]
    logits = np.array([by_hand(model, each.ids, each.type_ids) for each in encodings])
    expected = logits[:, 0] if labels == 1 else logits[:, 1] - logits[:, 0]
    pair_scores = load_pairs(str(model)).score(left, right)
    assert np.allclose(pair_scores.scores, expected, atol=1e-5)
    assert pair_scores.truncated.tolist() == [False, False, True, True]


def test_a_score_does_not_depend_on_what_else_is_scored(folder: Path) -> None:
    scorer = load_pairs(str(folder))
    texts = [some(n % 13, n) for n in range(60)]
    advances: list[int] = []
    together = scorer.score([texts[5]] * 60, texts, advances.append).scores
    assert sum(advances) == 60
    assert np.array_equal(together[::-1], scorer.score([texts[5]] * 60, texts[::-1]).scores)
    alone = [float(scorer.score([texts[5]], [text]).scores[0]) for text in texts]
    assert np.allclose(together, alone, atol=1e-6)
    assert len(scorer.score([], []).scores) == 0


def test_the_order_of_a_pair_matters(folder: Path) -> None:
    scores = load_pairs(str(folder)).score([some(4), some(7, 2)], [some(7, 2), some(4)]).scores
    assert abs(scores[0] - scores[1]) > 1e-3


def test_a_text_of_any_length_is_accepted(folder: Path) -> None:
    scorer = load_pairs(str(folder))
    endless = " ".join([some(40)] * 10_000)  # 400,000 words
    pair_scores = scorer.score([endless, some(3)], [some(3), endless])
    first = scorer.score([some(40), some(3)], [some(3), some(40)])
    assert np.allclose(pair_scores.scores, first.scores, atol=1e-6)
    assert pair_scores.truncated.all()


def test_the_window_is_no_wider_than_the_model(folder: Path) -> None:
    assert load_pairs(str(folder), 512).window == 24
    assert load_pairs(str(folder), 16).window == 16


def test_left_and_right_must_be_pairs(folder: Path) -> None:
    with pytest.raises(UsageError, match="Got 1 and 2"):
        load_pairs(str(folder)).score(["a"], ["a", "b"])


# ---------------------------------------------------------------------------- models


def test_an_exported_graph_is_used_without_weights(folder: Path, tmp_path: Path) -> None:
    twin = make_cross(tmp_path / "exported")
    (twin / "onnx").mkdir()
    (twin / "onnx/model.onnx").write_bytes(build_cross(twin).SerializeToString())
    (twin / "model.safetensors").unlink()
    pairs = [some(5)] * 9, [some(n, 2) for n in range(9)]
    assert np.allclose(
        load_pairs(str(twin)).score(*pairs).scores, load_pairs(str(folder)).score(*pairs).scores, atol=1e-5
    )


def test_roberta_has_no_types_and_another_head(folder: Path, tmp_path: Path) -> None:
    """The same weights under RoBERTa's names, with positions that begin after the padding token's number."""
    twin = make_cross(tmp_path / "roberta")
    renamed = {"bert.pooler.dense": "classifier.dense", "classifier": "classifier.out_proj"}
    weights = {}
    for name, array in load_file(folder / "model.safetensors").items():
        stem, _, last = name.rpartition(".")
        weights[f"{renamed.get(stem, stem)}.{last}".replace("bert.", "roberta.")] = array
    table = weights["roberta.embeddings.position_embeddings.weight"]
    weights["roberta.embeddings.position_embeddings.weight"] = np.vstack([np.full((2, 32), 9, np.float32), table])
    kinds = weights["roberta.embeddings.token_type_embeddings.weight"]
    weights["roberta.embeddings.token_type_embeddings.weight"] = kinds[:1].copy()
    save_file(weights, twin / "model.safetensors")
    change(twin, model_type="roberta", max_position_embeddings=26, pad_token_id=1, type_vocab_size=1)
    left, right = [some(4)] * 6, [some(n, 3) for n in range(2, 26, 4)]
    words = bert_words(folder)
    words.enable_truncation(24)
    expected = [by_hand(folder, each.ids, [0] * len(each.ids)) for each in map(words.encode, left, right)]
    scorer = load_pairs(str(twin))
    assert scorer.window == 24
    assert np.allclose(scorer.score(left, right).scores, np.concatenate(expected), atol=1e-5)


def test_more_labels_are_an_error_that_says_how_many(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has 3 labels: cross needs one, or two"):
        load_pairs(str(make_cross(tmp_path / "three", labels=3)))


def test_an_encoder_is_not_a_cross_encoder(tmp_path: Path) -> None:
    encoder = make_bert(tmp_path / "encoder")
    with pytest.raises(ModelError, match="not a sequence-classification model: its weights have no classifier"):
        load_pairs(str(encoder))
    graph = build(encoder, "fp32", "mean")
    (encoder / "model.onnx").write_bytes(graph.SerializeToString())
    with pytest.raises(ModelError, match="has 32 labels"):
        load_pairs(str(encoder))


def test_a_graph_with_strange_inputs_is_an_error(tmp_path: Path) -> None:
    twin = make_cross(tmp_path / "strange")
    graph = build_cross(twin)
    graph.graph.input[0].name = "tokens"
    for node in graph.graph.node:
        node.input[:] = ["tokens" if name == "input_ids" else name for name in node.input]
    (twin / "model.onnx").write_bytes(graph.SerializeToString())
    with pytest.raises(ModelError, match="has an unknown input 'tokens'"):
        load_pairs(str(twin))


@pytest.mark.skipif(INSTALLED, reason="transformers is installed")
def test_another_model_needs_torch_and_the_error_has_the_pip_line(tmp_path: Path) -> None:
    with pytest.raises(MissingExtra, match=r"which has no model.onnx, needs transformers.*rprs\[torch\]"):
        load_pairs(str(change(make_cross(tmp_path / "other"), hidden_act="relu")))


def test_an_unavailable_model_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(
        ModelError, match=r"Cannot download the model 'no-such/cross' \(HF_HUB_OFFLINE is set\)"
    ) as caught:
        load_pairs("no-such/cross")
    assert "\n" not in str(caught.value)
    with pytest.raises(ModelError, match="no model in the folder"):
        load_pairs("./no-such-folder")


# ---------------------------------------------------------------------------- the re-ranker


@dataclass(frozen=True)
class WithTexts:
    """The re-ranker over candidates whose texts are derived from their vectors, so that equal ones have equal texts."""

    inner: Cross

    def rerank(self, query: Sentences, candidates: Candidates, advance: Any = lambda _rows: None) -> Ranking:
        texts = {
            id: some(1 + int(hashlib.sha256(sentences.vectors.tobytes()).hexdigest(), 16) % 20)
            for id, sentences in zip(candidates.ranking.ids, candidates.sentences, strict=True)
        }
        with_texts = replace(candidates, query=Document("q", some(6)), read=lambda id: Document(id, texts[id]))
        return self.inner.rerank(query, with_texts, advance)


def test_it_fulfils_the_contract_of_re_rankers(folder: Path) -> None:
    check_reranker(WithTexts(Cross(str(folder))))


def test_its_text_parses_back(folder: Path) -> None:
    cross = parse("reranker", f"cross({folder},window=64)")
    assert cross == Cross(str(folder), 64) == parse("reranker", text(cross))
    assert text(Cross("a/b")) == "cross(model=a/b)"
    for wrong in ("cross", "cross(model='')", "cross(a,window=7)"):
        with pytest.raises(UsageError, match=r"'(model|window)'"):
            parse("reranker", wrong)


def test_texts_are_required(folder: Path) -> None:
    sentences = Sentences(np.array([[0, 3]]), np.zeros(1, dtype=np.int32))
    with pytest.raises(UsageError, match="reads the texts of the candidates"):
        Cross(str(folder)).rerank(sentences, Candidates(Ranking(("a",), np.ones(1)), [sentences], 1.0))


def test_truncations_add_up() -> None:
    total = Truncation(2, 3, 512) + Truncation(0, 2, 512) + Truncation() + Truncation(1200, 9000, 256)
    assert total == Truncation(1202, 9005, 512)
    assert total.notes == ("1,202 of 9,005 inputs truncated to 512 tokens",)
    assert Truncation(0, 10, 512).notes == ()


# ---------------------------------------------------------------------------- commands


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("cli"))


ASKED = [{"id": "q1", "text": QUERY}, {"id": "q2", "text": "The rent is due."}]


def test_a_run_reports_the_total_once(index: Path, folder: Path, tmp_path: Path) -> None:
    topics = queries(tmp_path, ASKED)
    (tmp_path / "first.trec").write_text(
        "q1 Q0 lease.txt 1 3 x\nq1 Q0 gone 2 2 x\nq2 Q0 loan.txt 1 2 x\nq2 Q0 lease.txt 2 1 x\n"
    )
    command = ("rerank", index, topics, "--run", tmp_path / "first.trec", "-o", tmp_path / "out.trec")
    lines = rprs_ok(*command, "--rerank", f"cross({folder})").err.splitlines()
    assert lines[:2] == [
        "q1: 1 of 2 documents of the run are not in the index",
        "3 of 3 inputs truncated to 24 tokens",
    ]
    assert lines[2].startswith("2 queries answered, 0 failed")
    ranked = [line.split() for line in (tmp_path / "out.trec").read_text().splitlines()]
    assert sorted((line[0], line[2]) for line in ranked) == [
        ("q1", "lease.txt"),
        ("q2", "lease.txt"),
        ("q2", "loan.txt"),
    ]
    assert "truncated" not in rprs_ok("run", index, topics, "-o", tmp_path / "run.trec").err


def test_search_and_explain_report_truncation(index: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "query.txt").write_text(QUERY)
    options = ("--rerank", f"cross({folder})", "--depth", "5", "--format", "jsonl")
    outcome = rprs_ok("search", index, tmp_path / "query.txt", "-k", "3", *options)
    assert "5 of 5 inputs truncated to 24 tokens" in outcome.err.splitlines()
    assert [hit["truncated"] for hit in outcome.objects] == [1.0, 1.0, 1.0]
    (why,) = rprs_ok("explain", index, tmp_path / "query.txt", "lease.txt", *options).objects
    assert why["notes"] == ["5 of 5 inputs truncated to 24 tokens"]


def test_a_wrong_model_is_one_line(index: Path, tmp_path: Path) -> None:
    encoder = make_bert(tmp_path / "encoder")
    topics = queries(tmp_path, ASKED)
    assert "not a sequence-classification model" in rprs_error("run", index, topics, "--rerank", f"cross({encoder})")


def test_a_study_keeps_the_count_beside_the_run(folder: Path, tmp_path: Path) -> None:
    place = write_collection(tmp_path)
    model = make_cross(tmp_path / "model")
    (place / "study.toml").write_text(
        f'data = "beir(sample)"\nmeasures = ["P@1"]\nencoder = "hashed(dimension=64)"\ndepth = 8\n\n'
        f'[systems]\nBM25 = {{ rerank = "none" }}\nBERT = {{ rerank = "cross({model})" }}\n'
    )
    steps: list[tuple[str, bool]] = []
    for _ in range(2):
        study(place / "study.toml", place / "results", report=lambda name, new, _about: steps.append((name, new)))
    assert [new for name, new in steps if name == "ranking"] == [True, False]
    (facts,) = place.glob("**/ranking/*/facts.json")
    record = json.loads(facts.read_text())
    assert (record["cut"], record["window"]) == (record["inputs"], 24)
    assert record["notes"] == [f"{record['cut']} of {record['inputs']} inputs truncated to 24 tokens"]
    assert f"BERT: {record['notes'][0]}." in (place / "results/study/report.html").read_text("utf-8")
    save_file(
        {name: -array for name, array in load_file(model / "model.safetensors").items()}, model / "model.safetensors"
    )
    study(place / "study.toml", place / "results", report=lambda name, new, _about: steps.append((name, new)))
    assert [new for name, new in steps if name == "ranking"] == [True, False, True]


# ---------------------------------------------------------------------------- parity with transformers


@pytest.fixture
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A classifier as transformers saves it, with the tokenizer of the small BERT."""
    import torch
    import transformers

    kind, labels, options = request.param
    torch.manual_seed(labels)
    base = make_cross(tmp_path / "base", positions=40)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(bert_words(base).get_vocab()),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=40,
        num_labels=labels,
        initializer_range=0.4,
        **options,
    )
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config)
    folder = tmp_path / "saved"
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((base / name).read_bytes())
    return folder


def with_transformers(folder: Path, left: list[str], right: list[str], window: int) -> NDArray[np.float64]:
    import torch
    import transformers

    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    words = transformers.AutoTokenizer.from_pretrained(folder)
    tokens = words(left, right, truncation=True, max_length=window, padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(**tokens).logits.double().numpy()
    scores: NDArray[np.float64] = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
    return scores


BERTS = [("Bert", 1, {}), ("Bert", 2, {}), ("Electra", 1, {"embedding_size": 32}), ("Bert", 2, {"hidden_act": "relu"})]
OFFSET = [("Roberta", 1, {"pad_token_id": 1, "type_vocab_size": 1}), ("MPNet", 1, {"pad_token_id": 1})]


@pytest.mark.torch
@pytest.mark.parametrize("saved", BERTS, indirect=True, ids=["one", "two", "electra", "relu"])
def test_scores_are_those_of_transformers(saved: Path) -> None:
    left, right = [some(n % 41) for n in range(0, 200, 7)], [some(n % 37, n) for n in range(0, 377, 13)]
    assert len(left) == len(right)
    expected = with_transformers(saved, left, right, 40)
    assert np.abs(load_pairs(str(saved)).score(left, right).scores - expected).max() < 1e-4
    assert expected.std() > 0.05


@pytest.mark.torch
@pytest.mark.parametrize("saved", OFFSET, indirect=True, ids=["roberta", "mpnet"])
def test_models_whose_positions_start_after_the_padding_token_too(saved: Path) -> None:
    import torch
    import transformers

    left, right = [some(n) for n in (0, 3, 9, 30)], [some(n, 3) for n in (4, 6, 30, 30)]
    words = bert_words(saved)
    words.enable_truncation(38)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(saved).eval()
    with torch.no_grad():
        expected = [
            float(model(torch.tensor([words.encode(*pair).ids])).logits) for pair in zip(left, right, strict=True)
        ]
    assert np.abs(load_pairs(str(saved)).score(left, right).scores - expected).max() < 1e-4


@pytest.mark.torch
def test_tokens_are_those_of_transformers(folder: Path) -> None:
    import transformers

    words = transformers.AutoTokenizer.from_pretrained(folder)
    sizes = [(m, n) for m in range(0, 30, 3) for n in range(0, 30, 4)]
    left, right = [some(m) for m, _ in sizes], [some(n, 5) for _, n in sizes]
    for window in (16, 23):
        tokens = words(left, right, truncation=True, max_length=window)
        inputs = model_inputs(bert_words(folder), window, left, right)
        assert [ids for ids, _, _ in inputs] == tokens["input_ids"]
        assert [types for _, types, _ in inputs] == tokens["token_type_ids"]


@pytest.mark.torch
def test_the_model_must_have_a_classifier(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="its weights have no classifier"):
        load_pairs(str(change(make_bert(tmp_path / "plain"), hidden_act="relu")))

"""Training data of a cross-encoder: triples by seed and step, held-out queries, sequences truncated as by `cross`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from rprs.adapt.sequences import Sequences
from rprs.adapt.triples import TrainingSet, held_out, training_set
from rprs.document import Document
from rprs.errors import UsageError
from rprs.index import Index
from rprs.rank import BM25
from rprs.rank.batch import first_stage
from tests.support.judged_sample import QRELS, QUERIES, write_rulings_index
from tests.support.tiny_models import make_bert

DEPTH = 8


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return Index(write_rulings_index(tmp_path_factory.mktemp("judged")))


def gathered(index: Index, valid: float = 0.0, qrels: dict[str, dict[str, int]] | None = None) -> TrainingSet:
    run = first_stage(index, QUERIES, BM25(), DEPTH)
    return training_set(index, QUERIES, qrels or QRELS, run, {}, valid)


def test_a_triple_is_a_query_a_relevant_document_and_another_of_the_first_stage(index: Index) -> None:
    run = first_stage(index, QUERIES, BM25(), DEPTH)
    for query, relevant, negative in gathered(index).draw(200, 0, 0):
        assert QRELS[query].get(relevant) == 1
        assert negative in run[query].ids
        assert negative not in QRELS[query]


def test_every_pair_is_used_once_before_any_is_repeated(index: Index) -> None:
    training = gathered(index)
    size = len(training.pairs)
    assert size == sum(map(len, QRELS.values())) == 10
    triples = [triple for step in range(6) for triple in training.draw(5, 3, step)]
    rounds = [[triple[:2] for triple in triples[start : start + size]] for start in range(0, 30, size)]
    assert all(
        Counter(pairs) == Counter((example.query.id, relevant) for example, relevant in training.pairs)
        for pairs in rounds
    )
    assert rounds[0] != rounds[1]
    assert len({triple.negative for triple in triples if triple.query == "q-mill"}) > 1


def test_triples_depend_on_seed_and_step_alone(index: Index) -> None:
    one, other = gathered(index), gathered(index)
    assert one.draw(7, 1, 5) == other.draw(7, 1, 5)
    assert one.draw(7, 1, 5) != one.draw(7, 2, 5)
    assert one.fingerprint == other.fingerprint != gathered(index, 0.4).fingerprint


def test_documents_that_are_not_in_the_index_are_left_out_and_counted(index: Index) -> None:
    qrels = {**QRELS, "q-mill": {"mill-granted-0": 2, "mill-of-old": 1, "mill-denied-0": 0}, "q-tower": {"gone": 1}}
    training = gathered(index, qrels=qrels)
    assert {example.query.id: example.relevant for example in training.train}["q-mill"] == ("mill-granted-0",)
    assert "q-tower" not in {example.query.id for example in training.train}
    assert training.notes == (
        f"2 of 9 relevant documents are not among those to rank in {index.path}: left out",
        "1 of 5 training queries lack a relevant document in the index, or another one from the first stage: left out",
    )


def test_the_query_itself_and_excluded_documents_are_no_examples(index: Index) -> None:
    inside = index.document("ferry-granted-0")
    excluded = {inside.id: frozenset({"ferry-denied-0", "ferry-denied-1"})}
    run = first_stage(index, [inside], BM25(), DEPTH, exclude=excluded)
    qrels = {inside.id: {inside.id: 1, "ferry-granted-1": 1, "ferry-denied-1": 1}}
    (example,) = training_set(index, [inside], qrels, run, excluded, 0).train
    assert example.relevant == ("ferry-granted-1",)
    assert not {inside.id, "ferry-granted-1", "ferry-denied-0", "ferry-denied-1"} & {*example.negatives}


def test_an_empty_training_set_is_one_line(index: Index) -> None:
    with pytest.raises(UsageError, match="There is no pair to train on: none of the 1 training queries"):
        gathered(index, qrels={"q-mill": {"gone": 1}})
    with pytest.raises(UsageError, match="None of the 5 queries has a relevant document"):
        gathered(index, qrels={"other": {"gone": 1}})
    run = first_stage(index, QUERIES, BM25(), 1)
    with pytest.raises(UsageError, match=r"finds no relevant document for any of the 2 queries held out.*--valid 0"):
        training_set(index, QUERIES, QRELS, run, {}, 0.4)


def test_held_out_queries_are_a_share_and_equal_texts_stay_together() -> None:
    queries = [Document(f"q{number:02}", f"text {number // 2}") for number in range(20)]
    apart = held_out(queries, 0.3)
    assert len(apart) == 6
    assert {f"q{int(id[1:]) ^ 1:02}" for id in apart} == apart
    assert apart != held_out(queries, 0.3, seed=1)
    assert held_out(queries, 0) == frozenset()
    assert len(held_out(queries, 0.01)) == 2
    assert len(held_out(queries, 0.99)) == 18
    with pytest.raises(UsageError, match="1 query with judgements is too few"):
        held_out(queries[:2], 0.5)


def test_queries_held_out_are_not_trained_on(index: Index) -> None:
    training = gathered(index, 0.4)
    assert len(training.valid) == 2
    assert {example.query.id for example in training.train} == {query.id for query in QUERIES} - training.valid.keys()


# ---------------------------------------------------------------------------- sequences


TEXTS = {"short": "the court", "long": "the tenant pays rent " * 9, "longer": "a cat and a dog " * 40, "none": ""}


@pytest.mark.parametrize("window", [12, 13])
def test_pairs_are_truncated_as_by_the_tokenizer(tmp_path: Path, window: int) -> None:
    words = Tokenizer.from_file(str(make_bert(tmp_path / "tiny") / "tokenizer.json"))
    reference = Tokenizer.from_str(words.to_str())
    reference.enable_truncation(window, strategy="longest_first")
    pairs = [(left, right) for left in TEXTS for right in TEXTS]
    sequences = Sequences(words, window, lambda key: TEXTS[key[1]], padding=1)
    batch = sequences.pairs([("", left) for left, _ in pairs], [("", right) for _, right in pairs])
    for row, (left, right) in enumerate(pairs):
        expected = reference.encode(TEXTS[left], TEXTS[right])
        mask = batch["attention_mask"][row].astype(bool)
        assert batch["input_ids"][row][mask].tolist() == expected.ids
        assert batch["token_type_ids"][row][mask].tolist() == expected.type_ids
        assert np.all(batch["input_ids"][row][~mask] == 1)
        assert mask.sum() == len(expected.ids) <= window
    assert (sequences.total, sequences.cut) == (16, 12)


def test_single_texts_keep_their_beginning(tmp_path: Path) -> None:
    words = Tokenizer.from_file(str(make_bert(tmp_path / "tiny") / "tokenizer.json"))
    batch = Sequences(words, 8, lambda key: TEXTS[key[1]]).singles([("", "longer"), ("", "short"), ("", "none")])
    assert batch["input_ids"][0].tolist() == [*words.encode(TEXTS["longer"]).ids[:7], words.token_to_id("[SEP]")]
    assert batch["attention_mask"].sum(axis=1).tolist() == [8, 4, 2]
    assert not batch["token_type_ids"].any()

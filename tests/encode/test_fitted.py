"""The fitted table: close to its teacher, deterministic, and unchanged after saving and loading."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rprs.document import Document
from rprs.encode import Fittable, Loadable, teaching
from rprs.encode import fitted as fitting
from rprs.encode.fitted import Fitted, Table
from rprs.encode.onnx import Onnx, frame, unit
from rprs.encode.regression import HELD_OUT
from rprs.errors import IndexCorrupt, UsageError
from rprs.index import Index, Writer
from rprs.progress import Advance, Progress, no_op
from rprs.spec import parse, text
from rprs.testing.encoders import check_encoder
from tests.support.tiny_models import WORDS, load_encoder, make_bert


def sentences(number: int, seed: int = 1) -> list[str]:
    """Distinct texts of three to twelve words of the small model."""
    random = np.random.default_rng(seed)
    return list(dict.fromkeys(" ".join(random.choice(WORDS, random.integers(3, 13))) for _ in range(number)))


def count_progress(shown: dict[str, int]) -> Progress:
    """Adds up the steps of each task."""

    @contextmanager
    def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        def advance(steps: int) -> None:
            shown[what] = shown.get(what, 0) + steps

        yield advance

    return progress


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    teacher = Onnx(str(make_bert(tmp_path_factory.mktemp("models") / "tiny")), "fp32")
    return Fitted(teacher, prior="contexts")


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RPRS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def table(fitted: Fitted) -> Table:
    return fitted.fit(sentences(600))


def test_a_table_fulfils_the_contract_to_the_last_bit(table: Table) -> None:
    check_encoder(table)


def test_the_table_agrees_with_its_teacher_on_new_sentences(fitted: Fitted, table: Table) -> None:
    unseen = sorted(set(sentences(300, seed=2)) - set(sentences(600)))
    cosine = np.einsum("ij,ij->i", table.encode(unseen), fitted.teacher.load().encode(unseen)).mean()
    assert cosine > 0.8
    assert cosine == pytest.approx(table.report["agreement"], abs=0.03)


def test_fitting_beats_the_prior(fitted: Fitted, table: Table) -> None:
    teacher = fitted.teacher.load()
    unseen = sorted(set(sentences(300, seed=2)) - set(sentences(600)))
    alone = teacher.token_vectors(range(teacher.words.get_vocab_size()))
    ids = [encoding.ids for encoding in teacher.words.encode_batch_fast(unseen, add_special_tokens=False)]
    prior = np.array([alone[i].sum(0) for i in ids])
    prior /= np.linalg.norm(prior, axis=1, keepdims=True)
    goal = teacher.encode(unseen)
    assert np.einsum("ij,ij->i", table.encode(unseen), goal).mean() > np.einsum("ij,ij->i", prior, goal).mean() + 0.01


def test_the_same_sentences_give_the_same_table(fitted: Fitted, table: Table) -> None:
    again = fitted.fit(sentences(600))
    assert again.rows.tobytes() == table.rows.tobytes()
    assert again.fingerprint == table.fingerprint
    assert fitted.fit(sentences(500)).fingerprint != table.fingerprint


def test_a_vector_is_the_unit_sum_of_its_tokens_rows(table: Table) -> None:
    ids = table.words.encode("the court dismissed the appeal", add_special_tokens=False).ids
    total = table.rows.astype(np.float32)[ids].sum(0)
    assert np.allclose(table.encode(["The COURT dismissed the appeal"])[0], total / np.linalg.norm(total), atol=1e-6)


def test_a_table_can_be_saved_and_loaded(table: Table, tmp_path: Path) -> None:
    table.save(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["report.json", "rows.npy", "tokenizer.json"]
    back = Table.open(tmp_path)
    assert isinstance(back.rows, np.memmap)
    assert back.fingerprint == table.fingerprint
    assert back.report == table.report
    assert np.array_equal(back.encode(sentences(50)), table.encode(sentences(50)))


def test_the_table_of_one_index_can_be_used_for_another(fitted: Fitted, tmp_path: Path) -> None:
    documents = [Document(f"d{place}", ". ".join(sentences(40, place))) for place in range(30)]
    small = replace(fitted, sample=100)  # a collection smaller than this would use the teacher itself
    with Writer(tmp_path / "first.rprs", create=True, encoder=text(small)) as writer:
        writer.add(documents)
    with Index(tmp_path / "first.rprs") as first:
        assert load_encoder(first.encoder_text).fingerprint == first.encoder.fingerprint
        with Writer(tmp_path / "second.rprs", create=True, encoder=first.encoder_text) as writer:
            writer.add(documents[:3])
        with Index(tmp_path / "second.rprs") as second:
            assert second.encoder_text == first.encoder_text
            assert np.array_equal(second.sentences("d1").vectors, first.sentences("d1").vectors)
        shutil.rmtree(tmp_path / "first.rprs" / "encoders")
        with Index(tmp_path / "second.rprs") as second, pytest.raises(IndexCorrupt, match=r"cannot be read"):
            second.encode(documents[0])


def test_a_damaged_table_is_an_error_that_names_the_folder(table: Table, tmp_path: Path) -> None:
    table.save(tmp_path)
    (tmp_path / "rows.npy").write_bytes(b"no numbers")
    with pytest.raises(IndexCorrupt, match=str(tmp_path)):
        Table.open(tmp_path)


def test_the_report_has_the_quality_of_the_fit(table: Table) -> None:
    report = json.loads(json.dumps(dict(table.report)))
    assert report["sample"] == len(sentences(600))
    assert report["tokens"] == len(WORDS)
    assert 0.8 < report["agreement"] <= 1
    assert report["lambda"] > 0


def test_the_contexts_of_tokens_teach_more_than_single_tokens(fitted: Fitted) -> None:
    unseen = sorted(set(sentences(300, seed=2)) - set(sentences(200)))
    goal = fitted.teacher.load().encode(unseen)
    agreement = {
        prior: float(
            np.einsum("ij,ij->i", replace(fitted, prior=prior).fit(sentences(200)).encode(unseen), goal).mean()
        )
        for prior in ("contexts", "tokens")
    }
    assert agreement["contexts"] > agreement["tokens"]


def test_a_fit_that_was_interrupted_goes_on_where_it_stopped(
    fitted: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path))
    monkeypatch.setattr(teaching, "PART", 200)
    monkeypatch.setattr(teaching, "RISE", -1)
    texts = sentences(600)
    learn = teaching._learn
    begun: list[Any] = []

    def stop_after_two(*arguments: Any) -> Any:
        if len(begun) == 2:
            raise KeyboardInterrupt
        begun.append(arguments)
        return learn(*arguments)

    monkeypatch.setattr(teaching, "_learn", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(texts)
    assert len(list((tmp_path / "lessons").glob("*.npz"))) == 2
    (tmp_path / "lessons" / "abandoned.npz").touch()
    os.utime(tmp_path / "lessons" / "abandoned.npz", (0, 0))
    begun.clear()
    shown: dict[str, int] = {}
    resumed = fitted.fit(texts, count_progress(shown))
    assert len(begun) == -(-len(texts) // 200) - 2
    assert shown["encoding a sample with the teacher"] == len(texts)
    assert not list((tmp_path / "lessons").iterdir())
    monkeypatch.setattr(teaching, "_learn", learn)
    assert fitted.fit(texts).fingerprint == resumed.fingerprint


def test_a_fit_to_vectors_alone_that_was_interrupted_goes_on_where_it_stopped(
    fitted: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, texts = replace(fitted, prior="tokens"), sentences(600)
    whole = fitted.fit(texts)
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path))
    monkeypatch.setattr(teaching, "PART", 200)
    encode = teaching._encode
    begun: list[Any] = []

    def stop_after_two(*arguments: Any) -> Any:
        if len(begun) == 2:
            raise KeyboardInterrupt
        begun.append(arguments)
        return encode(*arguments)

    monkeypatch.setattr(teaching, "_encode", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(texts)
    assert len(list((tmp_path / "lessons").glob("*.npz"))) == 2
    begun.clear()
    assert fitted.fit(texts).fingerprint == whole.fingerprint
    assert len(begun) == -(-len(texts) // 200) - 2
    assert not list((tmp_path / "lessons").iterdir())


def test_sentences_that_are_alike_are_not_all_encoded(fitted: Fitted, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sentences(2000)
    shown: dict[str, int] = {}
    stopped = fitted.fit(texts, count_progress(shown))
    assert stopped.report["sample"] == 1200
    assert shown["encoding a sample with the teacher"] == len(texts)
    assert fitted.fit(texts[:1200]).fingerprint == stopped.fingerprint
    monkeypatch.setattr(teaching, "RISE", -1)
    whole = fitted.fit(texts)
    assert whole.report["sample"] == len(texts)
    unseen = sorted(set(sentences(300, seed=2)) - set(texts))
    goal = fitted.teacher.load().encode(unseen)
    agreements = [np.einsum("ij,ij->i", each.encode(unseen), goal).mean() for each in (stopped, whole)]
    assert agreements[0] > agreements[1] - 0.01


def test_the_rise_is_what_the_second_half_of_the_sentences_adds_to_the_agreement(fitted: Fitted) -> None:
    teacher, texts = fitted.teacher.load(), sentences(280)
    in_context = teacher.in_context()
    assert in_context is not None
    parts = [teaching._learn(teacher, in_context, texts[start : start + 140], no_op) for start in (0, 140)]
    alone = teacher.token_vectors(range(teacher.words.get_vocab_size()))
    held_out = [text for number, text in enumerate(texts) if number % HELD_OUT == HELD_OUT - 1]
    tables = [fitted.fit(texts[:140]), fitted.fit(texts)]
    goal = teacher.encode(held_out)
    half, every = (np.einsum("ij,ij->i", table.encode(held_out), goal).mean() for table in tables)
    assert every > half
    assert teaching._rise(parts, alone) == pytest.approx(every - half, abs=0.003)


# Fits in small parts, prints what the teacher encodes, and kills itself in the middle of the given call.
OBSERVED = """
import os, signal, sys
from rprs.encode import teaching
from rprs.encode.fitted import Fitted
from rprs.encode.onnx import Onnx
model, target, rise, last, *texts = sys.argv[1:]
teaching.PART, teaching.TOKENS_PART, teaching.RISE = 100, 16, float(rise)
calls = 0
def observed(learn):
    def observing(*arguments):
        global calls
        calls += 1
        *_, items, advance = arguments
        print(learn.__name__, items[0], len(items), flush=True)
        def kill(_):
            os.kill(os.getpid(), signal.SIGKILL)
        return learn(*arguments[:-1], kill if calls == int(last) else advance)
    return observing
for name in ("_learn", "_encode_tokens"):
    setattr(teaching, name, observed(getattr(teaching, name)))
Fitted(Onnx(model, "fp32")).fit(texts).save(teaching.Path(target))
"""


@pytest.mark.parametrize(("rise", "parts"), [(-1, 5), (1, 2)], ids=["to the end", "with an early stop"])
def test_a_fit_that_is_killed_encodes_nothing_twice_and_gives_the_same_bytes(
    fitted: Fitted, tmp_path: Path, rise: int, parts: int
) -> None:
    texts = sentences(450)

    def fit(cache: str, target: str, killed_at: int = 0) -> list[str]:
        """What the teacher encoded, without a part in whose middle the process was killed."""
        (tmp_path / target).mkdir()
        arguments = (fitted.teacher.model, str(tmp_path / target), str(rise), str(killed_at))
        command = [sys.executable, "-c", OBSERVED, *arguments, *texts]
        environment = {**os.environ, "RPRS_CACHE": str(tmp_path / cache)}
        outcome = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        assert outcome.returncode == (-signal.SIGKILL if killed_at else 0)
        encoded = outcome.stdout.splitlines()
        return encoded[: killed_at - 1] if killed_at else encoded

    uninterrupted = fit("one", "whole")
    tokens = [each for each in uninterrupted if each.startswith("_encode_tokens")]
    assert len(tokens) == 4
    assert len(uninterrupted) == 4 + parts
    among_tokens = fit("another", "first", killed_at=3)
    among_sentences = fit("another", "second", killed_at=4)
    rest = fit("another", "resumed")
    assert [len(each) for each in (among_tokens, among_sentences, rest)] == [2, 3, parts - 1]
    assert among_tokens + among_sentences + rest == uninterrupted
    assert not list((tmp_path / "another" / "lessons").iterdir())
    for name in ("rows.npy", "tokenizer.json"):
        assert (tmp_path / "resumed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_damaged_part_of_a_fit_and_a_cache_that_cannot_be_written_change_nothing(
    fitted: Fitted, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_badly(path: Path, _: bytes) -> None:
        path.write_bytes(b"no arrays")

    monkeypatch.setattr(teaching, "write_atomically", write_badly)
    monkeypatch.setattr(teaching, "_folder", lambda: tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "forget", lambda _: None)
        fitted.fit(sentences(600))
    assert list(tmp_path.iterdir())
    assert fitted.fit(sentences(600)).fingerprint == table.fingerprint
    monkeypatch.setattr(teaching, "_folder", lambda: tmp_path / "file" / "below")
    (tmp_path / "file").touch()
    assert fitted.fit(sentences(600)).fingerprint == table.fingerprint


def test_only_the_beginning_of_a_long_sentence_teaches(fitted: Fitted) -> None:
    teacher = fitted.teacher.load()
    in_context = teacher.in_context()
    assert in_context is not None
    long = " ".join(sentences(20))
    learnt = teaching._learn(teacher, in_context, [long, sentences(1)[0]], no_op)
    assert learnt["lengths"].max() == min(teaching.LONGEST, teacher.window - 2)
    assert learnt["counts"].sum() == learnt["lengths"].sum()


def test_tokens_in_context_have_the_mean_that_the_teacher_pools(fitted: Fitted) -> None:
    teacher = fitted.teacher.load()
    in_context = teacher.in_context()
    assert in_context is not None
    before, after = frame(teacher.words)
    for sentence in sentences(5):
        ids = teacher.words.encode(sentence, add_special_tokens=False).ids
        vectors, tokens = in_context([[*before, *ids, *after]])
        assert tokens.shape == (1, len(ids) + 2, teacher.dimension)
        assert np.allclose(vectors, teacher.encode([sentence]), atol=1e-5)
        assert np.allclose(unit(tokens.mean(axis=1)), vectors, atol=1e-5)


def test_sentences_without_tokens_are_ignored(fitted: Fitted, table: Table) -> None:
    assert fitted.fit(["", " ", *sentences(600), "\t"]).fingerprint == table.fingerprint


def test_too_few_sentences_are_an_error(fitted: Fitted) -> None:
    with pytest.raises(UsageError, match="at least 40 sentences"):
        fitted.fit(sentences(10))


def test_text_forms_parse_back() -> None:
    spec = parse("encoder", "fitted(teacher=onnx(precision=fp32),sample=500)")
    assert spec == Fitted(Onnx(precision="fp32"), 500)
    assert parse("encoder", text(spec, full=True)) == spec
    assert str(Fitted()) == "fitted"
    assert str(Fitted(sample=10_000, prior="tokens")) == "fitted(sample=10000,prior=tokens)"
    earlier = text(Fitted(sample=10_000, prior="tokens"), full=True)  # the default of earlier versions
    assert parse("encoder", earlier) == Fitted(sample=10_000, prior="tokens")
    assert [isinstance(spec, kind) for kind in (Fittable, Loadable)] == [True, False]
    assert [isinstance(Onnx(), kind) for kind in (Fittable, Loadable)] == [False, True]
    with pytest.raises(UsageError, match="'sample' parameter of fitted must be an integer in"):
        Fitted(sample=3)
    with pytest.raises(UsageError, match="'prior' parameter of fitted must be 'contexts' or 'tokens'"):
        parse("encoder", "fitted(prior=words)")


@pytest.mark.slow
def test_the_default_fits_minilm() -> None:
    """The default teacher on a small sample of prose: agreement far above chance."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RPRS_CACHE")
        words = "The {} of the {} shall be {} by the {} before the end of the {}."
        nouns = ("tenant", "court", "vessel", "patent", "licence", "company", "month", "claim", "contract", "year")
        verbs = ("paid", "heard", "sold", "granted", "renewed")
        prose = [
            words.format(a, b, v, c, nouns[-1]) for a in nouns for b in nouns[:3] for v in verbs for c in nouns[3:5]
        ]
        assert Fitted().fit(prose).report["agreement"] > 0.85  # type: ignore[operator]

"""Whether an encoder knows the language of a collection and of a query, and what follows for the ranking."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from rprs.document import Document
from rprs.index import Index, Writer
from rprs.index.info import describe_language, index_info, language_advice
from rprs.index.language import MANY_PIECES, MOST_UNKNOWN, Familiarity, familiarity, main_script
from rprs.search import Searcher
from tests.support.cli import rprs_ok
from tests.support.indexes import documents
from tests.support.languages import TEXTS
from tests.support.tiny_models import load_encoder, make_bert

LATIN = ("english", "german", "french", "spanish", "finnish", "polish", "turkish", "vietnamese")
RUSSIAN = "Арендатор платит аренду. Хозяин чинит крышу."


@dataclass(frozen=True)
class WithTokenizer:
    """All that is measured of an encoder."""

    words: Any


def measure(tokenizer: Tokenizer, *sentences: str) -> Familiarity:
    measured = familiarity(WithTokenizer(tokenizer), sentences)
    assert measured is not None
    return measured


@pytest.fixture(scope="module")
def minilm() -> Tokenizer:
    encoder: Any = load_encoder("onnx")
    return encoder.words  # type: ignore[no-any-return]


@pytest.mark.parametrize("language", TEXTS)
def test_the_default_teacher_knows_latin_letters_alone(minilm: Tokenizer, language: str) -> None:
    measured = measure(minilm, TEXTS[language])
    assert measured.knows == (language in LATIN)
    assert measured.scripts == {main_script(TEXTS[language]): measured.knows}
    assert abs(measured.unknown - MOST_UNKNOWN) > 0.15  # no language is near the limit
    assert (measured.pieces <= MANY_PIECES) >= (language == "english")


class TestTheMeasure:
    """Worked out by hand."""

    def tokenizer(self, *vocabulary: str) -> Tokenizer:
        ids = {token: number for number, token in enumerate(("[UNK]", *vocabulary))}
        tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return tokenizer

    def test_unknown_words_and_single_letters_within_words_are_unknown(self) -> None:
        tokenizer = self.tokenizer("the", "roof", "a", "b", "##b", "##bb")
        measured = measure(tokenizer, "the roof, abbb a rent")  # the, roof, a ##bb ##b, a, [UNK]
        assert measured.unknown == pytest.approx((1 + 1 + 4) / (3 + 4 + 4 + 1 + 4))
        assert measured.pieces == pytest.approx(7 / 5)
        assert measured.scripts == {"latin": True}

    def test_digits_and_punctuation_do_not_count(self) -> None:
        tokenizer = self.tokenizer("the")
        assert measure(tokenizer, "the 12 ... 34 !") == Familiarity(0.0, 0.0, 1.0, {"latin": True})
        assert familiarity(WithTokenizer(tokenizer), ["12 ... 34", ""]) is None

    def test_an_ideograph_is_a_word_but_a_kana_is_not(self) -> None:
        tokenizer = self.tokenizer("租", "金", "の", "##の")
        tokenizer.normalizer = normalizers.BertNormalizer()  # puts spaces around ideographs
        assert measure(tokenizer, "租金屋").unknown == pytest.approx(1 / 3)
        assert measure(tokenizer, "のの").unknown == 1

    def test_every_script_has_its_own_share(self) -> None:
        measured = measure(self.tokenizer("the", "roof"), "the roof дом the")
        assert measured.knows  # most letters are Latin
        assert measured.scripts == {"cyrillic": False, "latin": True}
        assert measured.unknown == pytest.approx(3 / 13)

    def test_words_that_differ_by_accents_alone_are_confused(self) -> None:
        tokenizer = self.tokenizer("ma", "ban", "dog")
        tokenizer.normalizer = normalizers.BertNormalizer()  # strips accents
        measured = measure(tokenizer, "Má ban mà. Ma Ban dog má.")  # ma is má twice, mà and ma; ban twice; dog
        assert measured.confused == pytest.approx(2 / 7)
        assert measured.unknown == 0
        assert measured.scripts == {"latin": False}
        assert not measured.knows

    def test_a_rare_script_is_not_judged(self) -> None:
        assert list(measure(self.tokenizer("the"), "the " * 100 + "α").scripts) == ["latin"]

    @pytest.mark.parametrize(
        ("text", "script"),
        [("Zeit für Γ", "latin"), ("дом the дом", "cyrillic"), ("家賃の支払いカード", "cjk"), ("12 !", None)],
    )
    def test_the_main_script_has_the_most_letters(self, text: str, script: str | None) -> None:
        assert main_script(text) == script


class TestOtherTokenizers:
    """A SentencePiece model as in XLM-RoBERTa, and bytes as in RoBERTa, made here from the texts themselves."""

    def unigram(self, texts: Sequence[str]) -> Tokenizer:
        """Its pieces are the beginnings and parts of words, three letters long, and all letters."""
        spaced = [f"▁{word}" for text in texts for word in unicodedata.normalize("NFKC", text).split()]
        parts = {word[at : at + 3] for word in spaced for at in range(0, len(word), 3)} | {*"".join(spaced)}
        scores = [("<s>", 0.0), ("<unk>", 0.0), *((part, -10.0 / len(part)) for part in sorted(parts))]
        tokenizer = Tokenizer(models.Unigram(scores, unk_id=1, byte_fallback=False))
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        return tokenizer

    def byte_level(self, texts: Sequence[str]) -> Tokenizer:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(" ", "merged_with_next"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=3000, initial_alphabet=alphabet, show_progress=False)
        tokenizer.train_from_iterator([*texts] * 20, trainer)
        return tokenizer

    @pytest.mark.parametrize("kind", ["unigram", "byte_level"])
    def test_a_multilingual_one_knows_every_language(self, kind: str) -> None:
        tokenizer = getattr(self, kind)(list(TEXTS.values()))
        assert {language: measure(tokenizer, text).knows for language, text in TEXTS.items()} == dict.fromkeys(
            TEXTS, True
        )

    @pytest.mark.parametrize("kind", ["unigram", "byte_level"])
    def test_an_english_one_knows_no_other_script(self, kind: str) -> None:
        tokenizer = getattr(self, kind)([TEXTS[language] for language in LATIN])
        known_languages = {language for language, text in TEXTS.items() if measure(tokenizer, text).knows}
        assert known_languages == set(LATIN)

    def test_an_encoder_without_a_tokenizer_is_not_measured(self) -> None:
        assert familiarity(load_encoder("hashed"), [RUSSIAN]) is None


# ---------------------------------------------------------------------------- an index

ENGLISH = documents(
    en1="the tenant pays rent. the court dismissed the appeal.",
    en2="a laser welds steel. the tenant and the dog.",
    en3="the cat and the dog. a mat of steel.",
    en4="the court pays the tenant. rent of the first month.",
)
CYRILLIC = documents(
    ru1=RUSSIAN,
    ru2="Суд отклонил жалобу. Арендатор платит.",
    ru3="Лазер сваривает сталь. Хозяин платит.",
    ru4="Кошка и собака. Арендатор и хозяин.",
)
ENGLISH_QUERY = Document("query", "the court and the tenant. a dog pays rent.")
CYRILLIC_QUERY = Document("query", "Хозяин и арендатор. Суд отклонил аренду.")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model whose vocabulary has a few English words and no other letters."""
    return f"onnx({make_bert(tmp_path_factory.mktemp('models') / 'tiny')})"


def rankings(index: Index, query: Document) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """By the first stage alone, and by the default, which has RPRS in it if the encoder knows the query's script."""
    first = Searcher(index, rerank=None).rank(query)
    return first.ids, Searcher(index).rank(query).ids


def with_vectors(index: Index, query: Document) -> bool:
    """Whether RPRS has a weight in the default ranking of a query."""
    from rprs.rank.fuse import Fuse
    from rprs.rank.stages import load_candidates

    searcher = Searcher(index)
    assert isinstance(searcher.system.rerank, Fuse)
    first = Searcher(index, rerank=None).rank(query)
    return searcher.system.rerank.prepare(index.encode(query), load_candidates(index, query, first)).automatic > 0


@pytest.mark.parametrize("place", ["disk", "memory"])
def test_each_query_of_a_mixed_collection_is_judged_by_its_script(tmp_path: Path, encoder: str, place: str) -> None:
    if place == "disk":
        with Writer(tmp_path / "x.rprs", create=True, encoder=encoder) as writer:
            writer.add([*ENGLISH, *CYRILLIC])
        index = Index(tmp_path / "x.rprs")
    else:
        index = Index.in_memory([*ENGLISH, *CYRILLIC], encoder=encoder)
    with index:
        assert with_vectors(index, ENGLISH_QUERY)
        assert not with_vectors(index, CYRILLIC_QUERY)
        first, default = rankings(index, CYRILLIC_QUERY)
        assert default == first
        hits = Searcher(index).search(CYRILLIC_QUERY)
        assert hits[0].query_coverage is not None  # words are still compared, but no vectors
        assert not any(pair.kind == "same idea" for hit in hits for pair in hit.pairs)
        assert not any("language" in note or "script" in note for note in hits.notes)


def test_a_query_in_a_script_that_the_collection_does_not_have(tmp_path: Path, encoder: str) -> None:
    with Writer(tmp_path / "x.rprs", create=True, encoder=encoder) as writer:
        writer.add(ENGLISH)
    mixed = Document("query", f"the tenant {RUSSIAN}")  # mostly Cyrillic
    with Index(tmp_path / "x.rprs") as index:
        assert with_vectors(index, ENGLISH_QUERY)
        assert not with_vectors(index, mixed)


def test_an_index_that_was_never_measured_judges_the_query_itself(tmp_path: Path, encoder: str) -> None:
    with Writer(tmp_path / "x.rprs", create=True, encoder=encoder) as writer:
        writer.add(CYRILLIC)
        with writer.catalog.transaction():
            writer.catalog.use_statistics({}, None)
    with Index(tmp_path / "x.rprs") as index:
        assert not with_vectors(index, CYRILLIC_QUERY)
    assert "not measured" in describe_language(index_info(tmp_path / "x.rprs")["language"])


def test_the_measure_follows_the_documents(tmp_path: Path, encoder: str) -> None:
    path = tmp_path / "x.rprs"

    def language() -> dict[str, Any]:
        return dict(index_info(path)["language"])

    with Writer(path, create=True, encoder=encoder) as writer:
        writer.add(ENGLISH)
        assert language()["knows"]
        assert list(language()["scripts"]) == ["latin"]
        writer.add([*CYRILLIC, Document("ru5", f"{RUSSIAN} {RUSSIAN} {CYRILLIC_QUERY.text}")])
        grown = language()
        assert grown["scripts"] == {"cyrillic": False, "latin": True}
        assert not grown["knows"]
        writer.remove(["ru5"])
        assert language() == grown  # kept: the scripts decide, not their shares
        writer.compact()
        assert language() == grown
    with Index.in_memory([*ENGLISH, *CYRILLIC], encoder=encoder) as index:
        assert index.catalog.language["scripts"] == grown["scripts"]


def test_fitting_again_keeps_the_measure(tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "tiny")
    texts = [Document(str(n), f"the tenant pays rent {n}. {RUSSIAN} {'the dog ' * (n % 7)}") for n in range(60)]
    with Writer(tmp_path / "x.rprs", create=True, encoder=f"fitted(teacher={folder},sample=100)") as writer:
        writer.add(texts)
        before = index_info(tmp_path / "x.rprs")
        writer.refit()
        after = index_info(tmp_path / "x.rprs")
    assert "agreement" in before["encoder"]["report"]
    assert (
        before["language"] == after["language"] == {**before["language"], "scripts": {"cyrillic": False, "latin": True}}
    )


def test_what_a_user_reads_about_the_language() -> None:
    shares: dict[str, Any] = {"knows": True, "unknown": 0.01, "pieces": 1.1, "scripts": {"latin": True}}
    unknown = {"knows": False, "unknown": 0.7, "pieces": 5.0, "scripts": {"cyrillic": False, "latin": True}}
    mixed = {**shares, "scripts": {"cyrillic": False, "latin": True}}
    foreign = {**shares, "pieces": 2.3}
    assert language_advice(None) is None
    assert language_advice(shares) is None
    assert "does not know the language of these documents" in str(language_advice(unknown))
    assert "does not know the script cyrillic" in str(language_advice(mixed))
    assert "probably not trained on the language" in str(language_advice(foreign))
    assert describe_language(shares) == "known to the encoder (1.10 tokens per word, 1% of the letters unknown)"
    assert describe_language(unknown).startswith("unknown to the encoder (5.00 tokens per word, 70% of the letters")
    assert "except the script cyrillic" in describe_language(mixed)
    assert describe_language(foreign).startswith("partly known to the encoder (2.30 tokens per word")


def test_the_command_line_says_it_once_when_it_indexes(tmp_path: Path, encoder: str) -> None:
    (tmp_path / "files").mkdir()
    for document in CYRILLIC:
        (tmp_path / "files" / f"{document.id}.txt").write_text(document.text, encoding="utf-8")
    path = tmp_path / "x.rprs"
    outcome = rprs_ok("index", tmp_path / "files", "--to", path, "--encoder", encoder, width=200)
    assert " ".join(outcome.err.split()).count("does not know the language of these documents") == 1
    assert "unknown to the encoder" in rprs_ok("info", path, width=200).out
    outcome = rprs_ok("search", path, "--text", CYRILLIC_QUERY.text, width=200)
    assert "does not know" not in outcome.out + outcome.err


# ---------------------------------------------------------------------------- scripts without spaces

UNSPACED = {  # a query, a document with the same phrase, and one with the parts of the phrase
    "chinese": ("出租人应当维修房屋屋顶", "法院认为出租人应当维修房屋屋顶。", "房屋出租。人应当。屋顶维修。"),
    "japanese": ("大家は屋根を修理する義務", "大家は屋根を修理する義務がある。", "義務。修理を。屋根は大家。"),
    "thai": ("เจ้าของบ้านต้องซ่อมหลังคา", "ศาลเห็นว่าเจ้าของบ้านต้องซ่อมหลังคา", "หลังคา ซ่อม บ้าน เจ้าของ ต้อง"),
}


@pytest.mark.parametrize("language", UNSPACED)
@pytest.mark.parametrize("first", ["cosine", "blend"])
def test_phrases_of_scripts_without_spaces(language: str, first: str) -> None:
    """The document with the whole phrase comes before the one with its parts."""
    query, phrase, parts = UNSPACED[language]
    with Index.in_memory(
        documents(phrase=phrase, parts=parts, other="A laser."), encoder="hashed(dimension=32)"
    ) as index:
        assert index.has_phrases
        ranking = Searcher(index, first=first, rerank=None).rank(Document("query", query))
    assert ranking.ids[:2] == ("phrase", "parts")

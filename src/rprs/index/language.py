"""Whether an encoder knows the language of a text, judged by how its tokenizer takes the words apart.

A tokenizer has whole words and long pieces of the languages that its model was trained on. In a script that the model
was not trained on, words become unknown tokens, single letters, or bytes; without its accents, a word can become
another one:

    unknown    the share of letters in unknown tokens, in tokens of a single letter within a word, or in several tokens
               for one letter; a whole ideograph is a word and counts as known
    confused   the share of words with the same tokens as another, more frequent word
    pieces     the mean number of tokens per word, in scripts with spaces

The first two decide, for each script on its own, since a collection may be in several. In a foreign language of a known
script, words become several pieces, but sentences with the same words still have similar vectors: `pieces` is
reported and changes no ranking. docs/method.md has the values of the default teacher and the rankings behind this rule.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rprs.index.catalog import Catalog
from rprs.index.sample import sample_sentences
from rprs.index.segment import Segment
from rprs.scoring.distinct import count_values
from rprs.text.marks import COMBINING, UNSPACED
from rprs.text.pieces import codes_of

__all__ = [
    "MANY_PIECES",
    "MOST_UNKNOWN",
    "SAMPLE",
    "Familiarity",
    "familiarity",
    "knows_text",
    "main_script",
    "measure_language",
    "measure_sample",
]

SAMPLE = 1000  # sentences to judge a collection by
BEGINNING = 20_000  # characters to judge a query by
MOST_UNKNOWN = 0.5  # with a larger share of unknown letters, the encoder does not know the script
MOST_CONFUSED = 0.05  # of words, likewise
MANY_PIECES = 1.5  # with more tokens per word, the encoder was probably trained on other languages
LEAST_SHARE = 0.01  # of the letters of a sample: a rarer script is not judged
_LETTERS = re.compile(rf"[^\W\d_{COMBINING}]+|[{COMBINING}]+")
_SPACED_WORD = re.compile(rf"(?:(?![{UNSPACED}])(?:[^\W\d_]|[{COMBINING}]))+")
_IDEOGRAPH = re.compile(r"[㐀-䶿一-鿿\uf900-\ufaff\U00020000-\U0003ffff]")
_SPACE = "▁"  # SentencePiece's token for a space, which it places on the letter behind it


@dataclass(frozen=True, slots=True)
class Familiarity:
    """How familiar a tokenizer is with the words of a text or collection."""

    unknown: float
    confused: float
    pieces: float
    scripts: Mapping[str, bool]  # whether it knows each of them, that with the most letters first

    @property
    def knows(self) -> bool:
        """Whether it knows the main script."""
        return next(iter(self.scripts.values()))


def measure_language(catalog: Catalog, segments: Mapping[int, Segment], encoder: Any) -> dict[str, Any]:
    """How familiar an encoder is with a sample of the collection, as the catalog stores it; empty if unknown."""
    return measure_sample(encoder, sample_sentences(catalog, segments, SAMPLE))


def measure_sample(encoder: Any, sentences: Sequence[str]) -> dict[str, Any]:
    """The same for a sample of sentences."""
    measured = familiarity(encoder, sentences)
    if measured is None:
        return {}
    return {
        "knows": measured.knows,
        "unknown": round(measured.unknown, 3),
        "confused": round(measured.confused, 3),
        "pieces": round(measured.pieces, 2),
        "scripts": dict(measured.scripts),
    }


def knows_text(language: Mapping[str, Any], text: str, encoder: Callable[[], Any]) -> bool:
    """Whether an encoder knows the main script of a text, from what `measure_language` found, or else from the text.

    `encoder` loads it and is called only if the collection has (almost) no text in that script. An encoder without a
    tokenizer counts as knowing every language.
    """
    verdict = language.get("scripts", {}).get(main_script(text))
    if verdict is None:
        measured = familiarity(encoder(), [text[:BEGINNING]])
        return measured is None or measured.knows
    return bool(verdict)


# ---------------------------------------------------------------------------- scripts


def main_script(text: str) -> str | None:
    """The script of most letters of a text: "latin", "cyrillic", "cjk" ...; None if it has no letters."""
    counts = Counter[str]()
    for letter, count in _letter_counts(text):  # 20 times faster than a Counter of the text
        if letter.isalpha():
            counts[_script(letter)] += count
    return min(counts, key=lambda script: (-counts[script], script), default=None)


def _letter_counts(text: str) -> Iterator[tuple[str, int]]:
    """The different characters of a text, and how often it has each."""
    counts = count_values(codes_of(text))
    for code in np.flatnonzero(counts).tolist():
        yield chr(code), int(counts[code])


@cache
def _script(letter: str) -> str:
    """The first word of a letter's Unicode name; "cjk" for ideographs and kana, which Japanese mixes."""
    name = unicodedata.name(letter, "unnamed").split()[0].split("-")[0].lower()
    return "cjk" if name in ("hiragana", "katakana", "halfwidth") else name


# ---------------------------------------------------------------------------- the measure


def familiarity(encoder: Any, sentences: Sequence[str]) -> Familiarity | None:
    """How familiar an encoder is with some sentences; None if it has no tokenizer, or if they have no letters."""
    tokenizer: Any = getattr(encoder, "words", None)
    if not hasattr(tokenizer, "encode_batch"):
        return None
    letters, unknown, tokens, words = Counter[str](), Counter[str](), 0, Counter[str]()
    encodings = tokenizer.encode_batch(list(sentences), add_special_tokens=False)
    for sentence, encoding in zip(sentences, encodings, strict=True):
        words.update(word.casefold() for word in _SPACED_WORD.findall(sentence))
        for run, count, known in _runs(tokenizer, sentence, encoding):
            letters[_script(run[0])] += len(run)
            unknown[_script(run[0])] += 0 if known else len(run)
            tokens += count if _SPACED_WORD.match(run) else 0
    if not letters:
        return None
    of_script, confused = _confused(tokenizer, words)
    total, all_words = letters.total(), words.total()
    return Familiarity(
        unknown=unknown.total() / total,
        confused=confused.total() / max(all_words, 1),
        pieces=tokens / all_words if all_words else 1.0,
        scripts={
            script: unknown[script] / count <= MOST_UNKNOWN
            and confused[script] / max(of_script[script], 1) <= MOST_CONFUSED
            for script, count in sorted(letters.items(), key=lambda item: (-item[1], item[0]))
            if count >= LEAST_SHARE * total
        },
    )


def _confused(tokenizer: Any, words: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    """By script, the number of words, and of those with the same tokens as another, more frequent word."""
    groups = defaultdict[tuple[int, ...], list[tuple[int, str]]](list)
    for word, encoding in zip(words, tokenizer.encode_batch([*words], add_special_tokens=False), strict=True):
        groups[tuple(encoding.ids)].append((words[word], _script(word[0])))
    total, confused = Counter[str](), Counter[str]()
    for group in groups.values():
        for place, (count, script) in enumerate(sorted(group, reverse=True)):
            total[script] += count
            confused[script] += count if place else 0
    return total, confused


def _runs(tokenizer: Any, sentence: str, encoding: Any) -> Iterator[tuple[str, int, bool]]:
    """The letters that a token covers, the number of tokens that cover them, and whether they are known."""
    unknown: str | None = getattr(tokenizer.model, "unk_token", None)
    places: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for id, token, place in zip(encoding.ids, encoding.tokens, encoding.offsets, strict=True):
        if token != _SPACE:
            places.setdefault(place, []).append((id, token))
    for (start, end), covering in places.items():
        run = "".join(_LETTERS.findall(sentence[start:end]))
        if run:
            id, token = covering[0]
            present = token != unknown and tokenizer.token_to_id(token) == id  # Unigram: an unknown token is its text
            alone = len(run) == 1 and not _IDEOGRAPH.match(run) and _within_word(sentence, start, end)
            yield run, len(covering), present and not alone and len(covering) == 1


def _within_word(sentence: str, start: int, end: int) -> bool:
    """Whether a token is a part of a longer word, not a word of one letter such as "a"."""
    return bool(_LETTERS.match(sentence[max(start - 1, 0) : start]) or _LETTERS.match(sentence[end : end + 1]))

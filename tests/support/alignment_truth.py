"""Pairs of documents whose alignment is known, and how much of it is found.

`python -m tests.support.alignment_truth` prints the tables of docs/evidence.md.

Sentences of the sample documents and of the licence are copied, retyped, moved, split, joined, quoted and edited;
others are replaced by paraphrases. Unrelated sentences, other ones in each text, stand around them.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import rprs
from rprs.alignment.values import KINDS, Alignment, Kind, Span
from rprs.alignment.words import fold_words
from rprs.read import read_one
from rprs.text.split import SentenceSplitter
from tests.support.paraphrases import PARAPHRASES
from tests.support.paths import ROOT

__all__ = ["Case", "Score", "cases", "markdown", "measure"]

ENCODER = "onnx(model=all-MiniLM-L6-v2,precision=int8)"  # the default teacher
PER_CASE = 4  # changed sentences in a pair of documents
ROUNDS = 12  # pairs of documents for each change
EDITS = (1, 2, 3, 4, 6)
_OTHER_WORDS = "harbour violet seven quickly treaty marble northern candle anybody seldom bicycle copper".split()
# These have to do with the sample documents or with each other, so they are no unrelated sentences.
_RELATED = ("The directors", "A party that", "The software", "The witness", "The tenant", "The lease", "The patent")


@dataclass(frozen=True)
class Link:
    """A passage of the query and its counterpart."""

    query: Span
    document: Span
    kind: Kind


@dataclass(frozen=True)
class Case:
    """Two texts and what connects them."""

    change: str
    query: str
    document: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Score:
    """Of how many links a pair of their kind was found, and how many pairs of that kind are on a link."""

    links: int = 0
    found: int = 0
    pairs: int = 0
    right: int = 0

    @property
    def recall(self) -> float:
        return self.found / self.links if self.links else 1.0

    @property
    def precision(self) -> float:
        return self.right / self.pairs if self.pairs else 1.0

    def __add__(self, other: Score) -> Score:
        mine, others = (self.links, self.found, self.pairs, self.right), vars(other).values()
        return Score(*(left + right for left, right in zip(mine, others, strict=True)))


# ---------------------------------------------------------------------------- sentences and their changes


@cache
def base_sentences() -> tuple[str, ...]:
    """Sentences of 15 to 45 words of the sample documents and of the licence."""
    texts = [read_one(path).text for path in sorted((ROOT / "docs/sample/files").rglob("*.*"))]
    texts.append((ROOT / "LICENSE").read_text("utf-8"))
    splitter, sentences = SentenceSplitter(), dict[str, None]()
    for text in texts:
        for sentence in splitter.split(text).texts(text):
            line = " ".join(sentence.split())
            if 15 <= len(line.split()) <= 45 and re.fullmatch(r"[A-Z][^.:;]*\.", line):
                sentences[line] = None
    return tuple(sentences)


def retyped(sentence: str, _: random.Random) -> str:
    """Other quotes, hyphens, white space and capital letters."""
    table = str.maketrans({"'": "’", '"': "“", "-": "‑"})
    return sentence.translate(table).upper().replace(" ", "  ", 3).replace(", ", ",\n", 1)


def split(sentence: str, _: random.Random) -> str:
    words = sentence.split()
    middle = len(words) // 2
    return f"{' '.join(words[:middle]).rstrip(',')}. {words[middle].capitalize()} {' '.join(words[middle + 1 :])}"


def quoted(sentence: str, rng: random.Random) -> str:
    """A clause of 8 to 12 words of it, in a sentence of its own."""
    words = sentence.rstrip(".").split()
    length = rng.randint(8, 12)
    start = rng.randrange(len(words) - length + 1)
    return f'As a cautious reader once remarked, "{" ".join(words[start : start + length])}", and nobody objected then.'


def edited(sentence: str, rng: random.Random, edits: int) -> str:
    """Some words replaced, left out or added, at places that are not adjacent."""
    words = sentence.rstrip(".").split()
    for place in sorted(rng.sample(range(1, len(words) - 1, 2), edits), reverse=True):
        other = rng.choice(_OTHER_WORDS)
        words[place : place + 1] = {0: [other], 1: [], 2: [words[place], other]}[rng.randrange(3)]
    return " ".join(words) + "."


# ---------------------------------------------------------------------------- documents


def cases() -> Iterator[Case]:
    """All pairs of documents, the same each time."""
    kinds: dict[str, Kind] = {"copied": "identical", "retyped": "identical", "moved": "identical"}
    kinds |= {"split": "identical", "joined": "identical", "quoted": "identical"}
    for change in (*(f"edited by {edits}" for edits in EDITS), "split and edited", "joined and edited"):
        kinds[change] = "reworded"
    for change, kind in kinds.items():
        for number in range(ROUNDS):
            yield _case(change, kind, random.Random(f"{change} {number}"))
    for number in range(0, len(PARAPHRASES), PER_CASE):
        yield _paraphrased(PARAPHRASES[number : number + PER_CASE], random.Random(number))


def _case(change: str, kind: Kind, rng: random.Random) -> Case:
    chosen = rng.sample(base_sentences(), PER_CASE)
    units = [(sentence, _changed(change, sentence, rng)) for sentence in chosen]
    if change.startswith("joined"):
        units = [_joined(*pair, change, rng) for pair in zip(chosen[::2], chosen[1::2], strict=True)]
    return _place(change, kind, units, rng, moved=change == "moved")


def _changed(change: str, sentence: str, rng: random.Random) -> str:
    if change.startswith("edited"):
        return edited(sentence, rng, int(change.split()[-1]))
    functions = {"retyped": retyped, "split": split, "quoted": quoted}
    if change == "split and edited":
        return split(edited(sentence, rng, 2), rng)
    return functions[change](sentence, rng) if change in functions else sentence


def _joined(first: str, second: str, change: str, rng: random.Random) -> tuple[str, str]:
    if "edited" in change:
        joined = f"{edited(first, rng, 2).rstrip('.')}, and {edited(second, rng, 2)[0].lower()}"
        return f"{first} {second}", joined + edited(second, random.Random(0), 2)[1:]
    return f"{first} {second}", f"{first.rstrip('.')}, and {second[0].lower()}{second[1:]}"


def _paraphrased(pairs: Iterable[tuple[str, str]], rng: random.Random) -> Case:
    chosen = list(pairs)
    taken = {sentence for pair in chosen for sentence in pair}
    return _place("paraphrased", "same idea", chosen, rng, taken=taken)


def _place(
    change: str,
    kind: Kind,
    units: list[tuple[str, str]],
    rng: random.Random,
    *,
    moved: bool = False,
    taken: Iterable[str] = (),
) -> Case:
    """Both texts: the units among unrelated sentences."""
    others = [pair[0] for pair in PARAPHRASES if pair[0] not in set(taken) and not pair[0].startswith(_RELATED)]
    rng.shuffle(others)
    half = len(others) // 2
    order = list(range(len(units)))
    query, left = _text([unit[0] for unit in units], order, others[:half:2])
    if moved:
        order = order[::-1]
    document, right = _text([unit[1] for unit in units], order, others[half::2])
    links = tuple(Link(left[number], right[number], kind) for number in range(len(units)))
    return Case(change, query, document, links)


def _text(units: list[str], order: list[int], others: list[str]) -> tuple[str, dict[int, Span]]:
    text, spans, rest = "", dict[int, Span](), iter(others)
    for number in order:
        text += f"{next(rest)} {next(rest)} "
        spans[number] = len(text), len(text) + len(units[number])
        text += units[number] + " "
    return text + next(rest), spans


# ---------------------------------------------------------------------------- scores


def measure() -> dict[str, dict[Kind, Score]]:
    """By change, and for "all" together: the scores of each kind."""
    scores: dict[str, dict[Kind, Score]] = {}
    for case in cases():
        alignment = rprs.align(case.query, case.document, encoder=ENCODER)
        own = scores.setdefault(case.change, dict.fromkeys(KINDS, Score()))
        for kind in KINDS:
            own[kind] += _score(case, alignment, kind)
    total = {kind: sum((own[kind] for own in scores.values()), Score()) for kind in KINDS}
    return {**scores, "all": total}


def _score(case: Case, alignment: Alignment, kind: Kind) -> Score:
    links = [link for link in case.links if link.kind == kind]
    pairs = [pair for pair in alignment.pairs if pair.kind == kind]
    found = sum(
        any(_meets(pair.query_span, link.query) and _meets(pair.document_span, link.document) for pair in pairs)
        and _is_covered(case, link, alignment, kind)
        for link in links
    )
    right = sum(
        any(_meets(pair.query_span, link.query) and _meets(pair.document_span, link.document) for link in case.links)
        and (kind != "identical" or _same_words(pair.query, pair.document))
        for pair in pairs
    )
    return Score(len(links), found, len(pairs), right)


def _is_covered(case: Case, link: Link, alignment: Alignment, kind: Kind) -> bool:
    """Whether most words of a link (of a quotation: 8) are in pairs of its kind with its counterpart."""
    words = fold_words(case.query)
    inside = (words.starts >= link.query[0]) & (words.starts < link.query[1])
    covered = inside & False
    for pair in alignment.pairs:
        if pair.kind == kind and _meets(pair.document_span, link.document):
            covered |= inside & (words.starts >= pair.query_span[0]) & (words.starts < pair.query_span[1])
    return bool(covered.sum() >= (8 if case.change == "quoted" else 0.5 * inside.sum()))


def _meets(span: Span, other: Span) -> bool:
    return span[0] < other[1] and other[0] < span[1]


def _same_words(left: str, right: str) -> bool:
    return bool(fold_words(left).hashes.tolist() == fold_words(right).hashes.tolist())


def markdown(scores: dict[str, dict[Kind, Score]]) -> str:
    """The table of docs/evidence.md."""
    lines = ["| change | passages | expected | found | pairs found, by kind |", "|---|---|---|---|---|"]
    for change, own in scores.items():
        if change == "all":
            continue
        (kind, score) = next((kind, score) for kind, score in own.items() if score.links)
        pairs = ", ".join(f"{other.pairs} {name}" for name, other in own.items() if other.pairs)
        lines.append(f"| {change} | {score.links} | {kind} | {score.recall:.0%} | {pairs} |")
    lines += ["", "| kind | recall | precision |", "|---|---|---|"]
    lines += [f"| {kind} | {score.recall:.3f} | {score.precision:.3f} |" for kind, score in scores["all"].items()]
    return "\n".join(lines)


def _show_errors() -> None:
    counts = Counter[str]()
    for case in cases():
        alignment = rprs.align(case.query, case.document, encoder=ENCODER)
        for pair in alignment.pairs:
            if not any(_meets(pair.query_span, x.query) and _meets(pair.document_span, x.document) for x in case.links):
                counts[case.change] += 1
                print("wrong", case.change, pair.kind, f"{pair.similarity:.2f}", pair.query, "⇄", pair.document)
        for link in case.links:
            if not _is_covered(case, link, alignment, link.kind):
                left, right = case.query[slice(*link.query)], case.document[slice(*link.document)]
                print("missed", case.change, left, "⇄", right)
    print(counts)


if __name__ == "__main__":
    import sys

    if "--errors" in sys.argv:
        _show_errors()
    else:
        print(markdown(measure()))

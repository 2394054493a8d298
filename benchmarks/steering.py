"""What marks are worth: MAP on the documents that are still to be found, once some relevant ones have been marked.

    python -m benchmarks.steering INDEX COLLECTION [QUERIES]

COLLECTION is a BEIR folder, INDEX the index of its documents, QUERIES the number of queries to sample (all by default);
they come in random order, and Ctrl-C ends with the figures of those so far.
A simulated user searches with the default system and marks the one or three relevant documents with the highest ranks.
These are removed from rankings and judgements (the residual collection), for all systems alike. The user also marks the
three query sentences most similar to the first marked document as key, or the quarter least similar to it as ignored,
and the three best documents that are not relevant as not relevant.

Beside the marks: Rocchio over the cosine of phrases, and RM3 (unigrams, Dirichlet smoothing), both with the marked
documents as feedback. Their weights are those that turn out best on the same queries, which favours them. p is that of
Fisher's randomisation test of the difference from the ranking without marks, not corrected for the number of tests; the
interval is that of 95% of the mean differences of queries drawn with replacement.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Sentences
from rprs.evaluation.significance import Pair, fisher
from rprs.index import Index
from rprs.progress import silent
from rprs.rank import System, load_candidates
from rprs.rank.cosine import Cosine
from rprs.rank.grams import query_grams
from rprs.rank.stages import Mask
from rprs.rank.steering import Marks, Part, query_parts, rank_parts, rerank_parts
from rprs.rank.two_stages import run_stages
from rprs.read import read_qrels, read_queries
from rprs.scoring.bm25 import top
from rprs.scoring.steering import KEY, LIKE, MOST

Floats = NDArray[np.float64]

DEPTH = 100
LIKE_WEIGHTS = (LIKE,)  # of each relevant document; more of them to choose another
KEY_WEIGHTS = (KEY,)
UNLIKE_WEIGHTS = (0.1,)  # of each document that is not relevant, below 0
ROCCHIO_WEIGHTS = (0.1, 0.25, 0.5, 0.75, 1.0)  # of the mean of the relevant documents
RM3_WEIGHTS = (0.1, 0.3, 0.5, 0.7)  # of the feedback
RM3_TERMS = 100
DIRICHLET = 2000.0
MARKED_SENTENCES = 3
IGNORED_SHARE = 0.25
RESAMPLED = 10_000


@dataclass(frozen=True)
class Task:
    """A query with what its user marked, and the documents that are left to find."""

    query: Document
    marked: tuple[str, ...]
    rest: frozenset[str]
    allowed: Mask
    wrong: tuple[str, ...]  # the best documents that are not relevant


class CachedScores:
    """A first stage that computes the scores for a document once, since several rankings need them."""

    def __init__(self, ranker: Any) -> None:
        self.rank = ranker.rank
        self.scores = lru_cache(maxsize=64)(ranker.scores)


class Bench:
    """Everything that the measurements of one collection share."""

    def __init__(self, index: Index) -> None:
        self.index, self.system = index, System()
        self.sentences = lru_cache(maxsize=64)(self._sentences)
        self.first = CachedScores(self.system.first)
        self.cosines = lru_cache(maxsize=64)(lambda document: Cosine().scores(document, index))
        self.likelihoods = lru_cache(maxsize=64)(self._likelihood)
        self.total = int(index.lengths.sum())

    def _sentences(self, document: Document) -> Sentences:
        return self.index.query_sentences(document)

    def numbers(self, ids: Sequence[str]) -> list[int]:
        """The numbers of documents of the index."""
        return [number for number in map(self.index.number, ids) if number is not None]

    def tasks(self, query: Document, relevant: set[str], sizes: Sequence[int]) -> dict[int, Task]:
        """For each number of marked documents, the task of a query, where it has enough relevant documents."""
        index = self.index
        allowed = np.ones(len(index), dtype=bool)
        own = {*index.same_content(query), index.number(query.id)}
        allowed[[number for number in own if number is not None]] = False
        known = {id for id in relevant if (number := index.number(id)) is not None and allowed[number]}
        ranking = run_stages(self.system, index, query, allowed, silent).final.ids
        order = [id for id in ranking if id in known] + sorted(known - set(ranking))
        wrong = tuple(id for id in ranking if id not in known)[:3]
        tasks = {}
        for size in sizes:
            if len(order) > size:
                mask = allowed.copy()
                mask[self.numbers(order[:size])] = False
                tasks[size] = Task(query, tuple(order[:size]), frozenset(order[size:]), mask, wrong)
        return tasks

    def steered(self, parts: Sequence[Part], allowed: Mask) -> tuple[str, ...]:
        """The ranking of the default system for some parts."""
        first = rank_parts(self.first, parts, self.index, DEPTH, allowed)
        assert self.system.rerank is not None
        candidates = load_candidates(self.index, parts[0].document, first)
        return rerank_parts(self.system.rerank, parts, candidates, self.index, self.sentences).ids

    def rocchio(self, task: Task, weight: float) -> tuple[str, ...]:
        """The sum of unit vectors of words and phrases: a sum of cosines."""
        feedback = np.mean([self.cosines(self.index.document(id)) for id in task.marked], axis=0)
        return self._best(self.cosines(task.query) + weight * feedback, task.allowed)

    def rm3(self, task: Task, weight: float) -> tuple[str, ...]:
        """The query's language model, mixed with that of the relevant documents (Abdul-Jaleel et al. 2004)."""
        texts = [self.index.document(id).text for id in task.marked]
        query, feedback = self.likelihoods((task.query.text,)), self.likelihoods(tuple(texts), RM3_TERMS)
        scores = (1 - weight) * query + weight * feedback
        return self._best(np.asarray(scores - scores.min() + 1.0), task.allowed)

    def _likelihood(self, texts: tuple[str, ...], terms: int | None = None) -> Floats:
        """The cross-entropy of the language model of some texts with that of each document; greater is better.

        The model has the given number of terms, those with the greatest shares.
        """
        index = self.index
        shares: Counter[str] = Counter()
        for text in texts:
            counted = Counter(index.analyzer.terms(text))
            length = sum(counted.values())
            shares.update({word: count / length for word, count in counted.items()})
        model = dict(shares.most_common(terms))
        mass = sum(model.values())
        weights = np.array([share / mass for share in model.values()])
        grams = query_grams(list(model), index, 1).grams[0]
        cf = np.zeros(len(weights))
        for postings in grams.postings:
            for term, (start, stop) in enumerate(zip(postings.starts, postings.stops, strict=True)):
                cf[term] += postings.counts[start:stop].sum()
        scores: Floats = -np.log(index.lengths + DIRICHLET)
        for postings, numbers in zip(grams.postings, index.numbers, strict=True):
            for term, (start, stop) in enumerate(zip(postings.starts, postings.stops, strict=True)):
                if stop > start:
                    prior = DIRICHLET * cf[term] / self.total
                    gain = np.log1p(postings.counts[start:stop] / prior)
                    scores[numbers[postings.documents[start:stop]]] += weights[term] * gain
        return scores

    def _best(self, scores: Floats, allowed: Mask) -> tuple[str, ...]:
        return tuple(self.index.ids[number] for number in top(scores, DEPTH, allowed))

    def sentence_marks(self, task: Task) -> tuple[Marks, Marks]:
        """The key and the ignored sentences that follow from the first marked document."""
        query, document = self.sentences(task.query), self.index.sentences(task.marked[0])
        similarity = (query.vectors.astype(np.float32) @ document.vectors.astype(np.float32).T).max(axis=1)
        order = np.argsort(-similarity, kind="stable")
        spans = [(int(start), int(end)) for start, end in query.spans]
        key = [spans[number] for number in order[:MARKED_SENTENCES]]
        ignored = [spans[number] for number in order[len(order) - int(IGNORED_SHARE * len(order)) :]]
        return Marks(key=tuple(key)), Marks(ignore=tuple(ignored))


def average_precision(ranking: Sequence[str], relevant: frozenset[str]) -> float:
    """AP at 100."""
    precision, found = 0.0, 0
    for rank, id in enumerate(ranking, start=1):
        if id in relevant:
            found += 1
            precision += found / rank
    return precision / len(relevant)


def measure(bench: Bench, task: Task) -> dict[str, float]:
    """AP of every system on what is left to find."""
    index, query, size = bench.index, task.query, len(task.marked)
    rankings: dict[str, Callable[[], tuple[str, ...]]] = {
        "no marks": lambda: bench.steered([Part(query, 1.0)], task.allowed)
    }

    def add(name: str, parts: list[Part]) -> None:
        rankings[name] = lambda: bench.steered(parts, task.allowed)

    documents = [index.document(id) for id in task.marked]
    for weight in LIKE_WEIGHTS:
        each = min(weight, MOST / size)
        add(f"relevant, weight {weight:.2f}", [Part(query, 1.0), *(Part(one, each) for one in documents)])
    for weight in ROCCHIO_WEIGHTS:
        rankings[f"Rocchio, weight {weight}"] = lambda weight=weight: bench.rocchio(task, weight)  # type: ignore[misc]
    for weight in RM3_WEIGHTS:
        rankings[f"RM3, weight {weight}"] = lambda weight=weight: bench.rm3(task, weight)  # type: ignore[misc]
    if size == 1:
        key, ignored = bench.sentence_marks(task)
        sentences = bench.sentences(query)
        parts = query_parts(query, sentences, key, index)
        for weight in KEY_WEIGHTS:
            add(f"key sentences, weight {weight}", [parts[0], Part(parts[1].document, weight)])
        if ignored.ignore:
            add("ignored sentences", query_parts(query, sentences, ignored, index))
        mask = task.allowed.copy()
        mask[bench.numbers(task.wrong)] = False
        rankings["not relevant, left out"] = lambda: bench.steered([Part(query, 1.0)], mask)
        wrong = [index.document(id) for id in task.wrong]
        for weight in UNLIKE_WEIGHTS:
            pushed = [Part(query, 1.0), *(Part(one, -weight) for one in wrong)]
            rankings[f"not relevant, weight -{weight} each"] = lambda pushed=pushed: bench.steered(pushed, mask)  # type: ignore[misc]
    return {name: average_precision(rank(), task.rest) for name, rank in rankings.items()}


def main() -> None:
    """Measure one collection."""
    path, folder = Path(sys.argv[1]), Path(sys.argv[2])
    relevance = {
        query: {id for id, grade in judged.items() if grade > 0}
        for query, judged in read_qrels(next(iter(sorted((folder / "qrels").glob("*.tsv"))))).items()
    }
    queries = [query for query in read_queries(folder, strict=True) if len(relevance.get(query.id, ())) > 1]
    queries = Random(0).sample(queries, min(len(queries), int(sys.argv[3])) if len(sys.argv) > 3 else len(queries))
    values: dict[int, dict[str, list[float]]] = {1: {}, 3: {}}
    with Index(path) as index, suppress(KeyboardInterrupt):
        bench = Bench(index)
        for number, query in enumerate(queries, start=1):
            tasks = bench.tasks(query, relevance[query.id], (1, 3))
            measured = {size: measure(bench, task) for size, task in tasks.items()}
            for size, systems in measured.items():
                for name, value in systems.items():
                    values[size].setdefault(name, []).append(value)
            if number % 20 == 0 or number in (5, len(queries)):
                print(f"{number} of {len(queries)} queries, {process_time():.0f} s", file=sys.stderr, flush=True)
    show(values)


def show(values: dict[int, dict[str, list[float]]]) -> None:
    """The means, as a Markdown table."""
    print("| marked | system | queries | MAP | change | 95% of the difference | p |", "|---" * 7 + "|", sep="\n")
    for size, systems in values.items():
        base = np.array(systems.get("no marks", ()))
        for name, each in systems.items():
            mean, pair = np.mean(each), Pair(base[:, None], np.array(each)[:, None], lambda parts: parts[..., 0])
            cells = [str(size), name, str(len(each)), f"{mean:.4f}"]
            if name != "no marks":
                low, high = _interval(np.array(each) - base)
                cells += [f"{mean / base.mean() - 1:+.1%}", f"{low:+.4f} to {high:+.4f}", f"{fisher([pair])[0]:.4f}"]
            print(f"| {' | '.join(cells)} |")


def _interval(differences: Floats) -> tuple[float, float]:
    """Between which values 95% of the means of queries lie that are drawn with replacement."""
    drawn = np.random.default_rng(0).integers(0, len(differences), (RESAMPLED, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


if __name__ == "__main__":
    main()

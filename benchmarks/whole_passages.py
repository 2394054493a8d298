"""`rprs passages` as a whole on a large index: `python -m benchmarks.whole_passages [INDEX] [--sentences 5000000]`.

Without an index, one of drawn words is written to a temporary folder (5 million sentences: 7 GB): documents of 50
sentences with 14 words each, in segments of 10,000 documents, with texts, phrases, and the vectors of `hashed`. One
sentence in a hundred is a clause that some fifty documents share. Three passages are looked up: such a clause, a
sentence that no other document has, and five sentences in a row. `first` is the first look-up of a passage in a
process, `best` and `warm` the best and the median of ten further ones, `processor` their processor time, then the three
steps of which they consist; `command` is the command line from its start to its end. Prints Markdown.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.drawn import VOCABULARY, Drawn, draw, postings
from rprs.document import Document
from rprs.encode.hashed import Hashed
from rprs.index import Writer
from rprs.index.files import save, save_rows, sync_place
from rprs.index.rows import SegmentRow
from rprs.index.segment import ends, folder, hash_term, vectors_path, write_phrases
from rprs.scoring.phrases import stream
from rprs.scoring.vectors import to_grid

SENTENCES, EACH, WORDS = 5_000_000, 50, 14  # of all documents, of a document; words of a sentence
SEGMENT = 10_000  # documents
DIMENSION = 384
SHARED, CLAUSES = 0.01, 1_000  # of the sentences; different ones
BLOCK = 10_000  # sentences that are encoded at a time
ROUNDS = 11
NAMES = [f"w{number}" for number in range(VOCABULARY)]

MEASURED = """
import statistics, sys
from time import perf_counter, process_time
from rprs import Index, Searcher

path, rounds, *passages = sys.argv[1:]
searcher = Searcher(Index(path))
for number, passage in enumerate(passages):
    times, worked, parts = [], [], []
    for _ in range(int(rounds)):
        started, before = perf_counter(), process_time()
        results = searcher.passages(passage)
        times.append(perf_counter() - started)
        worked.append(process_time() - before)
        parts.append(results.seconds)
    median = {part: statistics.median(each[part] for each in parts[1:]) for part in parts[0]}
    kinds = [hit.pair.kind for hit in results.hits]
    warm = min(times[1:]), statistics.median(times[1:]), statistics.median(worked[1:])
    seconds = times[0], *warm, *median.values()
    print(*seconds, len(kinds), kinds.count("identical"))
"""


def main() -> None:
    """Write an index if none is given, and measure it in new processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", nargs="?", type=Path)
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        path = options.index or Path(temporary) / "drawn.rprs"
        if not path.exists():
            write_index(path, options.sentences)
        print(
            "| passage | first | best | warm | processor | phrases | vectors | matches | hits | identical | command |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|---|")
        passages, texts = zip(*_passages(options.sentences), strict=True)
        command = [sys.executable, "-c", MEASURED, str(path), str(ROUNDS), *texts]
        lines = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
        for name, text, line in zip(passages, texts, lines, strict=True):
            *seconds, hits, identical = line.split()
            cells = [name, *(f"{float(value):.2f} s" for value in seconds), hits, identical]
            print(f"| {' | '.join(cells)} | {_command(path, text):.2f} s |", flush=True)


def _command(path: Path, text: str) -> float:
    started = perf_counter()
    command = [sys.executable, "-m", "rprs", "passages", str(path), text]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return perf_counter() - started


def _passages(sentences: int) -> Iterator[tuple[str, str]]:
    """A clause of many documents, a sentence of one document, and five sentences of one."""
    documents, is_clause = next(_segments(sentences))
    yield "a shared clause", _text(documents[is_clause][:1])[0]
    own = documents[0][~is_clause[0]]
    yield "one sentence", _text(own[:1])[0]
    yield "five sentences", _text(own[:5])[0]


def _segments(sentences: int) -> Iterator[tuple[NDArray[np.int32], NDArray[np.bool_]]]:
    """The words of the documents of each segment (documents, sentences, words), and which sentences are clauses."""
    clauses = draw(np.random.default_rng(0), CLAUSES, WORDS)
    for number, first in enumerate(range(0, sentences // EACH, SEGMENT)):
        random = np.random.default_rng((1, number))
        size = min(SEGMENT, sentences // EACH - first)
        words = draw(random, size, EACH, WORDS)
        is_clause = random.random((size, EACH)) < SHARED
        words[is_clause] = clauses[random.integers(0, CLAUSES, int(is_clause.sum()))]
        yield words, is_clause


def _text(sentences: NDArray[np.int32]) -> tuple[str, NDArray[np.int64]]:
    """A text of these sentences (sentences, words), and their spans."""
    texts = [f"{' '.join([NAMES[word] for word in row])}." for row in sentences.tolist()]
    sizes = np.array([len(text) for text in texts])
    starts = np.cumsum(sizes + 1) - sizes - 1
    return " ".join(texts), np.stack([starts, starts + sizes], axis=1)


# ---------------------------------------------------------------------------- writing


def write_index(path: Path, sentences: int) -> None:
    """An index of drawn words with texts, phrases, spans and vectors."""
    encoder = f"hashed(dimension={DIMENSION})"
    writer = _ArrayWriter(path, create=True, analyzer="words(language=none)", encoder=encoder)
    with writer:
        writer.add([])
        directions = Hashed(DIMENSION).encode(NAMES)  # (words, dimension), of length 1 instead of normally distributed
        directions *= np.sqrt(DIMENSION)
        hashes = np.array([hash_term(name.encode()) for name in NAMES], dtype=np.uint64)
        for number, (words, _) in enumerate(_segments(sentences)):
            writer.write(words, hashes, directions)
            print(f"{(number + 1) * SEGMENT:,} documents", file=sys.stderr, flush=True)
        writer.finish()


class _ArrayWriter(Writer):
    def write(self, words: NDArray[np.int32], hashes: NDArray[np.uint64], directions: NDArray[np.float32]) -> None:
        """Commit one segment."""
        number, size, generation = self.catalog.next_segment(), len(words), self.catalog.generation
        assert generation is not None
        flat = words.reshape(size, -1)
        texts, spans = zip(*(_text(document) for document in words), strict=True)
        arrays = postings(Drawn(flat, NAMES), hashes) | _sentences(list(spans))
        with self._change():
            (self.path / folder(number)).mkdir(parents=True)
            files = [save(self.path, f"{folder(number)}/{name}.npy", array) for name, array in arrays.items()]
            files += write_phrases(self.path, number, stream(list(hashes[flat])))
            blocks = _vectors(words.reshape(-1, WORDS), directions)
            files.append(save_rows(self.path, vectors_path(number, generation), blocks, np.float16, (DIMENSION,)))
            sync_place(self.path, folder(number))
            with self.catalog.transaction():
                self.catalog.forget_statistics()
                self.catalog.add_segment(SegmentRow(number, size, size * EACH, flat.size, generation), files)
                for ordinal, text in enumerate(texts):
                    document = Document(f"{number:03d}-{ordinal:06d}", text)
                    self.catalog.add_document(document, (number, ordinal), (EACH * WORDS, EACH))


def _sentences(spans: list[NDArray[np.int64]]) -> dict[str, NDArray[Any]]:
    return {
        "lengths": np.full(len(spans), EACH * WORDS, dtype=np.int64),
        "sentence_offsets": ends(np.full(len(spans), EACH)),
        "spans": np.concatenate(spans).astype(np.uint32),
        "paragraphs": np.zeros(len(spans) * EACH, dtype=np.int32),
    }


def _vectors(words: NDArray[np.int32], directions: NDArray[np.float32]) -> Iterator[NDArray[Any]]:
    """The vectors of sentences: the sum of those of their words, of length 1."""
    from scipy.sparse import csr_array

    for first in range(0, len(words), BLOCK):
        block = words[first : first + BLOCK]
        bounds = np.arange(0, block.size + 1, WORDS)
        rows = (
            csr_array((np.ones(block.size, np.float32), block.ravel(), bounds), (len(block), VOCABULARY)) @ directions
        )
        yield to_grid(rows / np.linalg.norm(rows, axis=1, keepdims=True))


if __name__ == "__main__":
    main()

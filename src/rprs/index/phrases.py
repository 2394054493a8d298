"""Phrases over several segments: their merger, and the norms of the documents for the cosine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.files.mapping import release
from rprs.index.files import File, RowFile, save
from rprs.index.segment import Segment, ends, folder
from rprs.progress import Advance, no_op
from rprs.scoring import bm25, cosine, phrases
from rprs.scoring.phrases import SPACE, Inverted, Postings, Stream
from rprs.scoring.threads import spread

__all__ = [
    "NO_PHRASES",
    "KnownPhrases",
    "find_phrases",
    "live_frequencies",
    "merge_phrases",
    "squared_norms",
    "streams",
]

RANGE = 2**22  # bytes of postings that are decoded at a time
RELEASED = 8  # ranges after which the memory of the files is given back
LEAST_LOOKUPS = 2_000  # of phrases in segments: for fewer, threads gain nothing

KnownPhrases = tuple[NDArray[np.uint32], NDArray[np.int64]]  # in ascending order; how many live documents have each
NO_PHRASES: KnownPhrases = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.int64)

Masks = Sequence[NDArray[np.bool_]]


def streams(segments: Sequence[Segment]) -> list[Stream]:
    """The phrases of segments; empty if any segment has none."""
    present = [segment.phrases for segment in segments if segment.phrases is not None]
    return present if len(present) == len(segments) else []


def find_phrases(segments: Sequence[Segment], queried: NDArray[np.uint32]) -> list[Postings]:
    """The postings of phrases, which are in ascending order, by segment; empty if any segment has none."""
    present = streams(segments)
    for segment in segments if present else ():
        segment.check_phrases(queried)
    few = len(present) * len(queried) < LEAST_LOOKUPS
    return spread(partial(phrases.find, phrases=queried), present, one_thread=few)


def live_frequencies(located: Sequence[Postings], size: int, numbers: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """(size,): how many live documents have each term or phrase, from its postings in each segment."""
    df, unused = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for postings, documents in zip(located, numbers, strict=True):
        live = documents >= 0
        if live.all():
            df += postings.stops - postings.starts
        else:
            columns = (postings.starts, postings.stops, postings.documents, postings.counts)
            bm25.live_counts(*columns, live, df, unused)
    return df


def merge_phrases(root: Path, number: int, parts: Sequence[Stream], numbers: Sequence[NDArray[Any]]) -> list[File]:
    """Write several streams as the phrases of one segment; `numbers` are their documents' new ones, -1 to drop one."""
    kept = sum(int((mapping >= 0).sum()) for mapping in numbers) / max(sum(map(len, numbers)), 1)
    buckets = int(sum(len(part.directory) - 1 for part in parts) * kept)  # of a part of the documents, fewer
    bits = min((max(buckets, 1) - 1).bit_length(), phrases.MOST_BITS)
    shift, sizes = 32 - bits, []
    with RowFile(root, f"{folder(number)}/phrase_data.npy", np.uint8) as file:
        for low, high in _ranges(parts, bits):
            merged = _merge_range(parts, numbers, low, high)
            counts, data = phrases.encode(merged, bits, low >> shift, ((high - 1) >> shift) + 1)
            sizes.append(counts)
            file.append(data)
        written = file.close()
    return [written, save(root, f"{folder(number)}/phrase_directory.npy", ends(np.concatenate(sizes)))]


def _merge_range(parts: Sequence[Stream], numbers: Sequence[NDArray[Any]], low: int, high: int) -> Inverted:
    """The postings of the phrases in [low, high), with their documents renumbered."""
    kept = []
    for part, mapping in zip(parts, numbers, strict=True):
        postings = phrases.decode(part, low, high)
        moved = mapping[postings.documents]
        live = moved >= 0
        kept.append((postings.phrases[live], moved[live].astype(np.uint32), postings.counts[live]))
    columns = [np.concatenate(column) for column in zip(*kept, strict=True)]
    order = np.argsort(columns[0], kind="stable")  # documents ascend from part to part
    return Inverted(*(column[order] for column in columns))


def squared_norms(
    segments: Sequence[Segment], numbers: Sequence[NDArray[np.int64]], documents: int, advance: Advance = no_op
) -> NDArray[np.float64]:
    """(documents, 3): the squared norms of each document's terms, phrases of two and phrases of three terms.

    `numbers` are the numbers of each segment's documents, -1 for a removed one; only live documents count in df. Sums
    are formed in the order of the hashes, so that they do not depend on how documents are distributed over segments.
    """
    for segment in segments:
        segment.check_postings()
        segment.release_postings()
    live = [mapping >= 0 for mapping in numbers]
    idf = cosine.idf(np.arange(documents + 1), documents)
    terms = _term_squares(segments, live, idf)
    longer = _phrase_squares(streams(segments), live, idf, advance)
    squares = np.zeros((documents, 3), dtype=np.float64)
    for mapping, mask, first, rest in zip(numbers, live, terms, longer, strict=True):
        squares[mapping[mask], 0] = first[mask]
        squares[mapping[mask], 1:] = rest[mask]
    return squares


def _term_squares(segments: Sequence[Segment], live: Masks, idf: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """By segment (documents,): the squared norms of single terms."""
    frequencies = [np.zeros(len(segment.term_hash), dtype=np.int64) for segment in segments]
    for segment, mask, df in zip(segments, live, frequencies, strict=True):
        bounds = (segment.posting_offsets[:-1], segment.posting_offsets[1:])
        postings = (segment.posting_documents, segment.posting_counts)
        bm25.live_counts(*bounds, *postings, mask, df, np.zeros_like(df))
        segment.release_postings()
    place = _term_numbers(segments)
    totals = np.bincount(place, np.concatenate([np.empty(0), *frequencies])).astype(np.int64)
    squares = [np.zeros(len(mask), dtype=np.float64) for mask in live]
    start = 0
    for segment, sums in zip(segments, squares, strict=True):
        weights = idf[totals[place[start : start + len(segment.term_hash)]]]
        postings = (segment.posting_documents, segment.posting_counts)
        cosine.add_squares(segment.posting_offsets, weights, *postings, cosine.LOGARITHMS, sums)
        segment.release_postings()
        start += len(segment.term_hash)
    return squares


def _term_numbers(segments: Sequence[Segment]) -> NDArray[np.int64]:
    """(terms of all segments,): a number for each distinct term; its bytes decide where two terms share a hash."""
    hashes = [segment.term_hash for segment in segments]
    if any(np.any(each[1:] == each[:-1]) for each in hashes):
        numbers: dict[bytes, int] = {}
        terms = (segment.term(place) for segment in segments for place in range(len(segment.term_hash)))
        return np.array([numbers.setdefault(term, len(numbers)) for term in terms], dtype=np.int64)
    _, inverse = np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *hashes]), return_inverse=True)
    return np.asarray(inverse, dtype=np.int64)


def _phrase_squares(
    parts: Sequence[Stream], live: Masks, idf: NDArray[np.float64], advance: Advance
) -> list[NDArray[np.float64]]:
    """By segment (documents, 2): the squared norms of phrases of two and of three terms."""
    squares = [np.zeros((len(mask), 2), dtype=np.float64) for mask in live]
    if not parts:
        return squares
    for number, (low, high) in enumerate(_ranges(parts, 32)):
        if number % RELEASED == 0:
            for part in parts:
                release(part.data)
        decoded = [phrases.decode(part, low, high) for part in parts]
        size = sum(len(postings.phrases) for postings in decoded)
        table = np.full(1 << (2 * size).bit_length(), -1, dtype=np.int64)
        totals = np.zeros(len(table), dtype=np.int64)
        for postings, mask in zip(decoded, live, strict=True):
            phrases.total_frequencies(postings.phrases, postings.documents, mask, table, totals)
        for postings, sums in zip(decoded, squares, strict=True):
            columns = (postings.phrases, postings.documents, postings.counts)
            phrases.add_squares(*columns, table, totals, idf, cosine.LOGARITHMS, sums)
        advance(size)
    return squares


def _ranges(parts: Sequence[Stream], bits: int) -> Iterator[tuple[int, int]]:
    """Ranges that cover all phrases, each of about `RANGE` bytes and a multiple of 2^(32 − bits) wide."""
    size = sum(len(part.data) for part in parts)
    count = 1 << min((size // RANGE).bit_length(), bits)
    yield from pairwise(range(0, SPACE + 1, SPACE // count))

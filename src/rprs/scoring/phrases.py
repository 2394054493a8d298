"""Phrases, the sequences of two and three adjacent terms: their hashes, and their postings as a stream of bytes.

A phrase is identified by 32 bits: 31 of a hash of its terms and one for its length, so that no dictionary of phrases
is needed. Two phrases with the same bits count as one. That is rare (with 12 million phrases, it happens to fewer than
1% of them), and it does not depend on how documents are distributed over segments.

The postings of a segment are ordered by phrase, then by document. The stream is cut into 2^B buckets by the first B
bits of the phrases; `directory` holds the offset of each bucket, and B follows from its size. A bucket is a sequence of

    phrase   := phrase − previous phrase (at first, − least phrase of the bucket), bytes of its postings, postings
    posting  := 2 · (document − previous document) + (1 if count > 1 else 0) [, count − 2 if count > 1]

where the document before the first is −1 and all numbers are LEB128, 7 bits per byte, least first. A look-up skips the
postings of other phrases by their bytes. The kernels stop at the end of a bucket and ignore documents that do not
exist, so that a damaged file can give wrong numbers, but nothing worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.progress import Advance, no_op
from rprs.scoring.cosine import count_weight

__all__ = [
    "SPACE",
    "Inverted",
    "Postings",
    "Stream",
    "add_squares",
    "add_weighted_squares",
    "bucket_bits",
    "decode",
    "encode",
    "find",
    "hash_pair",
    "hash_triple",
    "in_order",
    "invert",
    "phrase_hashes",
    "stream",
    "total_frequencies",
]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPACE = 2**32  # all possible phrases
PER_BUCKET = 8  # phrases, at most, on average
MOST_BITS = 26  # of a directory: 512 MB
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def phrase_hashes(terms: NDArray[np.uint64]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """(t − 1,) and (t − 2,): the phrases of two and of three terms in a text, from the hashes (t,) of its terms."""
    pairs, triples = _phrase_hashes(terms)
    return pairs, triples


@compiled(inline="always")
def hash_pair(first, second):  # type: ignore[no-untyped-def]
    """The phrase of two terms: the last bit is 0."""
    return np.uint32(_join(first, second) >> np.uint64(32) & ~np.uint64(1))


@compiled(inline="always")
def hash_triple(first, second, third):  # type: ignore[no-untyped-def]
    """The phrase of three terms: the last bit is 1."""
    return np.uint32(_join(_join(first, second), third) >> np.uint64(32) | np.uint64(1))


@compiled(inline="always")
def _join(hashed, term):  # type: ignore[no-untyped-def]
    """One hash of two, with its bits spread (the finaliser of SplitMix64)."""
    value = hashed * _FACTOR + term
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled
def _phrase_hashes(terms):  # type: ignore[no-untyped-def]
    pairs, triples = np.empty(max(len(terms) - 1, 0), np.uint32), np.empty(max(len(terms) - 2, 0), np.uint32)
    for place in range(len(pairs)):
        pairs[place] = hash_pair(terms[place], terms[place + 1])
    for place in range(len(triples)):
        triples[place] = hash_triple(terms[place], terms[place + 1], terms[place + 2])
    return pairs, triples


@dataclass(frozen=True, slots=True)
class Inverted:
    """Postings in the order of a segment: by phrase, then by document."""

    phrases: NDArray[np.uint32]  # (postings,)
    documents: NDArray[np.uint32]  # (postings,)
    counts: NDArray[np.int64]  # (postings,)


def invert(phrases: NDArray[np.uint32], documents: NDArray[Any]) -> Inverted:
    """Count every phrase in every document, from its occurrences in any order."""
    keys = (phrases.astype(np.uint64) << np.uint64(32)) | documents.astype(np.uint64)
    keys.sort()
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)
    counts = np.diff(np.concatenate([first, [len(keys)]])).astype(np.int64)
    keys = keys[first]
    return Inverted((keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32), counts)


@dataclass(frozen=True, slots=True)
class Stream:
    """Encoded postings: the offset of each bucket (2^B + 1,), and the bytes of all buckets."""

    directory: NDArray[np.int64]
    data: NDArray[np.uint8]


def stream(sequences: Sequence[NDArray[np.uint64]], advance: Advance = no_op) -> Stream:
    """The phrases of documents, from the hashes of each document's terms in text order; `advance` after two steps."""
    parts = [part for sequence in sequences for part in phrase_hashes(sequence)]
    advance(1)
    documents = np.repeat(np.arange(len(sequences), dtype=np.uint32).repeat(2), [len(part) for part in parts])
    postings = invert(np.concatenate([np.empty(0, dtype=np.uint32), *parts]), documents)
    advance(1)
    distinct = 1 + int(np.count_nonzero(np.diff(postings.phrases)))
    sizes, data = encode(postings, bucket_bits(distinct))
    return Stream(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), data)


def bucket_bits(phrases: int) -> int:
    """B, for that many distinct phrases."""
    return min((phrases // PER_BUCKET).bit_length(), MOST_BITS)


def encode(postings: Inverted, bits: int, first: int = 0, last: int | None = None) -> tuple[Ints, Bytes]:
    """The sizes in bytes of the buckets first:last (all of them by default), and their bytes.

    All postings must belong to these buckets.
    """
    last = 1 << bits if last is None else last
    sizes = np.zeros(last - first, dtype=np.int64)
    arrays = (postings.phrases, postings.documents, postings.counts)
    size = _write(*arrays, 32 - bits, first, sizes, np.empty(0, np.uint8), False)
    data = np.empty(size, dtype=np.uint8)
    _write(*arrays, 32 - bits, first, np.zeros_like(sizes), data, True)
    return sizes, data


@compiled
def _write(phrases, documents, counts, shift, first, sizes, data, writing):  # type: ignore[no-untyped-def]
    """Write the postings to `data`, or only measure them; add the size of every bucket to `sizes`."""
    at, posting = 0, 0
    bucket, previous = np.int64(-1), np.int64(0)
    while posting < phrases.size:
        phrase, start = np.int64(phrases[posting]), at
        end = posting
        while end < phrases.size and phrases[end] == phrase:
            end += 1
        if (phrase >> shift) != bucket:
            bucket = phrase >> shift
            previous = bucket << shift
        size = _write_postings(documents, counts, posting, end, data, 0, False)
        at = _put(data, at, phrase - previous, writing)
        at = _put(data, at, size, writing)
        at = _write_postings(documents, counts, posting, end, data, at, True) if writing else at + size
        sizes[bucket - first] += at - start
        previous, posting = phrase, end
    return at


@compiled
def _write_postings(documents, counts, first, last, data, at, writing):  # type: ignore[no-untyped-def]
    """Write the postings first:last of one phrase, or only measure them; the offset behind them."""
    before = np.int64(-1)
    for place in range(first, last):
        document, count = np.int64(documents[place]), counts[place]
        at = _put(data, at, 2 * (document - before) + (1 if count > 1 else 0), writing)
        if count > 1:
            at = _put(data, at, count - 2, writing)
        before = document
    return at


@compiled
def _put(data, at, value, writing):  # type: ignore[no-untyped-def]
    while value >= 128:
        if writing:
            data[at] = (value & 127) | 128
        value >>= 7
        at += 1
    if writing:
        data[at] = value
    return at + 1


@compiled(inline="always")
def _get(data, at, end):  # type: ignore[no-untyped-def]
    """A number and the offset behind it; 0 at the end of the data.

    Most numbers have one or two bytes. These are read without a branch on which of both it is, as no processor could
    predict it.
    """
    if at + 1 < data.size:
        low, high = np.int64(data[at]), np.int64(data[at + 1])
        more = low >> 7
        if more & (high >> 7) == 0:
            return (low & 127) | ((high * more) << 7), at + 1 + more
    return _get_long(data, at, end)


@compiled
def _get_long(data, at, end):  # type: ignore[no-untyped-def]
    """The same for a number of any length."""
    value, shift = np.int64(0), 0
    while at < end and shift < 63:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
    return value, at


@compiled(inline="always")
def _posting(data, at, end):  # type: ignore[no-untyped-def]
    """The distance to the next document, the count in it, and the offset behind the posting.

    Without a branch for one or two bytes and a count of one byte or none, as in `_get`.
    """
    if at + 2 < data.size:
        low, high = np.int64(data[at]), np.int64(data[at + 1])
        more = low >> 7
        value = (low & 127) | ((high * more) << 7)
        several, extra = value & 1, np.int64(data[at + 1 + more])
        if more & (high >> 7) | several & (extra >> 7) == 0:
            return value >> 1, 1 + several * (1 + extra), at + 1 + more + several
    return _posting_long(data, at, end)


@compiled
def _posting_long(data, at, end):  # type: ignore[no-untyped-def]
    """The same for numbers of any length."""
    value, at = _get_long(data, at, end)
    if value & 1 == 0:
        return value >> 1, np.int64(1), at
    count, at = _get_long(data, at, end)
    return value >> 1, count + 2, at


@compiled(inline="always")
def _phrase(data, at, end):  # type: ignore[no-untyped-def]
    """The distance to the next phrase, and the offsets of its postings and behind them."""
    step, at = _get(data, at, end)
    size, at = _get(data, at, end)
    at = min(at, end)  # in a damaged file, the bytes of a number may cross the end
    return step, at, at + min(size, end - at)


@compiled
def _shift(directory):  # type: ignore[no-untyped-def]
    """32 − B, from the size of the directory."""
    shift = 32
    while (np.int64(1) << (32 - shift)) < directory.size - 1:
        shift -= 1
    return shift


# ---------------------------------------------------------------------------- a few phrases of a query


@dataclass(frozen=True, slots=True)
class Postings:
    """Postings of some phrases or terms: those of number g are the places `starts[g]:stops[g]` of the other arrays."""

    starts: Ints
    stops: Ints
    documents: NDArray[np.int32]
    counts: NDArray[Any]


def find(stream: Stream, phrases: NDArray[np.uint32]) -> Postings:
    """The postings of phrases; none for a phrase that does not occur."""
    first, last = np.zeros(len(phrases), dtype=np.int64), np.zeros(len(phrases), dtype=np.int64)
    _locate(stream.directory, stream.data, phrases, first, last)
    room = int((last - first).sum())  # a posting has at least one byte
    documents, counts = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.uint32)
    bounds = np.zeros(len(phrases) + 1, dtype=np.int64)
    size = _read(stream.data, first, last, bounds[1:], documents, counts)
    return Postings(bounds[:-1], bounds[1:], documents[:size], counts[:size])


@compiled
def _locate(directory, data, phrases, first, last):  # type: ignore[no-untyped-def]
    """The offsets of the first byte of each phrase's postings and of the end of the last; both stay 0 if it is absent.

    Returns the sum of `_touch`, which the compiler would leave out otherwise.
    """
    shift = _shift(directory)
    touched = _touch(directory, data, phrases, shift, first)
    for row in range(phrases.size):
        target = np.int64(phrases[row])
        bucket = target >> shift
        at, end = directory[bucket], min(directory[bucket + 1], data.size)
        phrase = bucket << shift
        first[row] = 0
        while 0 <= at < end and phrase <= target:
            step, start, at = _phrase(data, at, end)
            phrase += step
            if phrase == target:
                first[row], last[row] = start, at
                break
    return touched


@compiled
def _read(data, first, last, stops, documents, counts):  # type: ignore[no-untyped-def]
    """Decode the postings between offsets, phrase by phrase; `stops` receives the end of each. Their number."""
    size = 0
    for row in range(first.size):
        at, end, document = first[row], last[row], np.int64(-1)
        while at < end:
            step, count, at = _posting(data, at, end)
            document += step
            documents[size], counts[size] = document, count
            size += 1
        stops[row] = size
    return size


@compiled
def _touch(directory, data, phrases, shift, starts):  # type: ignore[no-untyped-def]
    """Read the first byte of every bucket, so that memory delivers many of them at once; their sum.

    The loop over the phrases would wait for each of them: without this, it takes one and a half times as long.
    """
    total = np.int64(0)
    for row in range(phrases.size):
        starts[row] = directory[np.int64(phrases[row]) >> shift]
    for row in range(phrases.size):
        if 0 <= starts[row] < data.size:
            total += data[starts[row]]
    return total


# ---------------------------------------------------------------------------- all phrases, in ranges that fit in memory


def decode(stream: Stream, low: int, high: int) -> Inverted:
    """The postings of the phrases in [low, high)."""
    directory, data = stream.directory, stream.data
    nothing, none = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.int64)
    size = int(_decode(directory, data, low, high, nothing, nothing, none))
    phrases, documents = np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.uint32)
    counts = np.empty(size, dtype=np.int64)
    _decode(directory, data, low, high, phrases, documents, counts)
    return Inverted(phrases, documents, counts)


@compiled
def _decode(directory, data, low, high, phrases, documents, counts):  # type: ignore[no-untyped-def]
    """Decode as many postings as there is room for; the number of all of them."""
    shift, row = _shift(directory), 0
    for bucket in range(low >> shift, ((high - 1) >> shift) + 1):
        at, end = directory[bucket], min(directory[bucket + 1], data.size)
        phrase = bucket << shift
        while 0 <= at < end and phrase < high:
            step, start, at = _phrase(data, at, end)
            phrase += step
            if phrase < low or phrase >= high:
                continue
            document = -1
            while start < at:
                step, count, start = _posting(data, start, at)
                document += step
                if row < phrases.size:
                    phrases[row], documents[row], counts[row] = phrase, document, count
                row += 1
    return row


@compiled
def total_frequencies(phrases, documents, live, table, totals):  # type: ignore[no-untyped-def]
    """Add the live documents of every phrase of a segment's postings to a hash table that all segments share.

    `table` holds the phrases, -1 in a free place, and `totals` the numbers of documents. The size of both is a power of
    two and larger than the number of distinct phrases.
    """
    for row in range(phrases.size):
        if documents[row] < live.size and live[documents[row]]:
            place = _place(np.int64(phrases[row]), table)
            table[place] = phrases[row]
            totals[place] += 1


@compiled
def _place(phrase, table):  # type: ignore[no-untyped-def]
    """The place of a phrase in the hash table, or the free place for it (linear probing)."""
    place = (phrase * 0x2545F491) & (table.size - 1)
    while table[place] != phrase and table[place] >= 0:
        place = (place + 1) & (table.size - 1)
    return place


@compiled
def add_squares(  # type: ignore[no-untyped-def]
    phrases, documents, counts, table, totals, idf, logarithms, squares
):
    """Add the squared weights of a segment's postings to `squares` (documents, 2): two terms, three terms.

    `idf` holds the weight for every number of documents; the hash table is that of `total_frequencies`.
    """
    for row in range(phrases.size):
        if documents[row] < len(squares):
            total = totals[_place(np.int64(phrases[row]), table)]
            value = idf[min(total, idf.size - 1)] * count_weight(counts[row], logarithms)
            squares[documents[row], phrases[row] & 1] += value * value


@compiled
def add_weighted_squares(phrases, documents, counts, weights, logarithms, squares):  # type: ignore[no-untyped-def]
    """Add the squared weights of postings to columns 1 and 2 of `squares` (documents, 3); `weights` are their idf."""
    for row in range(phrases.size):
        if documents[row] < len(squares):
            value = weights[row] * count_weight(counts[row], logarithms)
            squares[documents[row], 1 + (phrases[row] & 1)] += value * value


@compiled
def in_order(directory, data, documents):  # type: ignore[no-untyped-def]
    """Whether a stream is complete: phrases ascend within their buckets, documents ascend and exist."""
    shift = _shift(directory)
    for bucket in range(directory.size - 1):
        at, end = directory[bucket], directory[bucket + 1]
        if not 0 <= at <= end <= data.size:
            return False
        phrase, first = bucket << shift, True
        while at < end:
            step, start = _get(data, at, end)
            size, start = _get(data, start, end)
            phrase += step
            if not 0 < size <= end - start or phrase >> shift != bucket or (step == 0 and not first):
                return False
            document, first, at = -1, False, start + size
            while start < at:
                step, _, start = _posting(data, start, at)
                document += step
                if step < 1 or document >= documents:
                    return False
            if start != at:
                return False
    return True

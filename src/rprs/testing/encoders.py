"""Contract suite for encoders, for the built-in ones and for the tests of plug-ins: `check_encoder(encoder)`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rprs.encode import Encoder

__all__ = ["SENTENCES", "check_encoder"]

SENTENCES = (
    "The tenant shall pay the rent on the first day of every month.",
    "Rent is due monthly, on the first.",
    "A method of welding two sheets of steel by means of a laser beam.",
    "The court dismissed the appeal with costs.",
    "Yes.",
    "The cat sat on the mat; the dog, as ever, did not.",
    "Größe, naïveté, Ελληνικά, русский текст, עברית and العربية.",
    "本合同自双方签字之日起生效。",
    "😀👩‍👩‍👧‍👦 \u200b zero\u0000width\ufeff and \U0010ffff odd \ud7ff marks ﷽",
    "x" * 500,
    "Section 12(b)(3)(iv): see 17 U.S.C. § 107, ¶ 4 — “fair use”.",
)


def check_encoder(encoder: Encoder, tolerance: float = 0.0) -> None:
    """Raise AssertionError if an encoder violates its contract.

    `tolerance` is how much an entry of a vector may depend on the sentences that are encoded together.
    """
    assert encoder.dimension > 0, "the dimension must be positive"
    assert int(encoder.fingerprint, 16) >= 0, "the fingerprint must be hexadecimal"
    assert encoder.fingerprint == encoder.fingerprint, "the fingerprint must be stable"
    vectors = encoder.encode(SENTENCES)
    assert vectors.shape == (len(SENTENCES), encoder.dimension), f"wrong shape {vectors.shape}"
    assert vectors.dtype == np.float32, f"vectors must be float32, not {vectors.dtype}"
    assert np.isfinite(vectors).all(), "vectors must be finite"
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4), "rows must have unit length"
    _check_order(encoder, vectors, tolerance)
    _check_edges(encoder, tolerance)
    _check_long(encoder)
    _check_progress(encoder)


def _check_order(encoder: Encoder, vectors: NDArray[np.float32], tolerance: float) -> None:
    """The same text has the same vector: repeated, in reverse order, alone and duplicated."""
    assert np.array_equal(encoder.encode(SENTENCES), vectors), "the same call must give the same vectors"
    backwards = encoder.encode(SENTENCES[::-1])[::-1]
    assert np.allclose(backwards, vectors, rtol=0, atol=tolerance), "the order of sentences must not matter"
    alone = np.concatenate([encoder.encode([sentence]) for sentence in SENTENCES])
    assert np.allclose(alone, vectors, rtol=0, atol=tolerance), "a vector must not depend on the other sentences"
    twice = encoder.encode([*SENTENCES, *SENTENCES])
    assert np.array_equal(twice[: len(SENTENCES)], twice[len(SENTENCES) :]), "equal sentences must have equal vectors"
    assert not np.allclose(vectors[0], vectors[2], atol=1e-3), "different sentences must have different vectors"


def _check_edges(encoder: Encoder, tolerance: float) -> None:
    """No sentences, and texts without content."""
    assert encoder.encode([]).shape == (0, encoder.dimension), "no sentences must give (0, dimension)"
    empty = encoder.encode(["", " \n\t", SENTENCES[0]])
    lengths = np.linalg.norm(empty, axis=1)
    assert np.isfinite(empty).all(), "an empty text must give finite numbers"
    assert all(length == 0 or abs(length - 1) < 1e-4 for length in lengths), (
        "an empty text must have a zero or a unit row"
    )
    alone = encoder.encode([SENTENCES[0]])
    assert np.allclose(empty[2], alone[0], rtol=0, atol=tolerance), "an empty text must not change the others"


def _check_long(encoder: Encoder) -> None:
    """The last of ten thousand words has an effect: nothing is truncated."""
    body = "the lessee of the vessel pays freight " * 1400
    ends = encoder.encode([body + "laser welding of steel " * 50, body + "custody of minor children " * 50])
    assert np.abs(ends[0] - ends[1]).max() > 1e-4, "the end of a long sentence must not be truncated"


def _check_progress(encoder: Encoder) -> None:
    """Progress counts all sentences, including empty and repeated ones."""
    steps: list[int] = []
    encoder.encode([*SENTENCES, *SENTENCES, ""], steps.append)
    assert sum(steps) == 2 * len(SENTENCES) + 1, f"advance must add up to the number of sentences, not {sum(steps)}"

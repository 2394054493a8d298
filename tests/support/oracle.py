"""The equations of the paper, transcribed literally with sets and fractions: slow, and independent of the package."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Sentence = tuple[int, int]  # document, position in it
Vector = Sequence[int]  # in units of the grid


def similarity(a: Vector, b: Vector) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def nearest(
    query: Sequence[Vector], pool: Sequence[Sequence[Vector]], n: int, ties: str = "first", ids: Sequence[str] = ()
) -> list[list[Sentence]]:
    """R_n: for each query sentence its n most similar; among equals, the preferred document's, then the earlier.

    "first" prefers the higher-ranked document, "worst" the lower-ranked one, and "id" the one with the smaller id.
    """
    everything = [(d, s) for d, document in enumerate(pool) for s in range(len(document))]

    def preference(ds: Sentence) -> tuple[int | str, int]:
        d, s = ds
        return (ids[d] if ties == "id" else -d if ties == "worst" else d, s)

    return [sorted(everything, key=lambda ds: (-similarity(q, pool[ds[0]][ds[1]]), preference(ds)))[:n] for q in query]


def score(
    query: Sequence[Vector],
    pool: Sequence[Sequence[Vector]],
    n: int,
    k1: Fraction,
    b: Fraction,
    avgdl: Fraction,
    form: str = "full",
    ties: str = "first",
    ids: Sequence[str] = (),
) -> list[tuple[Fraction, Fraction, Fraction]]:
    """For each candidate: score, QP, DP."""
    r_n = [set(row) for row in nearest(query, pool, n, ties, ids)]
    m = len(query)
    results = []
    for d, document in enumerate(pool):
        s_d = {(d, s) for s in range(len(document))}
        dl = len(s_d)
        k_d = k1 * ((1 - b) + b * dl / avgdl) if avgdl else Fraction(0)

        def sat(x: int, k_d: Fraction = k_d) -> Fraction:
            if form == "no_min":
                return Fraction(x)
            return Fraction(0) if x == 0 else x / (x + k_d)

        c = [len(s_d & row) for row in r_n]
        f = [sum(len({s} & row) for row in r_n) for s in s_d]
        if form == "no_b_k1":
            q_total = Fraction(sum(c), sum(c)) if sum(c) else Fraction(0)
            d_total = Fraction(sum(f), sum(f)) if sum(f) else Fraction(0)
        else:
            q_total, d_total = sum(map(sat, c), Fraction(0)), sum(map(sat, f), Fraction(0))
        qp = q_total / m
        dp = d_total / dl if dl else Fraction(0)
        results.append(({"no_qp": dp, "no_dp": qp}.get(form, qp * dp), qp, dp))
    return results


def ranking(scores: Sequence[Fraction], lengths: Sequence[int]) -> list[int]:
    """Candidates best first: ties in first-stage order, documents without sentences at the end."""
    return sorted(range(len(scores)), key=lambda d: (-scores[d], lengths[d] == 0, d))

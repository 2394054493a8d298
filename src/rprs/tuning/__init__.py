"""Tuning: the parameters of a system that are best for a measure, on queries with judgements.

    tuned = rprs.tune("cases.rprs", "queries.jsonl", "qrels.txt", measure="AP@100", depth=50, folds=5)
    print(tuned.best, tuned.value, tuned.held_out.value)

Every point of a grid gets exactly the ranking of a search with its parameters. Of equally good points RPRS takes the
one with the smaller k1, then n, then b, then depth; BM25 the one with the smaller k1, then b, then kli (none is the
smallest); a cut-off the one with the smaller h, then l, then p; another re-ranker the one with the earlier values in
the order of its grid.
"""

"""How good rankings are: measures, cut-off rules, evaluation of runs, comparisons with significance tests, tables."""

DEFAULT_MEASURES = "P@1 P@10 R@10 R@100 AP nDCG@10 RR"

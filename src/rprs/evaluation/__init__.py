"""How good rankings are: measures, cut-off rules, evaluation of runs, comparisons with significance, tables."""

"""How fast rprs is beside its peers: `python -m benchmarks` prints one table of ratios."""

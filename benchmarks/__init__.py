"""The speed of rprs compared with other libraries: `python -m benchmarks` prints a table of ratios."""

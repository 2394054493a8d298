"""From one TOML file to a results folder: runs, scores, tables, figures and a report (`rprs study`).

    rprs.study("peps.toml", "results")

A study is a `Plan` (what the file says) applied to an `Experiment` (the collection with everything computed from it).
Each analysis is a function of the study and its options and returns a `Finding`. Long computations are steps of a
`Cache`.
"""

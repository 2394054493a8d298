"""Contract suites that every reader, encoder, ranker and re-ranker passes; a plug-in's tests can call them too."""

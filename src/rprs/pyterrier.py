"""PyTerrier transformers: a retriever and a re-ranker over an index of rprs."""

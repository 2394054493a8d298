"""Adapting a model to a domain, or to judgements: training needs torch, searching with the result does not."""

"""Passages: the places of a whole collection that are most similar to a few sentences."""

"""One collection on many machines: shards that are ordinary indexes, and the same answers as from one index."""

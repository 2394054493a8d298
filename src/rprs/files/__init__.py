"""Files that exist completely or not at all, their hashes, and a cache of long computations on top of them."""

"""What two documents have in common: pairs of passages, the kind of each match, and the share of words covered."""

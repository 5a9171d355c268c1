"""deltas."""

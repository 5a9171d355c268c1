"""scalars."""

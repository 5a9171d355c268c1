"""cython."""

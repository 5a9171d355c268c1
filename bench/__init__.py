"""Benchmarks: one table of cases, shared with the tests, and a runner that checks before it times."""

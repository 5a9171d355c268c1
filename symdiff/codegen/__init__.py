"""Emitters: each prints a scheduled program or graph as source of one language, and does nothing else."""

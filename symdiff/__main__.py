"""``python -m symdiff``: the command line, where its script is not on the path."""

from __future__ import annotations

from .tools.command.cli import main

main(prog_name="symdiff")

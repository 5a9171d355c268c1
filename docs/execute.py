"""Executes the notebooks: ``python docs/execute.py`` writes their outputs, with ``--check`` it compares them.

Needs what the extra ``docs`` installs. Stored outputs are what the site shows.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("notebooks")


def executed(path: Path) -> Any:
    """Return a notebook with the outputs that a new kernel of Python gives.

    Parameters
    ----------
    path : Path

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell raises.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False).execute(cwd=str(FOLDER))
    return notebook


def shown(notebook: Any) -> list[tuple[str, list[Any]]]:
    """Return each cell's source with its outputs; of an image, only that there is one."""
    cells = []
    for cell in notebook.cells:
        outputs = copy.deepcopy(cell.get("outputs", []))
        for output in outputs:
            output.pop("execution_count", None)
            if "image/png" in output.get("data", {}):  # other fonts and versions draw other pixels
                output["data"]["image/png"] = "an image"
        cells.append((str(cell.source), outputs))
    return cells


def main(argv: Sequence[str] | None = None) -> int:
    """Write the outputs, or compare them; the exit code is 1 where one is not what is stored."""
    import nbformat

    parser = argparse.ArgumentParser(prog="python docs/execute.py", description="Execute the notebooks.")
    parser.add_argument("--check", action="store_true", help="compare with what is stored, and write nothing")
    options = parser.parse_args(argv)
    wrong = 0
    for path in sorted(FOLDER.glob("*.ipynb")):
        found = executed(path)
        if not options.check:
            nbformat.write(found, path)
            continue
        pairs = zip(shown(nbformat.read(path, as_version=4)), shown(found), strict=True)
        for number, (stored, own) in enumerate(pairs):
            if stored != own:
                wrong += 1
                print(f"{path.name}, cell {number}:\n{stored[0]}\nstored {stored[1]}\ngot    {own[1]}", file=sys.stderr)
        print(f"{path.name}: {len(found.cells)} cells")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

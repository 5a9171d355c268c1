"""The start of the ``symdiff`` command: outside the package, to tell where another project has overwritten it.

PyPI has another project with the import name ``symdiff``. Where pip installs both, files of one replace those of the
other, and ``import symdiff`` may run a stranger's code; so the package is looked at before it is imported.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def obstacle() -> str | None:
    """Return why the command cannot start, None where the package is whole. Nothing of it is imported."""
    spec = find_spec("symdiff")
    if spec is None or spec.origin is None:
        return "the package symdiff is not where Python looks for it; install symdiff again"
    folder = Path(spec.origin).parent
    facts = _facts(folder)
    if facts is None:
        return f"{folder} is the package of another project; uninstall that one, or run symdiff in another environment"
    told: str | None = facts.other_distribution(str(folder.parent))
    if b"from .ground.version import" in Path(spec.origin).read_bytes():
        if told is not None:
            print(f"Warning: {told}", file=sys.stderr)
        return None
    return told or (
        f"{spec.origin} is of another project, which has overwritten it; "
        f"run pip install --force-reinstall {facts.DISTRIBUTION}"
    )


def _facts(folder: Path) -> ModuleType | None:
    """Return the module that names the distribution, None where it is not there."""
    spec = spec_from_file_location("_symdiff_version", folder / "ground" / "version.py")
    if spec is None or spec.loader is None or not (folder / "ground" / "version.py").is_file():
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Run the command line."""
    told = obstacle()
    if told is not None:
        sys.exit(f"Error: {told}")
    from symdiff.tools.command.cli import main as run

    run(prog_name="symdiff")

"""Names of the package that are no code: its version, the distribution that pip installs, and who else has its folder.

The command reads this file before it imports the package (``symdiff_command.py``), so it imports nothing of it.
"""

from __future__ import annotations

import os

__all__ = ["DISTRIBUTION", "VERSION", "other_distribution", "pip_install"]

VERSION = "0.1.0"
#: Name of the distribution for pip. On PyPI the name of the package is another project's, of the same import name.
DISTRIBUTION = "symdiff-compiler"


def pip_install(extra: str) -> str:
    """Return the command that installs the package with what an extra needs.

    Examples
    --------
    >>> pip_install("plot")
    "pip install 'symdiff-compiler[plot]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def other_distribution(site: str) -> str | None:
    """Return what to say of another project's distribution that installed its ``symdiff/`` into a folder, if any.

    Parameters
    ----------
    site : str
        The folder that holds ``symdiff/``.
    """
    try:
        names = [name for name in os.listdir(site) if name.startswith("symdiff-") and name.endswith(".dist-info")]
    except OSError:
        return None
    for name in names:
        try:
            with open(os.path.join(site, name, "RECORD"), encoding="utf-8", errors="replace") as record:
                owner = any(line.startswith("symdiff/__init__.py,") for line in record)
        except OSError:
            continue
        if owner:
            return (
                f"the distribution {name[: -len('.dist-info')].replace('-', ' ')}, another project, was installed into "
                f"the same folder {os.path.join(site, 'symdiff')}, and one has overwritten files of the other; run "
                f"pip uninstall symdiff, then pip install --force-reinstall {DISTRIBUTION}"
            )
    return None

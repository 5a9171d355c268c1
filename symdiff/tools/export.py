"""Write a kernel as files of its own, for a package that does not depend on symdiff."""

from __future__ import annotations

import keyword
import os
import re
from pathlib import Path

from ..errors import ArgumentError, UnsupportedError
from ..graph import INT
from ..ground.files import write_folder
from ..ground.guard import guarded
from ..runtime.kernel import Kernel

__all__ = ["export"]

_SETUP = '''\
"""Build the extension module: pip install ., or python setup.py build_ext --inplace."""

import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

# Without contraction of products and sums, results are the same on every machine with the same libm.
flags = [] if sys.platform == "win32" else ["-O2", "-ffp-contract=off", "-fno-math-errno"]
libraries = [] if sys.platform == "win32" else ["m"]
extension = Extension("{name}", ["{name}.pyx"], extra_compile_args=flags, libraries=libraries)

setup(ext_modules=cythonize([extension]))
'''

_PROJECT = """\
[build-system]
requires = ["setuptools>=77", "cython>=3.0.11"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.9"
dependencies = ["numpy>=1.22"]

[tool.setuptools]
py-modules = []
"""


@guarded
def export(
    kernel: Kernel, folder: str | os.PathLike[str], name: str = "formula", *, overwrite: bool = False
) -> list[Path]:
    """Write a kernel as a Cython module, with the files that build it.

    The module has one function, ``evaluate``, with the kernel's arguments and ``out``. It needs
    NumPy to run, and Cython and a C compiler to be built; it does not need symdiff.

    Parameters
    ----------
    kernel : Kernel
        Of fixed sizes, with its batch axes in front. Its outputs come as a tuple, in order.
    folder : path
        Made if absent.
    name : str
        Of the module.
    overwrite : bool
        Replace files that are there.

    Returns
    -------
    list of Path
        ``name.pyx``, ``setup.py`` and ``pyproject.toml``.

    Raises
    ------
    ArgumentError
        For a name that no module can have, or files that are there already.
    DataError
        If something else is in the way, or the folder cannot be written; nothing is changed then.
    UnsupportedError
        For a kernel that does not become scalar code: symbolic sizes, or too many operations.
    """
    if not isinstance(kernel, Kernel):
        raise ArgumentError(f"export of a {type(kernel).__name__}; expected a kernel, made by compile")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", str(name), re.ASCII) or keyword.iskeyword(name):
        raise ArgumentError(f"{name!r:.80} is no name for a module; expected letters, digits and '_', a letter first")
    if name.lower() in ("setup", "symdiff", "numpy", "math"):
        raise ArgumentError(f"a module called {name!r} would hide another one; choose another name")
    if any(p.dtype is INT for p in kernel.inputs):
        raise UnsupportedError(
            "export of a kernel with positions among its inputs: the module would not look at their range; call the "
            "kernel"
        )
    texts = {
        f"{name}.pyx": kernel.source("cython"),
        "setup.py": _SETUP.format(name=name),
        "pyproject.toml": _PROJECT.format(name=name),
    }
    place = Path(folder)
    there = [file for file in texts if os.path.lexists(place / file)]
    if there and not overwrite:
        raise ArgumentError(f"{', '.join(there)} exist in {place}; choose another folder, or pass overwrite=True")
    return write_folder(place, texts)

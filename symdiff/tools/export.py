"""Write a kernel as files of its own, for a package that does not depend on symdiff."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from ..codegen.c99.emit import emit_c99
from ..codegen.c99.names import check_function_name
from ..codegen.numpy.alone import emit_alone
from ..codegen.numpy.libraries import LIBRARIES
from ..errors import ArgumentError, SymdiffError, UnsupportedError
from ..graph import INT
from ..ground.files import REMEDY, write_folder
from ..ground.guard import guarded
from ..runtime.kernel import Kernel
from ..runtime.sparse_kernel import SparseKernel

__all__ = ["BUILDS", "EXPORTS", "export", "export_text"]

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
    kernel: Kernel,
    folder: str | os.PathLike[str],
    name: str = "formula",
    *,
    target: Literal["c", "cython", "numpy", "jax", "torch", "array_api"] = "cython",
    overwrite: bool = False,
) -> list[Path]:
    """Write a kernel as source that does not need symdiff: C, a Cython module, or Python over a library of arrays.

    Parameters
    ----------
    kernel : Kernel
        With its batch axes in front. Its outputs come in order, whatever their structure.
    folder : path
        Made if absent.
    name : str
        Of the module, or of the C function.
    target : {"c", "cython", "numpy", "jax", "torch", "array_api"}
        "c": portable C99 with a header, which is C++ as well; a function of the number of samples, of each size that is
        a letter, of pointers to the inputs and to the outputs. "cython": a module with one function, ``evaluate``, and
        the files that build it; sizes must be numbers. "numpy": a Python module with one function, ``evaluate``, of
        any sizes. "jax", "torch", "array_api": the same over arrays of JAX, of PyTorch, or of any library of the Python
        array API standard, for their compilers, devices and transformations.
    overwrite : bool
        Replace files that are there.

    Returns
    -------
    list of Path
        ``name.c`` and ``name.h``; ``name.pyx``, ``setup.py`` and ``pyproject.toml``; or ``name.py``.

    Raises
    ------
    ArgumentError
        For a name that no module, or no function of C, can have, or files that are there already.
    DataError
        If something else is in the way, or the folder cannot be written; nothing is changed then.
    UnsupportedError
        For what the target has no form for; the message names it: inputs of positions, sparse results, functions that
        symdiff has compiled only (NumPy), parts of large formulas that NumPy computes (C), symbolic sizes (Cython).

    Examples
    --------
    >>> import tempfile
    >>> import symdiff as sd
    >>> k = sd.compile("gradient(sum((X @ w - y)**2), w)", X=("m", "n"), w="n", y="m")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = sd.export(k, folder, "slope", target="c")
    ...     print(next(line for line in files[1].read_text().splitlines() if line.startswith("ptrdiff_t")))
    ptrdiff_t slope(ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, const double *X, const double *w, const double *y,
    """
    if not isinstance(kernel, Kernel):
        raise ArgumentError(
            f"export of type {type(kernel).__name__}; expected a kernel: sd.export(sd.compile(f), folder, name)"
        )
    if target not in EXPORTS:
        raise ArgumentError(f"target={target!r:.80}; expected one of {', '.join(map(repr, EXPORTS))}")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", str(name), re.ASCII) or keyword.iskeyword(name):
        raise ArgumentError(f"{name!r:.80} is no name for a module; expected letters, digits and '_', a letter first")
    _refuse(kernel)
    texts = _written(kernel, name, target)
    place = Path(folder)
    there = [file for file in texts if os.path.lexists(place / file)]
    if there and not overwrite:
        raise ArgumentError(f"{', '.join(there)} exist in {place}; {REMEDY}")
    return write_folder(place, texts)


def export_text(kernel: Kernel, name: str, target: str) -> str:
    """Return the source of a kernel as one text: of C, the header and what it declares; of Cython, the module."""
    _refuse(kernel)
    texts = _written(kernel, name, target)
    if target == "c":
        return texts[f"{name}.h"] + "\n" + texts[f"{name}.c"].partition(f'#include "{name}.h"\n')[2].lstrip("\n")
    return next(iter(texts.values()))


def _written(kernel: Kernel, name: str, target: str) -> dict[str, str]:
    """Return the files of a target; where it has no form for the formula, say which targets have one."""
    try:
        return EXPORTS[target](kernel, name)
    except UnsupportedError as error:
        others = [f"target={other!r}" for other in EXPORTS if other != target and _is_written(kernel, name, other)]
        *first, last = others or [""]
        told = f"{', '.join(first)}{' and ' if first else ''}{last} can write it"
        told = told if others else "no target can write it; call the kernel"
        raise UnsupportedError(f"{error}; {told}") from error


def _is_written(kernel: Kernel, name: str, target: str) -> bool:
    try:
        EXPORTS[target](kernel, name)
    except SymdiffError:
        return False
    return True


def _refuse(kernel: Kernel) -> None:
    """Refuse what no target has a form for."""
    if isinstance(kernel, SparseKernel):
        raise UnsupportedError(
            "export of a kernel with sparse results: what it writes are dense arrays; compile without sparse=, or take "
            "sparse='values' apart in your own code from kernel.pattern()"
        )
    positions = [p.name for p in kernel.inputs if p.dtype is INT]
    if positions:
        raise UnsupportedError(
            f"export of a kernel with positions among its inputs ({', '.join(positions)}): what is written would not "
            "look at their range; call the kernel"
        )
    if kernel.options.in_columns:
        raise UnsupportedError("export of a kernel with batch axes behind; compile with batch_axis=0")


def _c(kernel: Kernel, name: str) -> dict[str, str]:
    check_function_name(name)
    origin, request = kernel._origin, kernel._origin.request()
    written = emit_c99(
        name,
        request.inputs,
        request.nodes,
        [output.name for output in kernel.outputs],
        request.lower,
        batched=request.batched,
        reduce=request.reduce,
        formula=origin.texts(),
        spans=kernel._spans,
    )
    return {f"{name}.c": written.source, f"{name}.h": written.header}


def _cython(kernel: Kernel, name: str) -> dict[str, str]:
    _check_module(name)
    return {
        f"{name}.pyx": kernel.source("cython"),
        "setup.py": _SETUP.format(name=name),
        "pyproject.toml": _PROJECT.format(name=name),
    }


def _numpy(kernel: Kernel, name: str) -> dict[str, str]:
    _check_module(name)
    origin, request = kernel._origin, kernel._origin.request()
    text = emit_alone(
        request.inputs,
        request.nodes,
        batched=request.batched,
        reduce=request.reduce,
        formula=origin.texts(),
        results=[output.name for output in kernel.outputs],
        spans=kernel._spans,
    )
    return {f"{name}.py": text}


def _over(library: str, kernel: Kernel, name: str) -> dict[str, str]:
    _check_module(name)
    return {f"{name}.py": kernel.source(library)}


def _check_module(name: str) -> None:
    if name.lower() in ("setup", "symdiff", "numpy", "math", "jax", "torch"):
        raise ArgumentError(f"a module called {name!r} would hide another one; choose another name")


#: What writes the files of each target, their texts by name.
EXPORTS: dict[str, Callable[[Kernel, str], dict[str, str]]] = {
    "c": _c,
    "cython": _cython,
    "numpy": _numpy,
    **{library: partial(_over, library) for library in LIBRARIES},
}

#: How what was written is built, for those who read it on a terminal.
BUILDS = {
    "c": "cc -std=c99 -O2 -ffp-contract=off -c {out}/{name}.c",
    "cython": "cd {out} && python setup.py build_ext --inplace",
}

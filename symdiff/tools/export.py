"""Write a kernel as files of its own, for a package that does not depend on symdiff."""

from __future__ import annotations

import keyword
import os
import re
from pathlib import Path

from ..codegen import TARGETS, print_files
from ..errors import ArgumentError
from ..ground.files import REMEDY, write_folder
from ..ground.guard import guarded
from ..runtime.kernel import Kernel

__all__ = ["export"]


@guarded
def export(
    kernel: Kernel,
    folder: str | os.PathLike[str],
    name: str = "formula",
    *,
    target: str = "cython",
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
    target : str
        "c", "cython", "numpy" or another row of docs/export.md. "c": portable C99 with a header, which is C++ as well;
        a function of the number of samples, of each size that is a letter, of pointers to the inputs and to the
        outputs. The others: a module with one function, ``evaluate``, over NumPy, JAX, PyTorch or any library of the
        Python array API standard.
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
    if target not in TARGETS:
        raise ArgumentError(f"target={target!r:.80}; expected one of {', '.join(map(repr, TARGETS))}")
    named = isinstance(name, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", name, re.ASCII)
    if not named or keyword.iskeyword(name):
        raise ArgumentError(f"{name!r:.80} is no name for a module; expected letters, digits and '_', a letter first")
    texts = print_files(kernel._request(name), target)
    place = Path(folder)
    there = [file for file in texts if os.path.lexists(place / file)]
    if there and not overwrite:
        raise ArgumentError(f"{', '.join(there)} exist in {place}; {REMEDY}")
    return write_folder(place, texts)

"""Code compiled ahead of time: calls, plans, the interpreter, matrices, special functions, the table of nodes.

Takes
    NumPy's arrays and the address of a unit; bytecode; the bytes of a library
Gives
    results in NumPy's arrays
Invariants
    * An ordinary call stays in compiled code; nothing is done once a sample in Python.
    * A sample's bits do not depend on layout, padding, its place in the batch or the number of threads.
    * A call shares nothing with another, so threads may share a kernel.
    * Text that generated code shares (``functions/``) is there once.
Files
    arrays.pxd       arguments of a call: plain arrays, whether they are what is declared, and as a unit sees them
    batch            what runs a unit over samples: tiles, threads, sums; numbers as arguments, memory of results
    unit.pxd         a unit as the call path sees it
    unit.pyx         units, ready to run batches
    call.pyx         the call path: from arguments to results
    functions        functions of vectors, transposes, functions that C lacks: generated code has the same text
    matrix           products; factorizations of batches of matrices, and what is made of them
    machine          the machine of the interpreter, for every instruction set
    interpreter.pyx  bytecode made ready to run
    programs         scalar programs in C arrays, and the interpreter's words made of them
    plan             the executor of plans
    system           ``sets.h``, instruction sets, and which the processor has; ``scopes.pyx``, blocks that are undone
                     wherever an interrupt comes, errors without frames of the package, loaded libraries;
                     ``unique.pyx``, objects of which there is one for each description (nodes), walks over them,
                     tables of them, and sizes of numbers at many points at once
Add
    a function that C lacks: ``functions/special.h``; a folder of headers: also to its module's list in ``setup.py``
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

if find_spec(".call", __name__) is None:
    _ROOT = Path(__file__).resolve().parent.parent.parent
    raise ImportError(
        f"symdiff is not built for this Python in {_ROOT}: run Python from another folder to import the symdiff that "
        f"is installed, or build this one: {sys.executable} -m pip install -e {_ROOT}"
    )

"""NumPy source: a readable function over whole batches, for every operation and every size.

Takes
    graph nodes
Gives
    :class:`~symdiff.codegen.numpy.emit.NumpySource`: text, and how many doubles a sample holds at once
Invariants
    * Names are ``x0``, ``v0``, ``c0``, ``n0``; nothing that a user wrote is printed, but in files that are exported
      checked names of arguments, and docstrings.
    * A variable carries one leading batch axis, of the batch's length or of length 1.
    * A delta is written into a diagonal, and never multiplied.
Files
    writer        lines, names, numbers and sizes
    emit          each operation, and loading the text
    special       functions by ``math``, and derivatives that SciPy lacks, to be copied
    alone         a module that needs NumPy alone, or SciPy too, for export
    libraries     the lines in the words of JAX, PyTorch and the array API
    traced        functions that those lines call, in which shapes decide and numbers do not
Add
    an operation: a method of the emitter in ``emit``; what NumPy lacks: ``graph/reference/numeric``, and ``traced``
    a library: a row of ``LIBRARIES`` in ``libraries``
"""

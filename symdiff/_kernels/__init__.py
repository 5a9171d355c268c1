"""What is compiled ahead of time: the call path, the interpreter, the loader and special functions.

Takes
    NumPy's arrays and the address of a unit; bytecode; the bytes of a library
Gives
    results in NumPy's arrays
Invariants
    * An ordinary call stays in compiled code; nothing is done once a sample in Python.
    * A sample's bits do not depend on layout, padding, its place in the batch or the number of threads.
    * A call shares nothing with another, so threads may share a kernel.
    * Text that generated code shares (``vector.h``, ``transpose.h``, ``exponential.h``, ``special.h``) is there once.
Files
    vectorcall.h     Python's protocol for calls without a tuple
    pool.h           threads that wait for work
    moves.h          copies between arrays and buffers
    sums.h           sums over a batch, in one order
    pack.h           from arrays to a unit, in place or packed
    results.h        memory of large results
    results.pxd      new arrays for results
    ports.pxd        arrays as ``pack.h`` sees them
    call.pyx         the call path
    vector.h         functions of one vector
    exponential.h    the exponential of a vector
    transpose.h      rows to vectors and back
    special.h        functions that C lacks
    special.pyx      the same over arrays
    machine.h        the machine of the interpreter, for one instruction set
    interpreter.h    the machine for all instruction sets
    interpreter.pyx  bytecode made ready to run
    loader.h         the system's loader
    loader.pyx       libraries as objects
Add
    a function that C lacks: ``special.h``; a header: also to its list in ``setup.py``
"""

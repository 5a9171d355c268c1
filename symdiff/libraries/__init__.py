"""What other libraries know by name, and formulas in the form that they take.

Takes
    symbols, formulas, kernels, and programs written for other libraries
Gives
    arrays as these libraries name and sign them, and functions, operators and solvers in their form
Invariants
    * A library is imported when it is asked for, and never by ``import symdiff``.
Files
    stats         distributions by SciPy's names: log densities, distribution functions, quantiles
    complexes     complex arrays as pairs of real ones
    xp            the Python array API standard over symbols
    integrations  objectives, problems and densities; JAX, PyTorch, Numba, Dask and SciPy
Add
    a library: a folder here, or a module of ``integrations`` and its hook in ``symdiff/__init__.py``
"""

"""Formulas by the names and in the form of other libraries.

Takes
    symbols, formulas, kernels, and programs written for other libraries
Gives
    arrays as these libraries name and sign them, and functions, operators and solvers in their form
Invariants
    * A library is imported when something of it is asked for, and never by ``import symdiff``.
    * A library is given what kernels compute, as a user would compile them.
Files
    stats       distributions by SciPy's names: log densities, distribution functions, quantiles
    xp          the Python array API standard over symbols
    complexes   complex arrays as pairs of real ones
    variables   arrays of any structure as the one vector that a solver moves, and the inputs behind it
    objective   a formula for optimizers and solvers: fun, jac, hess, hessp; with constraints as Ipopt's problem
    problem     objective and constraints for solvers, with multipliers and sensitivities of the solutions
    density     log densities of free numbers for samplers; declared variables as formulas of free numbers
    scipy       kernels as integrands and filters, Jacobians and Hessians as linear operators
    signature   symbols and results of a kernel, and kernels of the products with its Jacobian
    jax         kernels as functions under jit, vmap and grad
    read_jax    functions of JAX as formulas
    positions   elements at positions that numbers decide, for programs that are read
    torch       kernels as functions of tensors, with derivatives of any order
    read_torch  functions and modules of PyTorch as formulas
    numba       kernels as functions for compiled code
    dask        kernels on arrays in chunks, on a cluster
Add
    a library: a file of its name, its row in ``runtime/about/frameworks``, its module in ``symdiff/__init__.py``, and
    a page in docs
"""

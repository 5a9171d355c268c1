"""Kernels in the form that other libraries take, and functions of theirs as formulas.

Takes
    formulas and variables, or kernels
Gives
    :class:`~symdiff.libraries.integrations.objective.Objective`, whose methods SciPy's optimizers and solvers call
Invariants
    * A library is imported when something of it is asked for, and not before.
    * What a library is given is computed by kernels, as a user would compile them.
Files
    variables   arrays of any structure as the one vector that a library moves
    free_entries  the free entries of declared matrices
    behind      the other inputs of a formula, behind that vector, in order or by name
    signature   symbols and results of a kernel, and which kernels are functions of one sample
    slopes      kernels of the products with a kernel's Jacobian
    objective   a formula for optimizers and solvers: fun, jac, hess, hessp
    density     log densities of free numbers for samplers
    transforms  declared variables as formulas of free numbers, with their Jacobians
    problem     objective and constraints for solvers, with multipliers and sensitivities of what they find
    ipopt       an objective and constraints as Ipopt's problem, with sparse derivatives
    jax         kernels as functions under jit, vmap and grad
    read_jax    functions of JAX as formulas
    read_torch  functions and modules of PyTorch as formulas
    dask        kernels on arrays in chunks, on a cluster
    torch       kernels as functions of tensors, with derivatives of any order
    numba       kernels as functions for compiled code
    scipy       kernels as integrands and filters
Add
    a library: a file of its name, and a page in docs
"""

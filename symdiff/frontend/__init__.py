"""Front ends, from what users write to graphs: NumPy code over symbols, formula text, SymPy, and custom functions.

Takes
    Python operators and NumPy functions on symbols, formula text, SymPy expressions, callables
Gives
    :class:`~symdiff.frontend.array.Array` around nodes; a :class:`~symdiff.frontend.formula.Formula` with its
    outputs, its inputs in order and the structure of its results
Invariants
    * A formula is the same graph whichever front end it came through, with NumPy's meaning.
    * Errors say what came, what was expected and what to do; text is marked with a caret.
    * User text is never executed.
    * The history of an array (derivative, Hessian, rewrites, order of inputs) is kept with the array, not on its node.
Files
    provenance          how an array came about
    numpy               operations with NumPy's meaning, on nodes
    sympy               SymPy to graph and back
    array               Array: operators, methods, NumPy's protocols
    symbols             inputs, names of parts, operations as functions
    shapes              shapes that a user gives
    outputs             results in lists, tuples, dicts and dataclasses
    display             several formulas as notebooks show them
    functions           functions whose derivative their author gives, and loops
    array_derivatives   derivatives of Arrays
    text                formula text
    formula             text, SymPy and symbols as one Formula
    derivatives         derivatives of a formula in any form
    substitution        other arrays in place of inputs and parts
Add
    a NumPy function: ``numpy/``; a function of text: the same table; a SymPy class: ``sympy/``
"""

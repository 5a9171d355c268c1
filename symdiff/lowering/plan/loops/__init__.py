"""Loops over long arrays, whose element is a small formula.

Takes
    a node of the graph, and places in it that depend on the indices of loops
Gives
    one element as a formula of fixed size, and the arrays that it reads
    (:class:`~symdiff.lowering.plan.loops.element.Elements`)
Invariants
    * The element of a loop has fixed size, whatever the sizes of the arrays.
    * An array is read at an affine function of the loops' indices: an address and strides.
    * Between two steps of a plan everything is fused.
Files
    access    where along each axis an element stands
    ranges    ranges of an index, with ends that may be symbolic
    element   one element of an array formula
    tasks     which loops compute an array
    placed    terms that fill a part of an array: diagonals, blocks, bands
Add
    an operation whose elements do not depend on each other: a rule in ``element``
"""

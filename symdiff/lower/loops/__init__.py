"""Formulas over long arrays as loops, whose element is a small program.

Takes
    graph nodes that are too large to unroll, or of symbolic size
Gives
    :class:`~symdiff.lower.loops.plan.Loops`: steps that are loops over elements, sums, or arrays for NumPy
Invariants
    * The element of a loop has fixed size, whatever the sizes of the arrays.
    * An array is read at an affine function of the loop's index: an address and a stride.
    * Between two cuts everything is fused.
Files
    access    where along each axis an element stands
    ranges    ranges of an index, with ends that may be symbolic
    element   one element of an array formula
    plan      the steps: where to cut, and what is one loop
Add
    an operation whose elements do not depend on each other: a rule in ``element``
"""

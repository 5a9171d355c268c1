"""Differentiation of graphs: rules, forward and reverse mode, strong zeros, and derivatives of every kind.

Takes
    a node, and the nodes to differentiate with respect to: inputs, parts of inputs or sub-formulas
Gives
    nodes of shape ``shape(f) + shape(wrt)``, or products with a tangent or cotangent
Invariants
    * One differential for each operation serves both modes: reverse mode transposes it.
    * A derivative through a branch that is not taken is zero, whatever the other factors are.
    * Tangents and cotangents carry the axes of their seed in front; rules work on the last axes only.
    * An operation without a rule is refused by name. *Zero almost everywhere* is a rule, *unknown* is not.
Files
    linear         linear operations: how each acts on a tangent, and its transpose
    rules          one differential for each other array operation, and the rules that authors give
    masking        strong-zero masks and their algebra
    strong_zeros   which elements of an operation depend on which, and what needs a strong zero
    modes          forward and reverse mode
    recurrence     loops: tangents run along, cotangents run back, with few states kept
    lifted         loops of the same steps as one; products that no step waits for, before and behind loops
    matrices       exponentials, pseudo-inverses, the third differential of a determinant
    spectra        eigenvalues, eigenvectors and functions of symmetric matrices
    linearity      whether a formula is linear in its seeds
    cost           an estimate of what a formula costs
    wrt            what a formula is differentiated with respect to
    row_jacobians  Jacobians of formulas whose rows depend on rows taken at positions
    any_order      order statistics in formulas that are the same for every order
    selections     kinks and ties in what is differentiated again: the mean of both sides
    derivatives    gradient, Jacobian, Hessian, jvp, vjp, hvp and higher orders
    demand         where a formula observes its matrices, so that others do not raise
    passes         all passes from a graph as it was written to the one that is lowered
Add
    a rule: a function with ``@_rule`` in ``rules``, or a push and a pull in ``linear``
"""

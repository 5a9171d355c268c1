"""Probability distributions: log densities and distribution functions as formulas, by SciPy's names and parameters.

Takes
    nodes: where a density is looked at, and its parameters
Gives
    nodes
Invariants
    * Parameters broadcast as NumPy's arrays do; ``loc`` and ``scale`` are SciPy's.
    * Outside of the support a log density is -inf, and its derivatives are 0. Within the support, no intermediate
      result overflows unless the log density itself does.
    * At the ends of the support the value is SciPy's, a constant.
    * Parameters outside of their domain are not checked: the value is what the formula gives.
Files
    table         a row a distribution: arguments, functions, where tests draw from
    positions     location and scale, support, sums of parts
    continuous    densities of a number
    discrete      probabilities of whole numbers
    multivariate  densities of vectors and matrices
Add
    a distribution: its functions in the module that fits, and a row in ``table``
"""

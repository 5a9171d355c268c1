"""Derivatives as a person writes them: equal factors as powers, like terms added.

Takes
    graph nodes that hold a derivative
Gives
    equal nodes, but for rounding and for powers that overflow
Invariants
    * Nothing is cancelled that could hide a nan.
Files
    products       products as a number and powers of factors
    likes          sums of products: like terms, common factors, f(x) and 1 - f(x)
    collect        the pass
Add
    what two terms are together: a function in ``likes``, called by ``collect``
"""

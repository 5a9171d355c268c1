"""Which elements of a result are not zero by construction, and formulas for these alone.

Takes
    nodes, simplified and without names, barriers and custom functions, whose axes are rows and columns
Gives
    patterns (where entries stand, sorted and without duplicates) and the nodes that compute their values
Invariants
    * The pattern follows from the formula: deltas, parts, lists, diagonals, factors that are zero by their form.
    * Memory and work are those of the entries, and never those of the whole array.
    * What is guessed at sample sizes is checked for the sizes at hand, when positions are written down.
Files
    places        where the elements of a piece stand: the kinds of index expressions
    joins         products of pieces that share an index
    decompose     a formula as a sum of pieces: one rule an operation
    structure     which elements may be other than zero, element by element: for what has no rule
    entries       lists of positions, sorted
    layouts       how the values of a result are computed
    results       arrays that share positions until one of them is to change
    formats       which results are sparse, and in what form
Add
    an operation: a rule in ``decompose`` if it moves elements or is linear in an argument, and in
    ``structure`` where it has zeros of which its row of the table does not tell; a kind of index: a field of
    :class:`.places.IndexTerm`
"""

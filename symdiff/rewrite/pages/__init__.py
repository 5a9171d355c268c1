"""Pages of equations, by subject: each is read as a mathematician reads a table, one line an identity.

Takes
    :class:`symdiff.rewrite.equations.Identity`
Gives
    ``PAGE``: rules of the table, in the order in which they are tried
Invariants
    * An equation holds wherever its left side has a value; where it says that a letter is of a kind, for such letters.
    * Equations of the kind *stability* and *form* hold of values, and are used before differentiation too. Those of the
      kind *derived* may have a value where the left side has none, and are used in derivatives alone; those of the kind
      *shown* may shrink the range besides, and are used where a derivative is shown.
Files
    steps_and_logarithms   logarithms and exponentials of each other, steps and their complements
    decided                choices and what they are decided by
    determinants           inverses, determinants, transposes
    of_the_table           functions of their inverses and exact values, from the table of functions
    roots_of_positive      roots and powers of what is known to be positive
Add
    one line to a page; ``tests/rewrite/test_equations.py`` compares both sides in many digits
"""

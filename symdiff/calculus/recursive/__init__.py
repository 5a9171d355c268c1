"""Operations whose derivative takes the differentiator itself: their rules are added when it is there.

Takes
    a node, and tangents of its arguments or the cotangent of its value
Gives
    its differential, or the cotangents of its arguments
Invariants
    * ``register`` of each file adds its rules to the tables of ``calculus.rules``, once, before anything is derived.
Files
    determinant     the third differential of a determinant
    exponential     the exponential of any square matrix
    joined          loops of the same steps as one
    lifted          products in loops that no step has to wait for, before and behind them
    marks           where the results of a loop count, as numbers
    pseudo_inverse  pseudo-inverses of full column rank
    recurrence      loops: tangents run along, cotangents run back
    segments        loops of many steps backwards, with few states kept
Add
    a rule: a file with a ``register``, which ``calculus.derivatives`` calls
"""

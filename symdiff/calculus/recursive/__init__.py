"""Operations whose derivative takes the differentiator itself: their rules are added when it is there.

Takes
    a node, and tangents of its arguments or the cotangent of its value
Gives
    its differential, or the cotangents of its arguments
Invariants
    * ``register`` of each file adds its rules to the tables of ``calculus.rules``, once, before anything is derived.
Files
    matrices        exponentials, pseudo-inverses, the third differential of a determinant
    lifted          loops of the same steps as one; products that no step has to wait for, before and behind loops
    recurrence      loops: tangents run along, cotangents run back, with few states kept
Add
    a rule: a file with a ``register``, which ``calculus.derivatives`` calls
"""

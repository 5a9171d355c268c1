"""Functions of a caller's that become one node: functions with a derivative of their own, steps of loops, equations.

Takes
    Python functions over symbols
Gives
    nodes whose payload holds what the function computes, with all that it uses from outside among their arguments
Invariants
    * A function is called once, with placeholders that are known in that call alone.
    * No formula holds a placeholder of a function that has been left.
Files
    closing      scopes of placeholders, and what a function takes from outside
    constrained  minima within constraints
    custom       functions whose derivative their author gives; functions of numbers that Python calls
    newton       Newton's method as loops that end by themselves
    recurrence   scan, iterate, while_loop and sum_over
    solutions    root, fixed_point, minimizer and laplace
    sparse_matrices  matrices whose pattern a call brings
Add
    a function of functions: a file here, and its name in ``symdiff/__init__.py``
"""

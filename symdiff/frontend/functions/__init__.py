"""Functions of a caller's that become one node: functions with a derivative of their own, and steps of loops.

Takes
    Python functions over symbols
Gives
    nodes whose payload holds what the function computes, with all that it uses from outside among their arguments
Invariants
    * A function is called once, with placeholders that are known in that call alone.
    * No formula holds a placeholder of a function that has been left.
Files
    closing      scopes of placeholders, and what a function takes from outside
    custom       functions whose derivative their author gives
    recurrence   scan, iterate and sum_over
Add
    a function of functions: a file here, and its name in ``symdiff/__init__.py``
"""

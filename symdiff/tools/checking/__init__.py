"""The check of a derivative at a point, judged from values alone.

Takes
    a formula and a point
Gives
    :class:`~symdiff.tools.checking.check.Report`: findings, and the largest disagreement
Invariants
    * A derivative is compared with differences of the compiled value, never with another derivative alone.
    * A difference comes with an estimate of its own error; what is too coarse to tell is said to be so.
Files
    points          numbers for inputs: random, and as declared
    differences     derivatives from values, extrapolated
    ways            the derivatives of a formula by one input, one kernel per mode; second derivatives
    kinks           points that are not smooth, and ends of domains
    custom_rules    custom rules, one by one
    multiprecision  values in many digits
    certificate     numbers of the kernel beside those in many digits, and which operation makes a nan or inf
    check           all of it, and the report
Add
    a kind of finding: a function that finds it, a call in ``check``, a word in ``check.Finding``
"""

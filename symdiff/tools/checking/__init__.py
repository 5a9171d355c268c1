"""Whether a derivative is right at a point, judged from values alone.

Takes
    a formula and a point
Gives
    :class:`~symdiff.tools.checking.report.Report`: findings, and the largest disagreement
Invariants
    * A derivative is compared with differences of the compiled value, never with another derivative alone.
    * A difference comes with an estimate of its own error; what is too coarse to tell is said to be so.
Files
    report          findings and the report
    differences     derivatives from values, extrapolated
    points          random numbers for inputs
    declared        numbers that are what inputs are declared to be
    kinks           places that are not smooth
    certificate     numbers of the kernel beside those in many digits
    multiprecision  values in many digits
    overflow        which operation makes a nan or inf of a finite number
    custom_rules    custom rules, one by one
    second          second derivatives
    ways            every way to the change of a formula with one array
    ends            derivatives at the ends of domains
    check           all of it
Add
    a kind of finding: a file that finds it, a call in ``check``, a word in ``report.Finding``
"""

"""Derivatives and kernels to read: how they come about, and what they cost.

Takes
    formulas, kernels
Gives
    steps with rules and sources, times, a page
Invariants
    * Each equation that is shown is true, and what is timed was measured here.
    * What users wrote is quoted wherever it is shown.
Files
    differentials  how equations between differentials are written
    derivation     the equations of a derivative
    steps          these, with their rules, for people
    benchmark      times against the size of the batch
    plain_numpy    a formula as a user of NumPy would write it, to be timed beside
    listing        generated C, with what each line computes
    drawings       graphs, times and patterns in SVG
    page           all of this about one kernel
Add
    a rule's name: its row in ``calculus/rules``, ``calculus/linear`` or ``graph/scalars/rows``
"""

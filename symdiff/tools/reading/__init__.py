"""Derivatives and kernels to read: how they come about, and what they cost.

Takes
    formulas, kernels
Gives
    steps with rules and sources, times, a page
Invariants
    * Each equation that is shown is true, and what is timed was measured here.
    * What users wrote is quoted wherever it is shown.
Files
    derivation  the equations of a derivative, between differentials
    steps       these, with their rules, for people
    benchmark   times against the size of the batch
    page        all of this about one kernel: drawings, and generated C with what each line computes
Add
    a rule's name: its row in ``calculus/rules``, ``calculus/linear`` or ``graph/scalars/rows``
"""

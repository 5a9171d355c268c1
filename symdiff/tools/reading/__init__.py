"""Derivatives and kernels to read: how they come about, and what they cost.

Takes
    formulas, kernels
Gives
    steps with rules and sources
Invariants
    * Each equation that is shown is true, and what is timed was measured here.
    * What users wrote is quoted wherever it is shown.
Files
    derivation   equations between differentials
    steps        these in words and signs
Add
    a rule's name: its row in ``calculus/rules``, ``calculus/linear`` or ``graph/scalars/rows``
"""

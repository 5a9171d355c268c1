"""Rewrites of what cancels, where nothing is hidden that is nan or infinite.

Takes
    a node whose arguments are simplified
Gives
    an equal node that is shorter, or None
Invariants
    * What stays is nan or infinite wherever what goes would have been, but for terms of derivatives that cancel: their
      digits would take those of the others with them, and for ratios of what a derivative divides by elsewhere.
Files
    monomials    terms as a number times powers
    ratios       ratios that are 1
    same_bases   powers of one base in a product
    fractions    sums of fractions with one denominator
    lowest_terms  quotients of polynomials without common divisors, as they are shown
    differences  differences of one function at two places, by their distance
    shares       sums of softmax, which are 1
    kinks        signs and directions in what is differentiated again
    deviations   means of deviations from a mean, which are 0
Add
    a function with ``@rule`` in the file whose pattern it shares
"""

"""Functions of numbers and vectors: C that compiled kernels share with what is compiled ahead of time.

Takes
    numbers, or vectors of them; arrays
Gives
    the same bits from the interpreter, from generated code and over arrays
Invariants
    * Each text is there once: the emitters of C read it from here, and the modules compile it.
    * A lane does not depend on the lanes beside it.
Files
    vector.h       functions of one vector that processors have, or that are made of those; the exponential, the
                   hyperbolic tangent, the logarithm, the sine and the cosine of whole vectors
    special_vectors.h  lanes that are not as the others; the gamma function, its logarithm and digamma, erfcx and
                   inverses of the normal distribution of whole vectors
    transpose.h    blocks of rows to vectors and back
    scalar.h       remainders, minima and others that C's library has otherwise than NumPy
    special.h      polygamma, beta and spherical Bessel functions, which C's library lacks
    error.h        error functions without their exponential, the logarithm of the normal distribution's integral,
                   Faddeeva's function of a complex number
    incomplete.h   derivatives of incomplete gamma and beta functions by their parameters, and logarithms of them
    tails.h        these by name, Student's distribution
    integrals.h    sine, cosine and Fresnel integrals, Lambert's W, derivatives of complete elliptic integrals and of
                   scaled modified Bessel functions, Airy functions
    hypergeometric.h  0F1, 1F1 and 2F1 of real arguments
    special.pyx    these over arrays
Add
    a function that C lacks: ``special.h`` or a header beside it; one that generated code shares: ``vector.h``, and its
    name in codegen/c/spelling.py
"""

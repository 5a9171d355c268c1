"""What symdiff takes from SciPy and from its own compiled code, written with NumPy and Python's ``math`` alone.

Takes
    numbers and arrays of float64
Gives
    arrays of float64
Invariants
    * Files are read as text, and the functions that source calls are put in front of it: nothing is imported but
      ``math`` and NumPy, names are those of ``graph/scalars``, and a function uses others of this folder alone.
    * A function of arrays broadcasts its arguments. What has one formula for all numbers is written with NumPy; others
      go element by element.
    * Relative errors are below 1e-12 where the function is well conditioned; docstrings say where more is lost.
Files
    basic         sigmoids, gamma functions of ``math``, and how others go over elements
    normal        error functions and the normal distribution
    gammas        polygamma, beta and zeta functions
    incomplete    incomplete gamma and beta functions, Student's distribution
    bessels       Bessel functions
    elliptic      complete elliptic integrals
    integrals     exponential, sine, cosine, Fresnel's and Dawson's integrals, and Lambert's W
Add
    a function: two defs, of a number and of arrays; ``tests/codegen/test_standins.py`` compares it with many digits
"""

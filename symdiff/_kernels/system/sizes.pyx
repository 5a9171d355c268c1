"""Sizes of numbers at many points at once: logarithms, of which products are sums and sums the largest.

Rules ask for the sizes of every part of what they make, so these are C arrays; NumPy takes ten times as long for vectors
of this length. A size may be infinite, and what is made of infinite ones none.
"""

from libc.math cimport fabs
from libc.stdint cimport uint64_t

cdef enum:
    #: Points, and how many of them are for all sizes; at the others exponents are compared alone.
    POINTS = 112
    EVERYWHERE = 96


cdef inline double _larger(double a, double b) noexcept:
    return a if a >= b or a != a else b


cdef inline double _smaller(double a, double b) noexcept:
    return a if a <= b or a != a else b


cdef class Sizes:
    """A vector of sizes, which is not changed once it is made."""

    cdef double at[POINTS]

    def __add__(Sizes self, Sizes other):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = self.at[i] + other.at[i]
        return made

    def __sub__(Sizes self, Sizes other):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = self.at[i] - other.at[i]
        return made

    def __mul__(Sizes self, double factor):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = self.at[i] * factor
        return made

    def __truediv__(Sizes self, double divisor):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = self.at[i] / divisor
        return made

    def __neg__(Sizes self):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = -self.at[i]
        return made

    def __abs__(Sizes self):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = fabs(self.at[i])
        return made

    def everywhere(Sizes self):
        """Return these sizes at the points for all sizes, and 0 at those for exponents alone."""
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = self.at[i] if i < EVERYWHERE else 0.0
        return made


def drawn(uint64_t seed, double deviation):
    """Return random sizes around 0, sums of twelve numbers each: the same ones for a seed on every machine."""
    cdef Sizes made = Sizes.__new__(Sizes)
    cdef uint64_t state = seed * 0x2545F4914F6CDD1DULL, mixed
    cdef double total
    for i in range(POINTS):
        total = -6.0
        for _ in range(12):  # splitmix64, by Steele, Lea and Flood
            state += 0x9E3779B97F4A7C15ULL
            mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ULL
            mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL
            total += <double>((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53
        made.at[i] = total * deviation
    return made


def repeated(double size):
    """Return one size at all points."""
    cdef Sizes made = Sizes.__new__(Sizes)
    for i in range(POINTS):
        made.at[i] = size
    return made


def larger(Sizes a, Sizes b):
    """Return the larger of two sizes at each point."""
    cdef Sizes made = Sizes.__new__(Sizes)
    for i in range(POINTS):
        made.at[i] = _larger(a.at[i], b.at[i])
    return made


def smaller(Sizes a, Sizes b):
    """Return the smaller of two sizes at each point."""
    cdef Sizes made = Sizes.__new__(Sizes)
    for i in range(POINTS):
        made.at[i] = _smaller(a.at[i], b.at[i])
    return made


cdef class Span:
    """The sizes of a formula, and the largest and smallest ones of all its parts.

    Parameters
    ----------
    size : Sizes
    parts : list of Span
        The spans of the parts.
    adding : bool
        Whether the parts are terms of a sum: one that is small beside the sum may vanish, and so may all of its parts.
    slack : float
        By how much sizes may differ.
    """

    cdef readonly Sizes size, high, low

    def __init__(self, Sizes size, list parts, bint adding, double slack):
        cdef Sizes high = Sizes.__new__(Sizes), low = Sizes.__new__(Sizes)
        cdef Span part
        high.at[:] = size.at[:]
        low.at[:] = size.at[:]
        for part in parts:
            for i in range(POINTS):
                high.at[i] = _larger(high.at[i], part.high.at[i])
                if not (adding and part.size.at[i] < size.at[i] - slack):
                    low.at[i] = _smaller(low.at[i], part.low.at[i])
        self.size, self.high, self.low = size, high, low


cdef inline double _extent(Span span, int i) noexcept:
    return _larger(span.high.at[i], -span.low.at[i])


def leaves(Span old, Span new, list parts, bint adding, double small, double slack):
    """Tell whether a part of what is made leaves the range in which what was written and the result stay.

    Parameters
    ----------
    old, new : Span
    parts : list of Span
        Those of the parts of what is made.
    adding : bool
        Whether these are terms of a sum.
    small, slack : float
        Up to which size all is within the range, and by how much sizes may differ.
    """
    cdef Span part
    cdef double bound, low
    for part in parts:
        for i in range(POINTS):
            bound = _larger(_larger(_extent(old, i), fabs(new.size.at[i])), small) + slack
            low = 0.0 if adding and part.size.at[i] < new.size.at[i] - slack else part.low.at[i]
            if part.high.at[i] > bound or low < -bound:
                return True
    return False


def exceeds(Span one, Span other, double factor, double small):
    """Tell whether exponents of one reach a number of times further than those of another."""
    for i in range(EVERYWHERE, POINTS):
        if not _extent(one, i) <= factor * _extent(other, i) + small:
            return True
    return False

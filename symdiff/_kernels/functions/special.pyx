"""Digamma, polygamma and the spherical Bessel function over arrays, from the C text that generated kernels use too.

SciPy's polygamma gives nan below zero, and its bits are not those of a generated kernel.
"""

import numpy as np

cdef extern from "functions/special.h":
    double sd_digamma(double x) noexcept nogil
    double sd_polygamma(double order, double x) noexcept nogil
    double sd_spherical_jn(double order, double x) noexcept nogil

ctypedef double (*Function)(double, double) noexcept nogil


def digamma(x):
    """Logarithmic derivative of the gamma function (DLMF 5.2.2), element by element.

    Parameters
    ----------
    x : array_like of float64, shape (...)

    Returns
    -------
    ndarray of float64, shape (...)
        nan at the negative integers, -inf at 0, +inf at -0.
    """
    return polygamma(0, x)


def polygamma(int order, x):
    """Derivative of order ``order`` of digamma (DLMF 5.15), element by element.

    Parameters
    ----------
    order : int
        0 to 100; 0 is digamma itself.
    x : array_like of float64, shape (...)

    Returns
    -------
    ndarray of float64, shape (...)
    """
    if not 0 <= order <= 100:
        raise ValueError(f"polygamma of order {order}: orders 0 to 100 are supported")
    return each(sd_polygamma, order, x)


def spherical_jn(int order, x):
    """Spherical Bessel function of the first kind (DLMF 10.47.3), element by element.

    Parameters
    ----------
    order : int
        0 to 100.
    x : array_like of float64, shape (...)

    Returns
    -------
    ndarray of float64, shape (...)
    """
    if not 0 <= order <= 100:
        raise ValueError(f"spherical_jn of order {order}: orders 0 to 100 are supported")
    return each(sd_spherical_jn, order, x)


cdef each(Function function, double order, x):
    """Apply ``function`` to every element of ``x``, without the GIL."""
    values = np.ascontiguousarray(x, dtype=np.float64)
    result = np.empty_like(values)
    cdef const double[::1] source = values.reshape(-1)
    cdef double[::1] target = result.reshape(-1)
    cdef Py_ssize_t i
    with nogil:
        for i in range(source.shape[0]):
            target[i] = function(order, source[i])
    return result.reshape(np.shape(x))

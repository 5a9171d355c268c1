"""Functions of numbers over arrays, from the C text that generated kernels use too.

SciPy lacks them, or its bits are not those of a generated kernel; its polygamma gives nan below zero.
"""

cimport numpy as cnp

import numpy as np

from ...errors import UnsupportedError

cdef extern from "functions/special.h":
    double sd_digamma(double x) noexcept nogil
    double sd_polygamma(double order, double x) noexcept nogil
    double sd_zeta(double s, double q) noexcept nogil
    double sd_zeta_by_s(double order, double s, double q) noexcept nogil
    double sd_spherical_jn(double order, double x) noexcept nogil
    double sd_beta(double a, double b) noexcept nogil
    double sd_betaln(double a, double b) noexcept nogil
    double sd_polygamma_gap(double order, double x, double d) noexcept nogil

cdef extern from "functions/incomplete.h":
    pass

cdef extern from "functions/error.h":
    double sd_ierfcx(double order, double x) noexcept nogil
    double sd_log_ndtr_derivative(double order, double x) noexcept nogil
    double sd_wofz_real(double order, double x, double y) noexcept nogil
    double sd_wofz_imag(double order, double x, double y) noexcept nogil

cdef extern from "functions/tails.h":
    double sd_gammainc_by_a(double a, double x) noexcept nogil
    double sd_gammainc_by_aa(double a, double x) noexcept nogil
    double sd_gammainc_by_aaa(double a, double x) noexcept nogil
    double sd_log_gammainc(double a, double x) noexcept nogil
    double sd_log_gammainc_by_x(double a, double x) noexcept nogil
    double sd_log_gammainc_by_a(double a, double x) noexcept nogil
    double sd_log_gammainc_by_aa(double a, double x) noexcept nogil
    double sd_log_gammainc_by_aaa(double a, double x) noexcept nogil
    double sd_log_gammaincc(double a, double x) noexcept nogil
    double sd_log_gammaincc_by_x(double a, double x) noexcept nogil
    double sd_log_gammaincc_by_a(double a, double x) noexcept nogil
    double sd_log_gammaincc_by_aa(double a, double x) noexcept nogil
    double sd_log_gammaincc_by_aaa(double a, double x) noexcept nogil
    double sd_stdtr(double df, double t) noexcept nogil
    double sd_stdtr_by_df(double df, double t) noexcept nogil
    double sd_log_stdtr(double df, double t) noexcept nogil
    double sd_log_stdtr_by_df(double df, double t) noexcept nogil
    double sd_log_stdtr_by_x(double df, double t) noexcept nogil
    double sd_beta_density(double a, double b, double x) noexcept nogil
    double sd_betainc_by_a(double a, double b, double x) noexcept nogil
    double sd_betainc_by_b(double a, double b, double x) noexcept nogil
    double sd_betainc_by_aa(double a, double b, double x) noexcept nogil
    double sd_betainc_by_ab(double a, double b, double x) noexcept nogil
    double sd_betainc_by_bb(double a, double b, double x) noexcept nogil
    double sd_betainc_by_aaa(double a, double b, double x) noexcept nogil
    double sd_betainc_by_aab(double a, double b, double x) noexcept nogil
    double sd_betainc_by_abb(double a, double b, double x) noexcept nogil
    double sd_betainc_by_bbb(double a, double b, double x) noexcept nogil
    double sd_log_betainc(double a, double b, double x) noexcept nogil
    double sd_log_betainc_by_x(double a, double b, double x) noexcept nogil
    double sd_log_betainc_by_a(double a, double b, double x) noexcept nogil
    double sd_log_betainc_by_b(double a, double b, double x) noexcept nogil
    double sd_log_betainc_by_aa(double a, double b, double x) noexcept nogil
    double sd_log_betainc_by_ab(double a, double b, double x) noexcept nogil
    double sd_log_betainc_by_bb(double a, double b, double x) noexcept nogil
    double sd_log_betainc_by_aaa(double a, double b, double x) noexcept nogil
    double sd_log_betainc_by_aab(double a, double b, double x) noexcept nogil
    double sd_log_betainc_by_abb(double a, double b, double x) noexcept nogil
    double sd_log_betainc_by_bbb(double a, double b, double x) noexcept nogil

cdef extern from "functions/integrals.h":
    double sd_i_moment(double order, double x) noexcept nogil
    double sd_k_moment(double order, double v, double x) noexcept nogil
    double sd_bessel_far(double which, double v, double x) noexcept nogil
    double sd_airyai(double x) noexcept nogil
    double sd_airyaiprime(double x) noexcept nogil
    double sd_airybi(double x) noexcept nogil
    double sd_airybiprime(double x) noexcept nogil
    double sd_ellipk_derivative(double order, double p) noexcept nogil
    double sd_ellipe_derivative(double order, double p) noexcept nogil
    double sd_si(double x) noexcept nogil
    double sd_ci(double x) noexcept nogil
    double sd_fresnels(double x) noexcept nogil
    double sd_fresnelc(double x) noexcept nogil
    double sd_lambertw(double x) noexcept nogil
    double sd_lambertwm1(double x) noexcept nogil

cdef extern from "functions/hypergeometric.h":
    double sd_hyp0f1(double b, double x) noexcept nogil
    double sd_hyp1f1(double a, double b, double x) noexcept nogil
    double sd_hyp2f1(double a, double b, double c, double x) noexcept nogil

cnp.import_array()

ctypedef double (*One)(double) noexcept nogil
ctypedef double (*Two)(double, double) noexcept nogil
ctypedef double (*Three)(double, double, double) noexcept nogil
ctypedef double (*Four)(double, double, double, double) noexcept nogil


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


def polygamma(order, x):
    """Derivative of each order of digamma (DLMF 5.15), element by element.

    Parameters
    ----------
    order : array_like of int
        0 to 100; 0 is digamma itself.
    x : array_like of float64
        Broadcast with the orders.

    Returns
    -------
    ndarray of float64

    Raises
    ------
    UnsupportedError
        For any other order, as of each function below.
    """
    return each(sd_polygamma, within(order, 0, 100, "polygamma"), x)


def polygamma_gap(order, x, d):
    """``polygamma(order, x + d) - polygamma(order, x)``, element by element; orders 0 to 100."""
    return every(sd_polygamma_gap, within(order, 0, 100, "polygamma_gap"), x, d)


def beta(a, b):
    """Beta function (DLMF 5.12.1), element by element; SciPy's loses digits far out."""
    return each(sd_beta, np.asarray(a, dtype=np.float64), b)


def betaln(a, b):
    """Logarithm of the beta function's size (DLMF 5.12.1), element by element; SciPy's loses digits far out."""
    return each(sd_betaln, np.asarray(a, dtype=np.float64), b)


def zeta(s, q):
    """Hurwitz's zeta function (DLMF 25.11.1) for s > 1 and q > 0, element by element."""
    return each(sd_zeta, np.asarray(s, dtype=np.float64), q)


def spherical_jn(order, x):
    """Spherical Bessel function of the first kind (DLMF 10.47.3), element by element; orders 0 to 100."""
    return each(sd_spherical_jn, within(order, 0, 100, "spherical_jn"), x)


def ierfcx(order, x):
    """``exp(x**2)`` times the repeated integral of erfc (DLMF 7.18.2), element by element; orders 0 to 30."""
    return each(sd_ierfcx, within(order, 0, 30, "ierfcx"), x)


def log_ndtr_derivative(order, x):
    """Derivative of the logarithm of the normal distribution's integral, element by element; orders 1 to 10."""
    return each(sd_log_ndtr_derivative, within(order, 1, 10, "log_ndtr_derivative"), x)


def i_moment(order, x):
    """Mean of ``(1 - cos(t))**order * exp(-abs(x) * (1 - cos(t)))`` over a period; orders 0 to 10."""
    return each(sd_i_moment, within(order, 0, 10, "i_moment"), x)


def k_moment(order, v, x):
    """Integral of ``(cosh(t) - 1)**order * cosh(v * t) * exp(-x * (cosh(t) - 1))`` over t > 0; orders 0 to 10."""
    return every(sd_k_moment, within(order, 0, 10, "k_moment"), v, x)


def bessel_far(which, v, x):
    """Bessel functions J, Y, K (0, 1, 2) from where SciPy's have no digits: x above 1e8, orders of K above 600."""
    return every(sd_bessel_far, within(which, 0, 2, "bessel_far"), v, x)


def ellipk_derivative(order, p):
    """Derivative of the elliptic integral K by m, at ``m = 1 - p`` (DLMF 19.5.1), element by element; orders 1 to 10."""
    return each(sd_ellipk_derivative, within(order, 1, 10, "ellipk_derivative"), p)


def ellipe_derivative(order, p):
    """Derivative of the elliptic integral E by m, at ``m = 1 - p`` (DLMF 19.5.2), element by element; orders 1 to 10."""
    return each(sd_ellipe_derivative, within(order, 1, 10, "ellipe_derivative"), p)


def si(x):
    """Sine integral (DLMF 6.2.9), element by element."""
    return of_one(sd_si, x)


def ci(x):
    """Cosine integral of the argument's size (DLMF 6.2.11), element by element."""
    return of_one(sd_ci, x)


def fresnels(x):
    """Fresnel's sine integral (DLMF 7.2.8), element by element."""
    return of_one(sd_fresnels, x)


def fresnelc(x):
    """Fresnel's cosine integral (DLMF 7.2.7), element by element."""
    return of_one(sd_fresnelc, x)


def airyai(x):
    """Airy function Ai (DLMF 9.2.2), element by element."""
    return of_one(sd_airyai, x)


def airyaiprime(x):
    """Derivative of the Airy function Ai (DLMF 9.2.2), element by element."""
    return of_one(sd_airyaiprime, x)


def airybi(x):
    """Airy function Bi (DLMF 9.2.2), element by element."""
    return of_one(sd_airybi, x)


def airybiprime(x):
    """Derivative of the Airy function Bi (DLMF 9.2.2), element by element."""
    return of_one(sd_airybiprime, x)


def lambertw(x):
    """Lambert's W on its main branch (DLMF 4.13.1), element by element."""
    return of_one(sd_lambertw, x)


def lambertwm1(x):
    """Lambert's W on its branch -1, from -1/e to 0 (DLMF 4.13.1), element by element."""
    return of_one(sd_lambertwm1, x)


cdef class OfTwo:
    """A function of two numbers over arrays, element by element."""

    cdef Two function

    def __call__(self, x, y):
        return each(self.function, np.asarray(x, dtype=np.float64), y)


cdef class OfThree:
    """A function of three numbers over arrays, element by element."""

    cdef Three function

    def __call__(self, x, y, z):
        return every(self.function, np.asarray(x, dtype=np.float64), y, z)


cdef OfTwo of_two(Two function):
    cdef OfTwo made = OfTwo.__new__(OfTwo)
    made.function = function
    return made


cdef OfThree of_three(Three function):
    cdef OfThree made = OfThree.__new__(OfThree)
    made.function = function
    return made


# Student's distribution, of which SciPy's loses digits far out, and incomplete gamma and beta functions
stdtr = of_two(sd_stdtr)
stdtr_by_df = of_two(sd_stdtr_by_df)
log_stdtr = of_two(sd_log_stdtr)
log_stdtr_by_df = of_two(sd_log_stdtr_by_df)
log_stdtr_by_x = of_two(sd_log_stdtr_by_x)
beta_density = of_three(sd_beta_density)
gammainc_by_a = of_two(sd_gammainc_by_a)
gammainc_by_aa = of_two(sd_gammainc_by_aa)
gammainc_by_aaa = of_two(sd_gammainc_by_aaa)
log_gammainc = of_two(sd_log_gammainc)
log_gammainc_by_x = of_two(sd_log_gammainc_by_x)
log_gammainc_by_a = of_two(sd_log_gammainc_by_a)
log_gammainc_by_aa = of_two(sd_log_gammainc_by_aa)
log_gammainc_by_aaa = of_two(sd_log_gammainc_by_aaa)
log_gammaincc = of_two(sd_log_gammaincc)
log_gammaincc_by_x = of_two(sd_log_gammaincc_by_x)
log_gammaincc_by_a = of_two(sd_log_gammaincc_by_a)
log_gammaincc_by_aa = of_two(sd_log_gammaincc_by_aa)
log_gammaincc_by_aaa = of_two(sd_log_gammaincc_by_aaa)
betainc_by_a = of_three(sd_betainc_by_a)
betainc_by_b = of_three(sd_betainc_by_b)
betainc_by_aa = of_three(sd_betainc_by_aa)
betainc_by_ab = of_three(sd_betainc_by_ab)
betainc_by_bb = of_three(sd_betainc_by_bb)
betainc_by_aaa = of_three(sd_betainc_by_aaa)
betainc_by_aab = of_three(sd_betainc_by_aab)
betainc_by_abb = of_three(sd_betainc_by_abb)
betainc_by_bbb = of_three(sd_betainc_by_bbb)
log_betainc = of_three(sd_log_betainc)
log_betainc_by_x = of_three(sd_log_betainc_by_x)
log_betainc_by_a = of_three(sd_log_betainc_by_a)
log_betainc_by_b = of_three(sd_log_betainc_by_b)
log_betainc_by_aa = of_three(sd_log_betainc_by_aa)
log_betainc_by_ab = of_three(sd_log_betainc_by_ab)
log_betainc_by_bb = of_three(sd_log_betainc_by_bb)
log_betainc_by_aaa = of_three(sd_log_betainc_by_aaa)
log_betainc_by_aab = of_three(sd_log_betainc_by_aab)
log_betainc_by_abb = of_three(sd_log_betainc_by_abb)
log_betainc_by_bbb = of_three(sd_log_betainc_by_bbb)


def hyp0f1(b, x):
    """Confluent hypergeometric function 0F1 (DLMF 16.2.1), element by element."""
    return each(sd_hyp0f1, np.asarray(b, dtype=np.float64), x)


def hyp1f1(a, b, x):
    """Kummer's function 1F1 (DLMF 13.2.2), element by element; nan where its terms cancel by over 16 digits."""
    return every(sd_hyp1f1, np.asarray(a, dtype=np.float64), b, x)


def hyp2f1(a, b, c, x):
    """Gauss's function 2F1 up to 1 (DLMF 15.2.1), element by element; nan where its terms cancel by over 16 digits."""
    return of_four(sd_hyp2f1, a, b, c, x)


def wofz_real(order, x, y):
    """Real part of a derivative of Faddeeva's function at x + iy (DLMF 7.2.3), element by element; orders 0 to 10."""
    return every(sd_wofz_real, within(order, 0, 10, "wofz_real"), x, y)


def wofz_imag(order, x, y):
    """Imaginary part of a derivative of Faddeeva's function at x + iy, element by element; orders 0 to 10."""
    return every(sd_wofz_imag, within(order, 0, 10, "wofz_imag"), x, y)


def zeta_by_s(order, s, q):
    """Derivative of Hurwitz's zeta function by s (DLMF 25.11.5), element by element; orders 0 to 10."""
    return every(sd_zeta_by_s, within(order, 0, 10, "zeta_by_s"), s, q)


def within(order, int least, int most, name):
    """Return orders that a function has, as float64."""
    orders = np.asarray(order, dtype=np.float64)
    wrong = orders[~((orders >= least) & (orders <= most) & (orders == np.floor(orders)))]
    if wrong.size:
        raise UnsupportedError(f"{name} of order {wrong.flat[0]:g}: orders {least} to {most} are supported")
    return orders


cdef cnp.ndarray contiguous(array):
    """Return the numbers of an array of float64, one after the other."""
    # no memoryviews: their code is two thirds of a file that has them
    return cnp.PyArray_FROMANY(array, cnp.NPY_FLOAT64, 0, 0, cnp.NPY_ARRAY_C_CONTIGUOUS)


cdef each(Two function, order, x):
    """Apply ``function`` to every element, without the GIL."""
    order, x = np.broadcast_arrays(order, np.asarray(x, dtype=np.float64))
    cdef cnp.ndarray first = contiguous(order), second = contiguous(x), result = np.empty(x.shape)
    cdef const double *orders = <const double *>cnp.PyArray_DATA(first)
    cdef const double *source = <const double *>cnp.PyArray_DATA(second)
    cdef double *target = <double *>cnp.PyArray_DATA(result)
    cdef Py_ssize_t i, count = cnp.PyArray_SIZE(result)
    with nogil:
        for i in range(count):
            target[i] = function(orders[i], source[i])
    return result


cdef of_one(One function, x):
    """Apply a function of one number to every element, without the GIL."""
    cdef cnp.ndarray array = contiguous(np.asarray(x, dtype=np.float64))
    cdef cnp.ndarray result = np.empty((<object>array).shape)
    cdef const double *source = <const double *>cnp.PyArray_DATA(array)
    cdef double *target = <double *>cnp.PyArray_DATA(result)
    cdef Py_ssize_t i, count = cnp.PyArray_SIZE(result)
    with nogil:
        for i in range(count):
            target[i] = function(source[i])
    return result


cdef every(Three function, order, x, y):
    """Apply a function of three numbers to every element, without the GIL."""
    order, x, y = np.broadcast_arrays(order, np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
    cdef cnp.ndarray one = contiguous(order), two = contiguous(x), three = contiguous(y), result = np.empty(x.shape)
    cdef const double *orders = <const double *>cnp.PyArray_DATA(one)
    cdef const double *first = <const double *>cnp.PyArray_DATA(two)
    cdef const double *second = <const double *>cnp.PyArray_DATA(three)
    cdef double *target = <double *>cnp.PyArray_DATA(result)
    cdef Py_ssize_t i, count = cnp.PyArray_SIZE(result)
    with nogil:
        for i in range(count):
            target[i] = function(orders[i], first[i], second[i])
    return result


cdef of_four(Four function, a, b, c, x):
    """Apply a function of four numbers to every element, without the GIL."""
    a, b, c, x = np.broadcast_arrays(*[np.asarray(each, dtype=np.float64) for each in (a, b, c, x)])
    cdef cnp.ndarray one = contiguous(a), two = contiguous(b), three = contiguous(c), four = contiguous(x)
    cdef cnp.ndarray result = np.empty(x.shape)
    cdef const double *first = <const double *>cnp.PyArray_DATA(one)
    cdef const double *second = <const double *>cnp.PyArray_DATA(two)
    cdef const double *third = <const double *>cnp.PyArray_DATA(three)
    cdef const double *fourth = <const double *>cnp.PyArray_DATA(four)
    cdef double *target = <double *>cnp.PyArray_DATA(result)
    cdef Py_ssize_t i, count = cnp.PyArray_SIZE(result)
    with nogil:
        for i in range(count):
            target[i] = function(first[i], second[i], third[i], fourth[i])
    return result

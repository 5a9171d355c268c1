/* Arguments of a call: numbers, arrays of other types, and the declared structure of an input. */

#ifndef SD_ARGUMENTS_H
#define SD_ARGUMENTS_H
#include <math.h>
#include <numpy/arrayobject.h>
#include <stddef.h>
#include <string.h>

/* Numbers that a caller passes (Python's own, which have no type of their own in a call, and NumPy's scalars), and
   arrays of other types. */

/* What an argument is, if it is a number at all: Python's, a float32, or another real scalar of NumPy's. */
enum { SD_NO_NUMBER, SD_PYTHONS, SD_SINGLE, SD_DOUBLE };

/* Tell what an argument is, and its value. Classes derived from these are left to NumPy; so are integers that no float
   reaches. */
static __attribute__((unused)) int sd_number(PyObject *thing, double *value) {
  PyTypeObject *type = Py_TYPE(thing);
  int kind;
  if (type == &PyFloat_Type || type == &PyDoubleArrType_Type) {
    *value = PyFloat_AS_DOUBLE(thing);
    return type == &PyFloat_Type ? SD_PYTHONS : SD_DOUBLE;
  }
  if (PyArray_CheckExact(thing)) return SD_NO_NUMBER;
  if (type == &PyLong_Type || type == &PyBool_Type) {
    *value = PyLong_AsDouble(thing);
    kind = SD_PYTHONS;
  } else if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
             (type == &PyFloatArrType_Type || type == &PyHalfArrType_Type || type == &PyBoolArrType_Type ||
              (PyArray_IsScalar(thing, Integer) && type != &PyTimedeltaArrType_Type))) {
    *value = PyFloat_AsDouble(thing);
    kind = type == &PyFloatArrType_Type ? SD_SINGLE : SD_DOUBLE;
  } else
    return SD_NO_NUMBER;
  if (*value == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    return SD_NO_NUMBER;
  }
  return kind;
}

/* Whether an argument is an array of integers, or an integer of Python's or NumPy's. */
static inline int sd_is_whole(PyObject *thing) {
  PyTypeObject *type = Py_TYPE(thing);
  if (PyArray_CheckExact(thing)) return PyArray_ISINTEGER((PyArrayObject *)thing);
  return type == &PyLong_Type || (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && PyArray_IsScalar(thing, Integer) &&
                                  type != &PyTimedeltaArrType_Type);
}

/* Return a new array of another type, of the same order of axes where all elements are neighbours; NULL for an error. */
static __attribute__((unused)) PyObject *sd_cast(PyArrayObject *array, int type) {
  return PyArray_CastToType(array, PyArray_DescrFromType(type), PyArray_ISFORTRAN(array));
}

/* Whether the numbers of an argument are what its input is declared to be, for every sample of a batch.

Zeros and signs are exact. Of a symmetric or skew matrix, elements across the diagonal may differ by rounding: by
SD_ROUNDINGS times the precision of the array's type and the largest element of the matrix. A nan is nothing that can be
declared, and an infinite number is not positive. runtime/calls/declared.py is the slow twin, and says what is wrong. */

enum { SD_SYMMETRIC = 1, SD_SKEW = 2, SD_LOWER = 4, SD_UPPER = 8, SD_POSITIVE = 16, SD_DIAGONAL_ABOVE = 32, SD_SLOW = 64 };
#define SD_ROUNDINGS 100.0

/* Elements of one sample, at any stride and address. */
#define SD_DECLARED(name, type, eps)                                                                                   \
    static inline double name##_at(const char *data)                                                                   \
    {                                                                                                                  \
        type value;                                                                                                    \
        memcpy(&value, data, sizeof value);                                                                            \
        return (double)value;                                                                                          \
    }                                                                                                                  \
                                                                                                                       \
    static int name##_mirrored(const char *data, ptrdiff_t n, ptrdiff_t row, ptrdiff_t column, double sign)            \
    {                                                                                                                  \
        double most = 0.0;                                                                                             \
        ptrdiff_t i, j;                                                                                                \
        int exact = 1;                                                                                                 \
        for (i = 0; i < n; i++)                                                                                        \
            for (j = 0; j <= i; j++)                                                                                   \
                exact &= name##_at(data + i * row + j * column) == sign * name##_at(data + j * row + i * column);      \
        if (exact)                                                                                                     \
            return 1;                                                                                                  \
        for (i = 0; i < n; i++)                                                                                        \
            for (j = 0; j < n; j++) {                                                                                  \
                double size = fabs(name##_at(data + i * row + j * column));                                            \
                if (!(size <= 1.7976931348623157e308))                                                                 \
                    return 0;                                                                                          \
                most = size > most ? size : most;                                                                      \
            }                                                                                                          \
        for (i = 0; i < n; i++)                                                                                        \
            for (j = 0; j <= i; j++) {                                                                                 \
                double a = name##_at(data + i * row + j * column), b = name##_at(data + j * row + i * column);         \
                if (!(fabs(a - sign * b) <= SD_ROUNDINGS * eps * most))                                                \
                    return 0;                                                                                          \
            }                                                                                                          \
        return 1;                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    static int name##_matrix(const char *data, ptrdiff_t n, ptrdiff_t row, ptrdiff_t column, int facts)                \
    {                                                                                                                  \
        ptrdiff_t i, j;                                                                                                \
        int good = 1;                                                                                                  \
        if (facts & SD_LOWER)                                                                                          \
            for (i = 0; i < n; i++)                                                                                    \
                for (j = i + 1; j < n; j++)                                                                            \
                    good &= name##_at(data + i * row + j * column) == 0.0;                                             \
        if (facts & SD_UPPER)                                                                                          \
            for (i = 0; i < n; i++)                                                                                    \
                for (j = 0; j < i; j++)                                                                                \
                    good &= name##_at(data + i * row + j * column) == 0.0;                                             \
        if (facts & SD_DIAGONAL_ABOVE)                                                                                 \
            for (i = 0; i < n; i++)                                                                                    \
                good &= name##_at(data + i * (row + column)) > 0.0;                                                    \
        if ((facts & SD_SYMMETRIC) && !((facts & SD_LOWER) && (facts & SD_UPPER)))                                     \
            good = good && name##_mirrored(data, n, row, column, 1.0);                                                 \
        if (facts & SD_SKEW)                                                                                           \
            good = good && name##_mirrored(data, n, row, column, -1.0);                                                \
        return good;                                                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    static int name##_positive(const char *data, int axes, const ptrdiff_t *lengths, const ptrdiff_t *strides)         \
    {                                                                                                                  \
        ptrdiff_t i;                                                                                                   \
        int good = 1;                                                                                                  \
        if (axes == 0) {                                                                                               \
            double value = name##_at(data);                                                                            \
            return value > 0.0 && value <= 1.7976931348623157e308;                                                     \
        }                                                                                                              \
        if (axes == 1) {                                                                                               \
            for (i = 0; i < lengths[0]; i++) {                                                                         \
                double value = name##_at(data + i * strides[0]);                                                       \
                good &= value > 0.0 && value <= 1.7976931348623157e308;                                                \
            }                                                                                                          \
            return good;                                                                                               \
        }                                                                                                              \
        for (i = 0; i < lengths[0]; i++)                                                                               \
            if (!name##_positive(data + i * strides[0], axes - 1, lengths + 1, strides + 1))                           \
                return 0;                                                                                              \
        return 1;                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    static int name##_matrices(const char *data, int axes, const ptrdiff_t *lengths, const ptrdiff_t *strides, int at, \
                               int facts)                                                                              \
    {                                                                                                                  \
        ptrdiff_t i;                                                                                                   \
        if (axes == 0)                                                                                                 \
            return 1;                                                                                                  \
        /* the axes of the matrix are those at `at` and behind it; all others are gone through one by one */           \
        if (axes == 2 && at == 0)                                                                                      \
            return name##_matrix(data, lengths[0], strides[0], strides[1], facts);                                     \
        if (at > 0) {                                                                                                  \
            for (i = 0; i < lengths[0]; i++)                                                                           \
                if (!name##_matrices(data + i * strides[0], axes - 1, lengths + 1, strides + 1, at - 1, facts))        \
                    return 0;                                                                                          \
            return 1;                                                                                                  \
        }                                                                                                              \
        for (i = 0; i < lengths[axes - 1]; i++)                                                                        \
            if (!name##_matrices(data + i * strides[axes - 1], axes - 1, lengths, strides, 0, facts))                  \
                return 0;                                                                                              \
        return 1;                                                                                                      \
    }

SD_DECLARED(sd_double, double, 2.220446049250313e-16)
SD_DECLARED(sd_float, float, 1.1920928955078125e-07)

/* Whether an array is what is declared. The axes of its matrices begin at `at`, -1 where there are none. */
static __attribute__((unused)) int sd_is_declared(const char *data, int axes, const ptrdiff_t *lengths, const ptrdiff_t *strides, int at, int facts,
                          int single)
{
    if (facts & SD_SLOW)
        return 0; /* the slow twin looks at it */
    if (facts & SD_POSITIVE)
        if (!(single ? sd_float_positive : sd_double_positive)(data, axes, lengths, strides))
            return 0;
    if (facts & ~SD_POSITIVE)
        return (single ? sd_float_matrices : sd_double_matrices)(data, axes, lengths, strides, at, facts);
    return 1;
}

/* Whether all numbers of an array of double are from 0 on and below `size`. */
static inline int sd_are_within(const char *data, int axes, const ptrdiff_t *lengths, const ptrdiff_t *strides, double size)
{
    ptrdiff_t i;
    int good = 1;
    if (axes == 0) {
        double value = sd_double_at(data);
        return value >= 0.0 && value < size;
    }
    if (axes == 1) {
        for (i = 0; i < lengths[0]; i++) {
            double value = sd_double_at(data + i * strides[0]);
            good &= (value >= 0.0) & (value < size);
        }
        return good;
    }
    for (i = 0; i < lengths[0]; i++)
        if (!sd_are_within(data + i * strides[0], axes - 1, lengths + 1, strides + 1, size))
            return 0;
    return 1;
}
#endif

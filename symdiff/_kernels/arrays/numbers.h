/* Numbers that a caller passes (Python's own, which have no type of their own in a call, and NumPy's scalars), and
   arrays of other types.

   arguments.pxd asks for them. Needs NumPy's headers. */

#ifndef SD_NUMBERS_H
#define SD_NUMBERS_H
#include <numpy/arrayobject.h>

/* What an argument is, if it is a number at all: Python's, a float32, or another real scalar of NumPy's. */
enum { SD_NO_NUMBER, SD_PYTHONS, SD_SINGLE, SD_DOUBLE };

/* Tell what an argument is, and its value. Classes derived from these are left to NumPy; so are integers that no float
   reaches. */
static int sd_number(PyObject *thing, double *value) {
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
static PyObject *sd_cast(PyArrayObject *array, int type) {
  return PyArray_CastToType(array, PyArray_DescrFromType(type), PyArray_ISFORTRAN(array));
}
#endif

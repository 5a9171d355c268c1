"""Functions whose errors leave without frames of the package.

Python adds a frame to the traceback of an error for each Python function that it passes, and Cython one for each of
its own. A boundary calls a function through the C API alone, so that nothing is added behind it: what an error looks
like is decided by ``told`` last of all.
"""

import os
from functools import update_wrapper
from types import MethodType

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF

from ...errors import InternalError, SymdiffError

cdef extern from *:
    """
    /* Take the error that is set, as one object that has its traceback; NULL if it is none that is to be told of. */
    static PyObject *sd_take_error(void) {
      PyObject *type, *error, *traceback;
      if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
      PyErr_Fetch(&type, &error, &traceback);
      PyErr_NormalizeException(&type, &error, &traceback);
      if (traceback) PyException_SetTraceback(error, traceback);
      Py_XDECREF(type);
      Py_XDECREF(traceback);
      return error;
    }

    static void sd_set_error(PyObject *error) {
      Py_INCREF(Py_TYPE(error));
      Py_INCREF(error);
      PyErr_Restore((PyObject *)Py_TYPE(error), error, PyException_GetTraceback(error));
    }

    static void sd_set_call(PyObject *cls, ternaryfunc function) {
      ((PyTypeObject *)cls)->tp_call = function;
      PyType_Modified((PyTypeObject *)cls);
    }
    """
    ctypedef PyObject *(*ternaryfunc)(PyObject *, PyObject *, PyObject *) noexcept
    PyObject *sd_take_error() noexcept
    void sd_set_error(PyObject *error) noexcept
    void sd_set_call(object cls, ternaryfunc function) noexcept
    PyObject *plain_call "PyObject_Call"(PyObject *function, PyObject *args, PyObject *kwargs) noexcept


#: Libraries whose frames say nothing of a user's mistake.
_LIBRARIES = frozenset({"symdiff", "numpy", "scipy", "sympy", "mpmath"})


def shorten(error):
    """Return an error without the frames of libraries, as its user is to see it.

    What one of symdiff's errors was made of says nothing more, and stays as its ``__context__``. A defect keeps all,
    and so does every error where the environment has ``SYMDIFF_TRACEBACK=full``.
    """
    if isinstance(error, InternalError) or os.environ.get("SYMDIFF_TRACEBACK") == "full":
        return error
    error.__traceback__ = _without_libraries(error.__traceback__)
    if isinstance(error, SymdiffError):
        if isinstance(error.__cause__, SymdiffError):
            error.__cause__ = None
        elif error.__cause__ is not None:
            error.__cause__.__traceback__ = _without_libraries(error.__cause__.__traceback__)
        error.__suppress_context__ = True
    return error


def _without_libraries(step):
    """Return a traceback without frames of symdiff and of what it calls."""
    kept = []
    while step is not None:
        if str(step.tb_frame.f_globals.get("__name__", "")).partition(".")[0] not in _LIBRARIES:
            kept.append(step)
        step = step.tb_next
    following = None
    for step in reversed(kept):
        step.tb_next = following
        following = step
    return following


cdef void shorten_error() noexcept:
    """Shorten the error that is set, where compiled code is about to return to a user."""
    cdef PyObject *taken = sd_take_error()
    if taken != NULL:
        error = <object>taken
        Py_DECREF(error)
        try:
            error = shorten(error)
        except BaseException as another:
            error = another
        sd_set_error(<PyObject *>error)


cdef class Boundary:
    """A function whose errors are what ``told(error, function, args, kwargs)`` makes of them.

    Parameters
    ----------
    function : callable
    told : callable
        Returns the error that leaves, with its traceback.
    """

    cdef object function, told
    cdef dict __dict__
    cdef object __weakref__

    def __init__(self, function, told):
        self.function, self.told = function, told
        update_wrapper(self, function)

    def __get__(self, instance, owner):
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self):
        return self.__qualname__

    def __repr__(self):
        return repr(self.function)


cdef PyObject *_call(PyObject *itself, PyObject *args, PyObject *kwargs) noexcept:
    """Call the function of a boundary."""
    cdef Boundary self = <Boundary>itself
    cdef PyObject *result = plain_call(<PyObject *>self.function, args, kwargs)
    cdef PyObject *error
    if result == NULL:
        error = sd_take_error()
        if error != NULL:
            _tell(self, error, args, kwargs)
    return result


cdef void _tell(Boundary self, PyObject *taken, PyObject *args, PyObject *kwargs) noexcept:
    """Set the error that is told of in place of one that was taken."""
    error = <object>taken
    Py_DECREF(error)
    try:
        error = self.told(error, self.function, <tuple>args, {} if kwargs == NULL else <dict>kwargs)
    except BaseException as another:
        error = another
    sd_set_error(<PyObject *>error)


sd_set_call(Boundary, _call)

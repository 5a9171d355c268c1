"""Scopes that Python does not undo or leave by itself: blocks, errors without frames of the package, and loaded libraries.

Python calls the handlers of signals between any two steps of its own: also between the beginning of a block and the note
of it, or on the way into ``finally``. What is undone at the end of a block of a ``with`` statement here is begun and
undone in compiled code, where no handler is called, and Python calls none on its way there. A block that was left by
its memory alone is undone, too.

Python adds a frame to the traceback of an error for each Python function that it passes, and Cython one for each of
its own. A boundary calls a function through the C API alone, so that nothing is added behind it: what an error looks
like is decided by ``told`` last of all.

Libraries are loaded when an object is made and unloaded when its last reference is gone: when the object's memory is
freed, and not before. Python's own ways to be told of an object's end (``__del__``, ``weakref.finalize``) come earlier
where objects hold each other in a circle: the finalizers of others in that circle run afterwards, may call a kernel,
and may even bring it back. All of it runs with the interpreter's lock, so that no thread forks while another is in the
loader.
"""

from cpython.contextvars cimport PyContextVar_Reset, PyContextVar_Set
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF

import atexit
import os
from functools import update_wrapper, wraps
from types import GenericAlias, MethodType

from ...errors import InternalError, SymdiffError

cdef extern from "Python.h":
    int PyGC_Disable()
    int PyGC_Enable()


cdef class Bound:
    """A block within which a context variable has a value.

    Parameters
    ----------
    variable : ContextVar
    value : object
        It is what ``as`` gives.
    wanted : bool
        Without it the variable stays as it is.
    """

    cdef object variable, token
    cdef readonly object value

    __class_getitem__ = classmethod(GenericAlias)  # what the value is, for type checkers

    def __init__(self, variable, value, wanted=True):
        self.variable = variable if wanted else None
        self.value = value

    def __enter__(self):
        if self.variable is not None:
            self.token = PyContextVar_Set(self.variable, self.value)
        return self.value

    def __exit__(self, kind, error, where):
        if self.token is not None:
            self.undo()
            self.left(error)

    cdef int undo(self) except -1:
        token, self.token = self.token, None
        PyContextVar_Reset(self.variable, token)
        return 0

    def __dealloc__(self):
        if self.token is not None:
            try:
                self.undo()
            except ValueError:  # it is dropped in another context, which has nothing of it
                pass

    def left(self, error):
        """Do what is to be done once the variable is as before; for classes that are made of this one."""


cdef class Removed:
    """A block at whose end files are removed that are still there, and then folders that are empty.

    Parameters
    ----------
    files, folders : list of path
        Looked at when the block ends.
    """

    cdef list files, folders

    def __init__(self, list files not None, list folders=None):
        self.files, self.folders = files, [] if folders is None else folders

    def __enter__(self):
        pass

    def __exit__(self, kind, error, where):
        for path in self.files:
            try:
                os.unlink(path)
            except OSError:
                pass
        for path in reversed(self.folders):
            try:
                os.rmdir(path)
            except OSError:
                pass


#: Calls that want the cyclic collector paused, and whether it was on before the first of them.
cdef Py_ssize_t calls = 0
cdef bint was_enabled = False


cdef class _Pause:
    """A pause of the collector, from its making until it is ended or dropped."""

    cdef bint is_over

    def __cinit__(self):
        global calls, was_enabled
        cdef bint before = PyGC_Disable()
        if calls == 0:
            was_enabled = before
        calls += 1

    cdef void end(self) noexcept:
        global calls
        if self.is_over:
            return
        self.is_over = True
        calls -= 1
        if calls == 0 and was_enabled:
            PyGC_Enable()

    def __dealloc__(self):
        self.end()


def pausing(variable):
    """Return a decorator: functions run with the cyclic collector paused, and a variable has a dict of the outermost.

    Parameters
    ----------
    variable : ContextVar
        It is None outside of every such call of its context.
    """

    def paused(function):
        @wraps(function)
        def run(*args, **kwargs):
            cdef _Pause pause = _Pause()
            cdef Bound notes = Bound(variable, {}, variable.get() is None)
            try:
                notes.__enter__()
                return function(*args, **kwargs)
            finally:
                pause.end()
                notes.__exit__(None, None, None)

        return run

    return paused


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


cdef extern from *:
    """
    /* The system's loader of libraries, which ctypes does not unload. Elsewhere nothing is loaded. */
    #ifndef _WIN32
    #include <dlfcn.h>
    static void *sd_open(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }
    static void *sd_find(void *library, const char *name) { return dlsym(library, name); }
    static const char *sd_complaint(void) { return dlerror(); }
    static void sd_close(void *library) { dlclose(library); }
    #else
    static void *sd_open(const char *path) { return (void)path, (void *)0; }
    static void *sd_find(void *library, const char *name) { return (void)library, (void)name, (void *)0; }
    static const char *sd_complaint(void) { return "not on this system"; }
    static void sd_close(void *library) { (void)library; }
    #endif
    """
    void *sd_open(const char *path) noexcept
    void *sd_find(void *library, const char *name) noexcept
    const char *sd_complaint() noexcept
    void sd_close(void *library) noexcept


cdef long libraries = 0
cdef size_t bytes_of_all = 0
cdef long unloaded = 0
cdef bint ended = False


def loaded():
    """Return how many libraries are loaded, the bytes that they take, and how many were unloaded so far."""
    return libraries, bytes_of_all, unloaded


cdef class Code:
    """A loaded library.

    Parameters
    ----------
    path : str
        Its file.
    size : int
        Bytes of address space to count for it.

    Raises
    ------
    OSError
        When the loader does not take it.
    """

    cdef void *library
    cdef size_t size
    cdef object __weakref__

    def __cinit__(self, str path, size_t size):
        global libraries, bytes_of_all
        cdef const char *complaint
        encoded = os.fsencode(path)
        self.library = sd_open(encoded)
        if self.library == NULL:
            complaint = sd_complaint()
            raise OSError((<bytes>complaint).decode(errors="replace") if complaint != NULL else f"{path} is not taken")
        self.size = size
        libraries += 1
        bytes_of_all += size

    def __dealloc__(self):
        global libraries, bytes_of_all, unloaded
        # Once the process ends, threads that nobody waits for may still be in the code.
        if self.library == NULL or ended:
            return
        libraries -= 1
        bytes_of_all -= self.size
        unloaded += 1
        sd_close(self.library)

    def address(self, str name not None):
        """Return where a function or a variable stands, or 0 if there is none of this name."""
        encoded = name.encode()
        return <size_t>sd_find(self.library, encoded)


@atexit.register
def end():
    """Unload nothing from now on."""
    global ended
    ended = True

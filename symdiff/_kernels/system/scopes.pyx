"""Blocks that are left as they were entered, wherever an interrupt comes.

Python calls the handlers of signals between any two steps of its own: also between the beginning of a block and the note
of it, or on the way into ``finally``. What is undone at the end of a block of a ``with`` statement here is begun and
undone in compiled code, where no handler is called, and Python calls none on its way there. A block that was left by
its memory alone is undone, too.
"""

import os
from functools import wraps
from types import GenericAlias

from cpython.contextvars cimport PyContextVar_Reset, PyContextVar_Set

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

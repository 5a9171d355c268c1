"""C types of what the builder keeps: read where the module is compiled, and by nothing else."""

cimport cython

from symdiff._kernels.programs.tape cimport Tape

cdef long _ZERO, _NONE
cdef int _LOAD, _CONST, _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _NEGATIVE, _SQRT


cdef class ProgramBuilder:
    cdef public object limit
    cdef public long most
    cdef public Py_ssize_t charged, places, uncharged
    cdef public Tape tape
    cdef public list checks
    cdef public dict consts
    cdef public bint wide
    cdef dict _numbers, _quotients, _others
    cdef set _with_values

    cpdef charge(self)
    cpdef long number(self, value) except -3
    cpdef long real(self, long value) except -3
    @cython.locals(tape=Tape, turned=long, other=long, found=long)
    cpdef long function(self, int code, long x) except -3
    cpdef long value(self, int code, tuple args) except -3
    cpdef long two(self, int code, long a, long b) except -3
    cpdef long apply(self, str op, args) except -3
    cpdef long pair(self, int code, long a, long b) except -3
    @cython.locals(one=int, other=int, p=double)
    cpdef long add(self, long a, long b) except -3
    @cython.locals(p=double)
    cpdef long subtract(self, long a, long b) except -3
    @cython.locals(code=int)
    cpdef long negative(self, long a) except -3
    @cython.locals(one=int, other=int)
    cpdef long multiply(self, long a, long b) except -3
    @cython.locals(tape=Tape, value=long, code=int)
    cdef bint _has_value(self, long a) except -1
    @cython.locals(p=double, q=double, tape=Tape)
    cdef object _product(self, long a, long b)
    @cython.locals(p=double, q=double, tape=Tape, factor=long, inner=long)
    cpdef long divide(self, long a, long b) except -3
    @cython.locals(c=long)
    cdef double _scale(self, long a) except? -3.0
    cdef long _unscaled(self, long a) except -3
    @cython.locals(tape=Tape, p=long, q=long)
    cdef long _factor(self, long a) except -3
    @cython.locals(p=long)
    cdef long _beside(self, long a, long factor) except -3

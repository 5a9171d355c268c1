"""Tapes made of sequences and of bytes, and tapes as sequences."""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

from symdiff._kernels.programs.tape cimport LOAD, SEVERAL, Tape, numbers_of

from collections.abc import Sequence


def tape_of(tuple names, ops, args):
    """Return the tape of operations given as sequences."""
    cdef Tape tape = Tape(names)
    cdef dict numbers = {name: k for k, name in enumerate(names)}
    cdef int32_t[SEVERAL] own
    cdef Py_ssize_t k, arity
    cdef int code
    for op, some in zip(ops, args, strict=True):
        code = numbers[op]
        arity = numbers_of(tuple(some), own)
        if code != LOAD:
            for k in range(arity):
                if not 0 <= own[k] < tape.count:
                    raise ValueError(f"an operand {own[k]} of value {tape.count}; expected an earlier value")
        tape._append(code, own, arity)
    return tape


def unpacked(tuple names, bytes codes, bytes operands, counts):
    """Return the tape that :meth:`Tape.packed` wrote.

    Parameters
    ----------
    names : tuple of str
    codes, operands : bytes
    counts : sequence of int
        For each operation how many operands it has.

    Raises
    ------
    ValueError
        If they are not those of a tape.
    """
    cdef Tape tape = Tape(names)
    cdef Py_ssize_t v, k, used = 0, count = len(codes), length = len(operands) // sizeof(int32_t)
    cdef const uint8_t *code = <const uint8_t *>PyBytes_AS_STRING(codes)
    cdef const char *numbers = PyBytes_AS_STRING(operands)
    cdef int32_t[SEVERAL] own
    cdef int[256] arity
    if len(counts) != len(names):
        raise ValueError(f"{len(counts)} counts of {len(names)} operations")
    for k in range(len(names)):
        arity[k] = counts[k]
        if not 0 <= arity[k] <= SEVERAL:
            raise ValueError(f"an operation of {arity[k]} operands")
    for v in range(count):
        if code[v] >= len(names) or used + arity[code[v]] > length:
            raise ValueError(f"value {v} is no operation")
        memcpy(own, numbers + used * sizeof(int32_t), arity[code[v]] * sizeof(int32_t))
        if code[v] != LOAD:
            for k in range(arity[code[v]]):
                if not 0 <= own[k] < v:
                    raise ValueError(f"an operand {own[k]} of value {v}; expected an earlier value")
        tape._append(code[v], own, arity[code[v]])
        used += arity[code[v]]
    if used != length or len(operands) % sizeof(int32_t):
        raise ValueError(f"{length} operands; expected {used}")
    return tape


# ---------------------------------------------------------------------------- as sequences


cdef class _View:
    """A sequence that reads a tape."""

    cdef readonly Tape tape

    def __cinit__(self, Tape tape not None):
        self.tape = tape

    cdef object _item(self, Py_ssize_t v):
        raise NotImplementedError

    def __len__(self):
        return self.tape.count

    def __getitem__(self, at):
        cdef Py_ssize_t v
        if isinstance(at, slice):
            return tuple([self._item(v) for v in range(*at.indices(self.tape.count))])
        v = at
        if v < 0:
            v += self.tape.count
        if not 0 <= v < self.tape.count:
            raise IndexError(f"value {at} of {self.tape.count}")
        return self._item(v)

    def __iter__(self):
        cdef Py_ssize_t v
        for v in range(self.tape.count):
            yield self._item(v)

    def __contains__(self, one):
        return one in tuple(self)

    def __eq__(self, other):
        if not isinstance(other, (_View, tuple, list)):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    __hash__ = None

    def __repr__(self):
        return repr(tuple(self))

    def __reduce__(self):
        return tuple, (tuple(self),)

    def index(self, one):
        """Return where something is for the first time."""
        return tuple(self).index(one)

    def count(self, one):
        """Return how often something is there."""
        return tuple(self).count(one)


cdef class Operations(_View):
    """The names of the operations of a tape."""

    cdef object _item(self, Py_ssize_t v):
        return self.tape.names[self.tape.codes[v]]


cdef class Operands(_View):
    """The operands of the operations of a tape."""

    cdef object _item(self, Py_ssize_t v):
        return self.tape.args(v)


Sequence.register(Operations)
Sequence.register(Operands)

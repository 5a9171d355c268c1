"""Operations of a scalar program and their operands, in arrays.

A program has up to millions of operations. As objects of Python each takes a hundred bytes and a microsecond a pass;
here it is a byte and a few numbers. Passes that look at every operation are methods of the tape, rules that look at
few of them are Python over ``code`` and ``operand``, which compiled passes call as C functions.
"""

from cpython cimport array
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from array import array as _array

cdef array.array _ints = _array("i")


cdef inline uint32_t _hash(int code, const int32_t *args, Py_ssize_t arity) noexcept:
    cdef uint64_t h = 0x9E3779B97F4A7C15ULL * <uint64_t>(code + 1)
    cdef Py_ssize_t k
    for k in range(arity):
        h = (h ^ <uint64_t>args[k]) * 0xD6E8FEB86659FD93ULL
        h ^= h >> 32
    return <uint32_t>h


cdef class Tape:
    """Operations in single-assignment form.

    Parameters
    ----------
    names : tuple of str
        The operations that there are, "load" and "const" first; what a value computes is noted by its place there.

    Attributes
    ----------
    count : int
        How many values there are.
    """

    def __cinit__(self, tuple names):
        if names[:2] != ("load", "const") or len(names) > 256:
            raise ValueError(f"operations {names[:3]}...; expected load, const and at most 254 others")
        self.names = names
        self.starts = <int32_t *>PyMem_Malloc(sizeof(int32_t))
        if self.starts == NULL:
            raise MemoryError
        self.starts[0] = 0

    def __dealloc__(self):
        PyMem_Free(self.codes)
        PyMem_Free(self.starts)
        PyMem_Free(self.operands)
        PyMem_Free(self.table)

    # ---------------------------------------------------------------------------- memory

    cdef int _extend(self, Py_ssize_t arity) except -1:
        """Make room for one value more, of so many operands."""
        cdef Py_ssize_t more, used = self.starts[self.count]
        cdef void *new
        if self.count == self.room:
            more = 2 * self.room if self.room else 64
            if more > 2**31 - 2:
                raise MemoryError
            new = PyMem_Realloc(self.codes, more)
            if new == NULL:
                raise MemoryError
            self.codes = <uint8_t *>new
            new = PyMem_Realloc(self.starts, (more + 1) * sizeof(int32_t))
            if new == NULL:
                raise MemoryError
            self.starts, self.room = <int32_t *>new, more
        if used + arity > self.space:
            more = 2 * self.space + arity + 64
            if more > 2**31 - 2:
                raise MemoryError
            new = PyMem_Realloc(self.operands, more * sizeof(int32_t))
            if new == NULL:
                raise MemoryError
            self.operands, self.space = <int32_t *>new, more
        return 0

    cdef int _widen(self) except -1:
        """Copy the table of values into one of twice as many slots."""
        cdef Py_ssize_t size = 2 * self.slots if self.slots else 128, i
        cdef Slot *new = <Slot *>PyMem_Malloc(size * sizeof(Slot))
        cdef uint32_t at
        if new == NULL:
            raise MemoryError
        memset(new, 0xFF, size * sizeof(Slot))
        for i in range(self.slots):
            if self.table[i].value >= 0:
                at = self.table[i].hash
                while new[at & (size - 1)].value >= 0:
                    at += 1
                new[at & (size - 1)] = self.table[i]
        PyMem_Free(self.table)
        self.table, self.slots = new, size
        return 0

    # ---------------------------------------------------------------------------- one value

    cdef int _append(self, int code, const int32_t *args, Py_ssize_t arity) except -1:
        """Add a value, whatever others there are."""
        cdef Py_ssize_t v = self.count, used
        self._extend(arity)
        used = self.starts[v]
        self.codes[v] = <uint8_t>code
        if arity:
            memcpy(self.operands + used, args, arity * sizeof(int32_t))
        self.starts[v + 1] = <int32_t>(used + arity)
        self.count = v + 1
        return 0

    cdef Py_ssize_t _find(self, uint32_t hash, int code, const int32_t *args, Py_ssize_t arity) noexcept:
        """Return the value of an operation, -1 where there is none."""
        cdef uint32_t at = hash
        cdef Py_ssize_t v, k
        cdef const int32_t *own
        cdef Slot slot
        if self.slots == 0:
            return -1
        while True:
            slot = self.table[at & (self.slots - 1)]
            v = slot.value
            if v < 0:
                return -1
            if slot.hash == hash and self.codes[v] == code and self.starts[v + 1] - self.starts[v] == arity:
                own = self.operands + self.starts[v]
                for k in range(arity):
                    if own[k] != args[k]:
                        break
                else:
                    return v
            at += 1

    cdef Py_ssize_t _value(self, int code, const int32_t *args, Py_ssize_t arity) except -1:
        """Return the value of an operation, a new one where there is none."""
        cdef uint32_t hash = _hash(code, args, arity), at = hash
        cdef Py_ssize_t v = self._find(hash, code, args, arity), k
        if v >= 0:
            return v
        if self.closed:
            raise ValueError("an operation for a tape that is closed")
        if code != LOAD:
            for k in range(arity):
                if args[k] < 0 or args[k] >= self.count:
                    raise ValueError(f"an operand {args[k]} of value {self.count}; expected an earlier value")
        if 4 * (self.held + 1) > 3 * self.slots:
            self._widen()
        v = self.count
        self._append(code, args, arity)
        while self.table[at & (self.slots - 1)].value >= 0:
            at += 1
        self.table[at & (self.slots - 1)] = Slot(hash, <int32_t>v)
        self.held += 1
        return v

    cpdef int code(self, Py_ssize_t v) except -1:
        """Return the number of a value's operation."""
        if not 0 <= v < self.count:
            raise IndexError(f"value {v} of {self.count}")
        return self.codes[v]

    cpdef int operand(self, Py_ssize_t v, Py_ssize_t k=0) except? -1:
        """Return one of the operands of a value."""
        if not 0 <= v < self.count or not 0 <= k < self.starts[v + 1] - self.starts[v]:
            raise IndexError(f"operand {k} of value {v} of {self.count}")
        return self.operands[self.starts[v] + k]

    def args(self, Py_ssize_t v):
        """Return the operands of a value."""
        cdef Py_ssize_t k
        if not 0 <= v < self.count:
            raise IndexError(f"value {v} of {self.count}")
        return tuple([self.operands[k] for k in range(self.starts[v], self.starts[v + 1])])

    cpdef Py_ssize_t one(self, int code, Py_ssize_t a) except -1:
        """Return the value of an operation of one operand."""
        cdef int32_t own = <int32_t>a
        return self._value(code, &own, 1)

    cpdef Py_ssize_t two(self, int code, Py_ssize_t a, Py_ssize_t b) except -1:
        """Return the value of an operation of two operands."""
        cdef int32_t[2] own
        own[0], own[1] = <int32_t>a, <int32_t>b
        return self._value(code, own, 2)

    cpdef Py_ssize_t known(self, int code, tuple args) except? -1:
        """Return the value of an operation, -1 where there is none."""
        cdef int32_t[SEVERAL] own
        cdef Py_ssize_t arity = numbers_of(args, own)
        return self._find(_hash(code, own, arity), code, own, arity)

    cpdef Py_ssize_t value(self, int code, tuple args) except -1:
        """Return the value of an operation."""
        cdef int32_t[SEVERAL] own
        return self._value(code, own, numbers_of(args, own))

    cpdef Py_ssize_t const(self) except -1:
        """Add a number; which numbers are there already, and which it is, its owner knows."""
        self._append(CONST, NULL, 0)
        return self.count - 1

    def close(self):
        """Give up what equal operations are found by, which takes most of the memory; operations are added no more."""
        PyMem_Free(self.table)
        self.table, self.slots, self.closed = NULL, 0, True

    # ---------------------------------------------------------------------------- all values

    def ordered(self, array.array roots):
        """Return what some values need, each as late as the first use asks for it, and where each value is then.

        Parameters
        ----------
        roots : array of int

        Returns
        -------
        tape : Tape
        place : array of int
            For each value of this tape its number there, -1 where it is not needed.
        """
        cdef Tape new = Tape(self.names)
        cdef array.array found = array.clone(_ints, self.count, False)
        cdef int32_t *place = <int32_t *>found.data.as_ints
        cdef Py_ssize_t most = self.starts[self.count] + self.count + 1, depth, k, j, begin, end
        cdef int32_t *stack = <int32_t *>PyMem_Malloc(most * sizeof(int32_t))
        cdef int32_t v, root
        cdef int32_t[SEVERAL] own
        if stack == NULL:
            raise MemoryError
        memset(place, 0xFF, self.count * sizeof(int32_t))
        try:
            for k in range(len(roots)):
                root = <int32_t>roots.data.as_ints[k]
                if not 0 <= root < self.count:
                    raise IndexError(f"value {root} of {self.count}")
                if place[root] >= 0:
                    continue
                stack[0], depth = root, 1
                while depth:
                    depth -= 1
                    v = stack[depth]
                    if v < 0:  # its operands are there
                        v = ~v
                        if place[v] < 0:
                            begin, end = self.starts[v], self.starts[v + 1]
                            for j in range(begin, end):
                                own[j - begin] = self.operands[j] if self.codes[v] == LOAD else place[self.operands[j]]
                            place[v] = <int32_t>new.count
                            new._append(self.codes[v], own, end - begin)
                    elif place[v] < 0:
                        if depth + 1 + self.starts[v + 1] - self.starts[v] > most:
                            most *= 2
                            stack = _longer(stack, most)
                        stack[depth] = ~v
                        depth += 1
                        if self.codes[v] != LOAD:
                            for j in range(self.starts[v + 1] - 1, self.starts[v] - 1, -1):
                                if place[self.operands[j]] < 0:
                                    stack[depth] = self.operands[j]
                                    depth += 1
        finally:
            PyMem_Free(stack)
        return new, found

    def tally(self):
        """Return how often there is each operation."""
        cdef int64_t[256] found
        cdef Py_ssize_t v
        memset(found, 0, sizeof(found))
        for v in range(self.count):
            found[self.codes[v]] += 1
        return [found[v] for v in range(len(self.names))]

    def packed(self):
        """Return the operations, a byte each, and all operands, four bytes each, as bytes."""
        return (
            PyBytes_FromStringAndSize(<char *>self.codes, self.count),
            PyBytes_FromStringAndSize(<char *>self.operands, self.starts[self.count] * sizeof(int32_t)),
        )


cdef int32_t *_longer(int32_t *stack, Py_ssize_t most) except NULL:
    cdef int32_t *new = <int32_t *>PyMem_Realloc(stack, most * sizeof(int32_t))
    if new == NULL:
        raise MemoryError
    return new


cdef Py_ssize_t numbers_of(tuple args, int32_t *own) except -1:
    """Write operands to an array, and return how many there are."""
    cdef Py_ssize_t k, arity = len(args)
    if arity > SEVERAL:
        raise ValueError(f"an operation of {arity} operands; expected at most {SEVERAL}")
    for k in range(arity):
        own[k] = args[k]
    return arity

"""Instruction selection for a machine with one accumulator: from the operations of a tape to steps."""

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memset

from array import array as _array

from .steps cimport ACCUMULATOR, FUNCTION, FUSED, HELD, INNER, MEMORY, MOST, NUMBER, OUTER, THREE, Steps
from ..tape cimport CONST, LOAD, Tape

cdef array.array _ints = _array("i")
#: What is known of a value: somebody wants it; it will be computed together with the operation that reads it.
cdef enum:
    WANTED = 1
    DELAYED = 2


cdef class Selection:
    """The steps that compute some values of a tape, in its order except for what is computed with its only reader.

    Parameters
    ----------
    tape : Tape
    outputs : iterable of sequence of int
        Values that are wanted.
    roles : bytes
        What each operation is to selection, as :class:`~symdiff._kernels.programs.bytecode.steps.Steps` has it.

    Attributes
    ----------
    steps : Steps
    first : array of int or None
        For each value itself, or the first load of the same element; None where no element is loaded twice.
    """

    cdef Tape tape
    cdef Py_ssize_t count
    cdef readonly Steps steps
    cdef readonly array.array first
    cdef const uint8_t *roles
    cdef int32_t *same
    cdef uint8_t *state
    #: The only operation that reads a value; -1 where something else does too.
    cdef int32_t *reader
    #: The value in the accumulator, or -1.
    cdef Py_ssize_t held

    def __cinit__(self, Tape tape not None, outputs, bytes roles not None):
        cdef Py_ssize_t count = tape.count
        self.tape, self.count, self.steps, self.held = tape, count, Steps(tape.names, roles), -1
        self.roles = <const uint8_t *>PyBytes_AS_STRING(roles)
        self.first = _first_loads(tape)
        self.same = NULL if self.first is None else <int32_t *>self.first.data.as_ints
        self.state = <uint8_t *>PyMem_Calloc(count + 1, 1)
        self.reader = <int32_t *>PyMem_Malloc((count + 1) * sizeof(int32_t))
        if self.state == NULL or self.reader == NULL:
            raise MemoryError
        for values in outputs:
            self._want(values)
        self._find_readers()
        self._select()
        PyMem_Free(self.reader)
        self.reader = NULL

    def __dealloc__(self):
        PyMem_Free(self.state)
        PyMem_Free(self.reader)

    cdef int _want(self, values) except -1:
        cdef Py_ssize_t v
        for v in values:
            if not 0 <= v < self.count:
                raise IndexError(f"value {v} of {self.count}")
            self.state[v if self.same == NULL else self.same[v]] = WANTED
        return 0

    cdef int _find_readers(self) except -1:
        """Find what is wanted, and the only readers; make room for the steps."""
        cdef Tape tape = self.tape
        cdef Py_ssize_t v, k, steps = 0, operands = 0
        cdef int32_t a
        memset(self.reader, 0xFF, self.count * sizeof(int32_t))
        for v in range(self.count - 1, -1, -1):
            if self.state[v] and tape.codes[v] != LOAD:
                if tape.codes[v] != CONST:
                    steps, operands = steps + 1, operands + tape.starts[v + 1] - tape.starts[v]
                for k in range(tape.starts[v], tape.starts[v + 1]):
                    a = tape.operands[k]
                    if not 0 <= a < v:
                        raise ValueError(f"an operand {a} of value {v}; expected an earlier value")
                    if self.same != NULL:
                        a = self.same[a]
                    self.reader[a] = -1 if self.state[a] else <int32_t>v
                    self.state[a] = WANTED
        self.steps._reserve(steps, operands)
        self.steps.values = self.count
        return 0

    cdef int _select(self) except -1:
        cdef Py_ssize_t v
        for v in range(self.count):
            if self.state[v] and self.tape.codes[v] > CONST:
                if self._can_wait(v):
                    self.state[v] |= DELAYED
                else:
                    self._compute(v)
        return 0

    cdef Py_ssize_t _args(self, Py_ssize_t v, int32_t *own) except -1:
        """Write the operands of a value to an array, and return how many there are."""
        cdef Py_ssize_t begin = self.tape.starts[v], arity = self.tape.starts[v + 1] - begin, k
        if arity > MOST:
            raise ValueError(f"value {v} of {arity} operands; expected at most {MOST}")
        for k in range(arity):
            own[k] = self.tape.operands[begin + k]
            if self.same != NULL:
                own[k] = self.same[own[k]]
        return arity

    cdef bint _can_wait(self, Py_ssize_t v) except -1:
        """Tell whether a value has a single use, in an operation that it can be fused into."""
        cdef Py_ssize_t k, reader = self.reader[v]
        if reader < 0 or not self.roles[self.tape.codes[v]] & INNER:
            return False
        if not self.roles[self.tape.codes[reader]] & OUTER:
            return False
        for k in range(self.tape.starts[v], self.tape.starts[v + 1]):
            if self.state[self.tape.operands[k]] & DELAYED:  # a load, of which there may be others, never is
                return False
        return True

    cdef int _compute(self, Py_ssize_t v) except -1:
        """Add the steps that bring a value into the accumulator."""
        cdef int code = self.tape.codes[v], role = self.roles[code]
        cdef int32_t[MOST] args
        cdef Py_ssize_t arity = self._args(v, args), k, late = -1, later = -1, number = 0
        if role & OUTER:
            for k in range(arity):
                if self.state[args[k]] & DELAYED:
                    if late < 0:
                        late = args[k]
                    else:
                        later, number = args[k], number + 1
            if number == 1:
                # the one that needs what is in the accumulator now comes first
                if self._reads(later):
                    late, later = later, late
                self._compute_late(late)
                late = later
            if late >= 0 and self.held >= 0 and self._reads(v) and not self._reads(late):
                self._compute_pair(v, late, args[0] == late)
                return 0
        for k in range(arity):
            if self.state[args[k]] & DELAYED:
                self._compute_late(args[k])
        if role & FUSED and arity > 1 and args[1] == self.held:
            args[0], args[1] = args[1], args[0]
        self._step(v, code, args, arity, self.held)
        return 0

    cdef bint _reads(self, Py_ssize_t v) noexcept:
        """Tell whether an operation reads what is in the accumulator."""
        cdef Py_ssize_t k
        cdef int32_t a
        for k in range(self.tape.starts[v], self.tape.starts[v + 1]):
            a = self.tape.operands[k]
            if (a if self.same == NULL else self.same[a]) == self.held:
                return True
        return False

    cdef int _compute_late(self, Py_ssize_t v) except -1:
        self.state[v] &= ~DELAYED
        self._compute(v)
        return 0

    cdef int _compute_pair(self, Py_ssize_t v, Py_ssize_t inner, bint first) except -1:
        """Add an operation on the accumulator and the result of another one, which may be its first operand."""
        cdef int32_t[MOST + 1] args
        cdef Py_ssize_t arity
        self.state[inner] &= ~DELAYED
        if first:
            arity = self._args(inner, args)
            args[arity] = ACCUMULATOR
        else:
            args[0] = ACCUMULATOR
            arity = self._args(inner, args + 1)
        if arity == MOST:
            raise ValueError(f"value {inner} of {arity} operands")
        self._step(v, self.tape.codes[v] | self.tape.codes[inner] << 8, args, arity + 1, ACCUMULATOR)
        return 0

    cdef int _step(self, Py_ssize_t v, int code, int32_t *args, Py_ssize_t arity, Py_ssize_t held) except -1:
        """Add a step that may read one value in the accumulator."""
        cdef uint8_t[MOST] kinds
        cdef Py_ssize_t k, number = 0
        for k in range(arity):
            number += args[k] == held
        if code < 256 and (self.roles[code] & FUNCTION or (self.roles[code] & THREE and number > 1)):
            held = -2
        for k in range(arity):
            if args[k] == held:
                args[k], kinds[k] = ACCUMULATOR, HELD
            else:
                kinds[k] = NUMBER if self.tape.codes[args[k]] == CONST else MEMORY
        self.steps._append(code, v, args, kinds, arity)
        self.held = v
        return 0

    def loads(self):
        """Return the elements of inputs that are read: for each input the value of each element."""
        cdef Py_ssize_t v, begin
        cdef dict found = {}
        for v in range(self.count):
            if self.state[v] and self.tape.codes[v] == LOAD:
                begin = self.tape.starts[v]
                if self.tape.starts[v + 1] != begin + 2:
                    raise ValueError(f"value {v} is no load of an element of an input")
                found.setdefault(self.tape.operands[begin], {})[self.tape.operands[begin + 1]] = v
        return found


cdef array.array _first_loads(Tape tape):
    """Return for each value itself, or the first load of the same element; None where no element is loaded twice."""
    cdef dict known = {}
    cdef array.array first = None
    cdef Py_ssize_t v, k, begin, found
    for v in range(tape.count):
        if tape.codes[v] == LOAD:
            begin = tape.starts[v]
            if tape.starts[v + 1] != begin + 2:
                raise ValueError(f"value {v} is no load of an element of an input")
            found = known.setdefault(<long long>tape.operands[begin] << 32 | <long long>tape.operands[begin + 1], v)
            if found != v:
                if first is None:
                    first = array.clone(_ints, tape.count, False)
                    for k in range(tape.count):
                        first.data.as_ints[k] = <int>k
                first.data.as_ints[v] = <int>found
    return first

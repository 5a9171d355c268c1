"""Instructions of an accumulator machine in arrays: one for each step, with what it computes and reads."""

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

from array import array as _array

cdef array.array _ints = _array("i")
#: Letters of the kinds of operands.
KINDS = "mnabc"
#: Forms of one program at most, and kinds and first occurrences of three operands in one number.
cdef enum:
    MOST_FORMS = 65535
    FORM_OPERANDS = 3


cdef class Instruction:
    """One step: an instruction that leaves a value in the accumulator.

    Attributes
    ----------
    name : str
        The operation, or two of them in one: "subtract_multiply".
    value : int
        What it computes.
    args : tuple of int
        Values read, in the order of the instruction; -1 for the accumulator.
    reads : tuple of int
        Values that are not read in the accumulator, each once.
    """

    cdef readonly str name
    cdef readonly Py_ssize_t value
    cdef readonly tuple args

    @property
    def reads(self):
        return tuple([v for v in dict.fromkeys(self.args) if v != ACCUMULATOR])


cdef class Steps:
    """Steps in the order in which they run.

    Parameters
    ----------
    names : tuple of str
        The operations that there are, as those of a tape.
    roles : bytes
        For each of them the sum of 1 if it may take another one along, 2 if it may be taken along, 4 if it has three
        operands of which one is in the accumulator, 8 if this is the first or the last one, 16 if it is called.

    Attributes
    ----------
    count : int
    values : int
        Above all values that are computed or read.
    """

    def __cinit__(self, tuple names not None, bytes roles not None):
        if len(roles) != len(names) or len(names) > 256:
            raise ValueError(f"{len(roles)} roles of {len(names)} operations; expected as many, at most 256")
        self.names, self.roles = names, roles
        self.starts = <int32_t *>PyMem_Calloc(1, sizeof(int32_t))
        if self.starts == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.codes)
        PyMem_Free(self.made)
        PyMem_Free(self.starts)
        PyMem_Free(self.args)
        PyMem_Free(self.kinds)
        PyMem_Free(self.shapes)

    cdef int _reserve(self, Py_ssize_t steps, Py_ssize_t operands) except -1:
        """Make room for so many steps and operands in all."""
        if steps > 2**31 - 2 or operands > 2**31 - 2:
            raise MemoryError
        if steps > self.room:
            self.codes = <uint16_t *>_grown(self.codes, steps * sizeof(uint16_t))
            self.made = <int32_t *>_grown(self.made, steps * sizeof(int32_t))
            self.starts = <int32_t *>_grown(self.starts, (steps + 1) * sizeof(int32_t))
            self.room = steps
        if operands > self.space:
            self.args = <int32_t *>_grown(self.args, operands * sizeof(int32_t))
            self.kinds = <uint8_t *>_grown(self.kinds, operands)
            self.space = operands
        return 0

    cdef int _append(
        self, int code, Py_ssize_t value, const int32_t *args, const uint8_t *kinds, Py_ssize_t arity
    ) except -1:
        cdef Py_ssize_t t = self.count, used = self.starts[t], k
        if t == self.room or used + arity > self.space:
            self._reserve(max(self.room, 2 * t + 16), max(self.space, 2 * (used + arity) + 16))
        self.codes[t], self.made[t] = <uint16_t>code, <int32_t>value
        for k in range(arity):
            self.args[used + k], self.kinds[used + k] = args[k], kinds[k]
            self.values = max(self.values, args[k] + 1)
        self.values = max(self.values, value + 1)
        self.starts[t + 1] = <int32_t>(used + arity)
        self.count = t + 1
        return 0

    cdef bint _chained(self, Py_ssize_t t) noexcept:
        """Tell whether a step reads the accumulator."""
        cdef Py_ssize_t k
        for k in range(self.starts[t], self.starts[t + 1]):
            if self.args[k] == ACCUMULATOR:
                return True
        return False

    cdef bint _first(self, Py_ssize_t k, Py_ssize_t begin) noexcept:
        """Tell whether the operand at ``k`` is a value, and the first that is this one of those from ``begin`` on."""
        cdef Py_ssize_t j
        if self.args[k] == ACCUMULATOR:
            return False
        for j in range(begin, k):
            if self.args[j] == self.args[k]:
                return False
        return True

    cdef bint _calls(self, Py_ssize_t t) noexcept:
        """Tell whether a step calls a function."""
        cdef int code = self.codes[t]
        return code < 256 and <uint8_t>PyBytes_AS_STRING(self.roles)[code] & FUNCTION

    # ---------------------------------------------------------------------------- as objects

    def add(self, str name not None, Py_ssize_t value, tuple args not None, numbers=()):
        """Add a step.

        Parameters
        ----------
        name : str
            The operation, or the outer and the inner one of two in one.
        value : int
        args : tuple of int
        numbers : collection of int
            Those of ``args`` that are constants.
        """
        cdef int32_t[MOST] own
        cdef uint8_t[MOST] kinds
        cdef Py_ssize_t k, arity = len(args)
        cdef int code
        if name in self.names:
            code = self.names.index(name)
        else:
            outer, _, inner = name.partition("_")
            code = self.names.index(outer) | <int>self.names.index(inner) << 8
        if arity > MOST:
            raise ValueError(f"a step of {arity} operands; expected at most {MOST}")
        if self.finished:
            raise ValueError("a further step for passes that have begun; expected all steps before")
        for k in range(arity):
            own[k] = args[k]
            if own[k] < ACCUMULATOR or not 0 <= value < 2**31 - 1:
                raise ValueError(f"value {value} of {args}")
            kinds[k] = HELD if own[k] == ACCUMULATOR else NUMBER if args[k] in numbers else MEMORY
        self._append(code, value, own, kinds, arity)

    def __len__(self):
        return self.count

    def __getitem__(self, Py_ssize_t t):
        cdef Instruction step
        cdef Py_ssize_t k
        if not 0 <= t < self.count:
            raise IndexError(f"step {t} of {self.count}")
        step = Instruction.__new__(Instruction)
        step.name, step.value = self._name(t), self.made[t]
        step.args = tuple([self.args[k] for k in range(self.starts[t], self.starts[t + 1])])
        return step

    def _name(self, Py_ssize_t t):
        outer, inner = self.names[self.codes[t] & 255], self.codes[t] >> 8
        return f"{outer}_{self.names[inner]}" if inner else outer

    def chained(self, Py_ssize_t t):
        """Tell whether a step reads the accumulator."""
        if not 0 <= t < self.count:
            raise IndexError(f"step {t} of {self.count}")
        return self._chained(t)

    def value(self, Py_ssize_t t):
        """Return what a step computes."""
        if not 0 <= t < self.count:
            raise IndexError(f"step {t} of {self.count}")
        return self.made[t]

    # ---------------------------------------------------------------------------- all steps

    def times(self, Py_ssize_t values):
        """Return for each value, below ``values``, the step that computes it, -1 where none does."""
        cdef array.array found
        cdef Py_ssize_t t
        if values < self.values:
            raise ValueError(f"{values} values; expected at least {self.values}")
        found = array.clone(_ints, values, False)
        memset(found.data.as_ints, 0xFF, values * sizeof(int32_t))
        for t in range(self.count):
            found.data.as_ints[self.made[t]] = <int>t
        return found

    def calls(self):
        """Return the steps that call a function."""
        return [t for t in range(self.count) if self._calls(t)]

    def first_reads(self, groups, Py_ssize_t short):
        """Find the step before which each group of values is read first.

        Parameters
        ----------
        groups : sequence of sequence of int
            Values, of which those below 0 are none.
        short : int
            Up to so many steps behind the beginning of a chain, this beginning stands for a step.

        Returns
        -------
        list of (int, int)
            The step and the number of the group, in the order of the steps; nothing for groups that no step reads.
        """
        cdef list found = []
        cdef int32_t *group = <int32_t *>PyMem_Malloc((self.values + 1) * sizeof(int32_t))
        cdef uint8_t *seen = <uint8_t *>PyMem_Calloc(len(groups) + 1, 1)
        cdef Py_ssize_t t, k, v, begin = 0
        cdef int32_t number
        try:
            if group == NULL or seen == NULL:
                raise MemoryError
            memset(group, 0xFF, self.values * sizeof(int32_t))
            for k in range(len(groups)):
                for v in groups[k]:
                    if 0 <= v < self.values:
                        group[v] = <int32_t>k
            for t in range(self.count):
                if not self._chained(t):
                    begin = t
                for k in range(self.starts[t], self.starts[t + 1]):
                    number = -1 if self.args[k] == ACCUMULATOR else group[self.args[k]]
                    if number >= 0 and not seen[number]:
                        seen[number] = 1
                        found.append((begin if t - begin <= short else t, number))
        finally:
            PyMem_Free(group)
            PyMem_Free(seen)
        return found

    def forms(self):
        """Number the different forms of steps.

        Returns
        -------
        list of (str, str or None, tuple of int)
            The name; where the operands are, None for a call; for each operand the first one that is the same, empty
            where all differ. For a call it has the number of operands.
        """
        cdef list found = []
        cdef Py_ssize_t slots = 64, t, k, j, begin, arity
        cdef uint32_t *keys = NULL
        cdef uint16_t *numbers = NULL
        cdef uint32_t key, at, first
        cdef bint twice
        self.finished = True
        self.shapes = <uint16_t *>_grown(self.shapes, (self.count + 1) * sizeof(uint16_t))
        try:
            keys, numbers = <uint32_t *>PyMem_Calloc(slots, 4), <uint16_t *>PyMem_Calloc(slots, 2)
            if keys == NULL or numbers == NULL:
                raise MemoryError
            for t in range(self.count):
                begin, arity = self.starts[t], self.starts[t + 1] - self.starts[t]
                key = self.codes[t]
                if self._calls(t):
                    key |= <uint32_t>1 << 30 | <uint32_t>arity << 16
                elif arity > FORM_OPERANDS:
                    raise ValueError(f"{self._name(t)} of {arity} operands; expected at most {FORM_OPERANDS}")
                else:
                    twice = False
                    for k in range(arity):
                        first = <uint32_t>k
                        for j in range(k):
                            if self.args[begin + j] == self.args[begin + k]:
                                first, twice = <uint32_t>j, True
                                break
                        key |= (self.kinds[begin + k] + 1) << (16 + 3 * k) | first << (25 + k)
                    key = key | <uint32_t>1 << 29 if twice else key & <uint32_t>0xFFFFFFFF >> 7
                key |= <uint32_t>1 << 31  # what is there is not 0
                at = key * <uint32_t>0x9E3779B1
                at ^= at >> 15
                while keys[at & (slots - 1)] not in (0, key):
                    at += 1
                at &= slots - 1
                if keys[at] == 0:
                    if len(found) == MOST_FORMS:
                        raise ValueError(f"more than {MOST_FORMS} forms of instructions")
                    keys[at], numbers[at] = key, <uint16_t>len(found)
                    found.append(self._form(t))
                self.shapes[t] = numbers[at]
                if 2 * len(found) > slots:
                    slots = _rehash(&keys, &numbers, slots)
        finally:
            PyMem_Free(keys)
            PyMem_Free(numbers)
        return found

    def _form(self, Py_ssize_t t):
        """Return the form of one step."""
        cdef Py_ssize_t k, begin = self.starts[t]
        cdef tuple args = tuple([self.args[k] for k in range(begin, self.starts[t + 1])])
        if self._calls(t):
            return self._name(t), None, tuple(range(len(args)))
        same = tuple([args.index(v) for v in args])
        kinds = "".join([KINDS[self.kinds[begin + k]] for k in range(len(args))])
        return self._name(t), kinds, () if len({*args}) == len(args) else same


cdef void *_grown(void *memory, size_t size) except NULL:
    cdef void *new = PyMem_Realloc(memory, size)
    if new == NULL:
        raise MemoryError
    return new


cdef Py_ssize_t _rehash(uint32_t **keys, uint16_t **numbers, Py_ssize_t slots) except -1:
    """Copy a table into one of four times as many slots, and return how many these are."""
    cdef Py_ssize_t more = 4 * slots, k
    cdef uint32_t *wide = <uint32_t *>PyMem_Calloc(more, 4)
    cdef uint16_t *other = <uint16_t *>PyMem_Calloc(more, 2)
    cdef uint32_t at
    if wide == NULL or other == NULL:
        PyMem_Free(wide)
        PyMem_Free(other)
        raise MemoryError
    for k in range(slots):
        if keys[0][k]:
            at = keys[0][k] * <uint32_t>0x9E3779B1
            at ^= at >> 15
            while wide[at & (more - 1)]:
                at += 1
            wide[at & (more - 1)], other[at & (more - 1)] = keys[0][k], numbers[0][k]
    PyMem_Free(keys[0])
    PyMem_Free(numbers[0])
    keys[0], numbers[0] = wide, other
    return more

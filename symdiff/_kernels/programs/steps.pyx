"""Instructions of an accumulator machine in arrays: selected for the operations of a tape, and put in order.

A step has what it computes and reads. Instruction selection makes steps of the operations of a tape; a list schedule
orders chains of them, for a machine whose divisions occupy a unit of their own.
"""

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint8_t
from libc.string cimport memset

from array import array as _array

from .tape cimport CONST, LOAD, Tape

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
        operands of which one is in the accumulator, 8 if this is the first or the last one, 16 if it is called, 32 if
        it may read registers, 64 and 128 if it may where it is the outer and the inner one of two in one.

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

    cdef bint _able(self, Py_ssize_t t) noexcept:
        """Tell whether a step may read registers."""
        cdef const uint8_t *roles = <const uint8_t *>PyBytes_AS_STRING(self.roles)
        cdef int code = self.codes[t]
        if code < 256:
            return roles[code] & ABLE
        return roles[code & 255] & ABLE_OUTER and roles[code >> 8] & ABLE_INNER

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


#: Facts about a value: somebody wants it; it will be computed together with the operation that reads it.
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
        What each operation is to selection, as :class:`~symdiff._kernels.programs.steps.Steps` has it.

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


#: Time to store a chain's last value for one vector, in times of a step that reads one operand from memory.
cdef double STORE = 1.6
#: Chains among which the next one is chosen, and how far the unit for divisions may be behind.
cdef double BEHIND = 10.0
cdef enum:
    CHOICE = 12


def schedule(Steps steps not None, times):
    """Return the steps in an order that has divisions run beside other work.

    Steps that pass on their results in the accumulator are a chain. Of the next few chains whose operands are there,
    one that divides comes when the unit for that is free, else the first one that need not wait for it.

    Parameters
    ----------
    steps : Steps
    times : sequence of float
        For each operation how long it occupies the unit for divisions.

    Returns
    -------
    Steps
    """
    cdef double[256] slow
    cdef Py_ssize_t k, t
    if len(times) != len(steps.names):
        raise ValueError(f"{len(times)} times of {len(steps.names)} operations")
    for k in range(len(times)):
        slow[k] = times[k]
    for t in range(steps.count):
        if _slow(steps, slow, t) > 0:
            return _Schedule(steps).order(slow)
    return steps


cdef double _slow(Steps steps, const double *times, Py_ssize_t t) noexcept:
    cdef int code = steps.codes[t]
    return times[code & 255] + (times[code >> 8] if code >> 8 else 0.0)


cdef class _Schedule:
    """The chains of some steps."""

    cdef Steps steps
    cdef Py_ssize_t count
    #: Start of each chain, and the chains that steps are in.
    cdef int32_t *begins
    cdef int32_t *chain
    #: For each chain how long it occupies the unit for divisions, what it costs, and when what it needs was computed.
    cdef double *slow
    cdef double *cost
    cdef double *there
    #: Number of the chains that it needs and that are missing; where the chains that need it begin, and these.
    cdef int32_t *missing
    cdef int32_t *edges
    cdef int32_t *needed_by
    #: The last chain that was found to need each one.
    cdef int32_t *mark

    def __cinit__(self, Steps steps):
        cdef Py_ssize_t count = steps.count, t
        self.steps = steps
        self.begins, self.chain = <int32_t *>PyMem_Calloc(count + 1, 4), <int32_t *>PyMem_Calloc(count + 1, 4)
        if self.begins == NULL or self.chain == NULL:
            raise MemoryError
        for t in range(count):
            if t == 0 or not steps._chained(t):
                self.begins[self.count] = <int32_t>t
                self.count += 1
            self.chain[t] = <int32_t>(self.count - 1)
        self.begins[self.count] = <int32_t>count
        count = self.count
        self.slow, self.cost = <double *>PyMem_Calloc(count + 1, 8), <double *>PyMem_Calloc(count + 1, 8)
        self.there = <double *>PyMem_Calloc(count + 1, 8)
        self.missing, self.edges = <int32_t *>PyMem_Calloc(count + 1, 4), <int32_t *>PyMem_Calloc(count + 2, 4)
        self.mark = <int32_t *>PyMem_Calloc(count + 1, 4)
        if self.slow == NULL or self.cost == NULL or self.there == NULL:
            raise MemoryError
        if self.missing == NULL or self.edges == NULL or self.mark == NULL:
            raise MemoryError
        self._connect()

    def __dealloc__(self):
        PyMem_Free(self.begins)
        PyMem_Free(self.chain)
        PyMem_Free(self.slow)
        PyMem_Free(self.cost)
        PyMem_Free(self.there)
        PyMem_Free(self.missing)
        PyMem_Free(self.edges)
        PyMem_Free(self.needed_by)
        PyMem_Free(self.mark)

    cdef int _connect(self) except -1:
        """Find which chains need which: first how many there are, then where they are."""
        cdef Steps steps = self.steps
        cdef array.array times = steps.times(steps.values)
        cdef const int32_t *made = <const int32_t *>times.data.as_ints
        cdef Py_ssize_t c, k, when
        cdef int32_t d
        for when in range(2):
            for c in range(self.count):
                for k in range(steps.starts[self.begins[c]], steps.starts[self.begins[c + 1]]):
                    if steps.args[k] == ACCUMULATOR or made[steps.args[k]] < 0:
                        continue
                    d = self.chain[made[steps.args[k]]]
                    if d == c or self.mark[d] == (c + 1 if when == 0 else -c - 1):
                        continue
                    if when == 0:
                        self.mark[d] = <int32_t>(c + 1)
                        self.missing[c] += 1
                        self.edges[d + 2] += 1
                    else:
                        self.mark[d] = <int32_t>(-c - 1)
                        self.needed_by[self.edges[d + 1]] = <int32_t>c
                        self.edges[d + 1] += 1
            if when == 0:
                for c in range(self.count):
                    self.edges[c + 2] += self.edges[c + 1]
                self.needed_by = <int32_t *>PyMem_Calloc(self.edges[self.count + 1] + 1, 4)
                if self.needed_by == NULL:
                    raise MemoryError
        return 0

    cdef Steps order(self, const double *times):
        """Return the steps, chain by chain, in the order of the schedule."""
        cdef Steps steps = self.steps, ordered = Steps(steps.names, steps.roles)
        cdef Py_ssize_t c, t, k, chosen, following = min(CHOICE, self.count), waiting = following
        cdef int32_t[CHOICE] choice
        cdef double clock = 0.0, free = 0.0, soonest, start, begin, done
        for c in range(self.count):
            self.cost[c] = STORE
            for t in range(self.begins[c], self.begins[c + 1]):
                self.slow[c] += _slow(steps, times, t)
                self.cost[c] += 0.5 + 0.5 * (steps.starts[t + 1] - steps.starts[t])
        ordered._reserve(steps.count, steps.starts[steps.count])
        ordered.values = steps.values
        for c in range(waiting):
            choice[c] = <int32_t>c
        while waiting:
            # the first that divides while the unit for it is free, else the first that need not wait, else the next
            chosen, soonest = -1, INFINITY
            for k in range(waiting):
                c = choice[k]
                if self.missing[c]:
                    continue
                start = max(self.there[c], free) if self.slow[c] > 0 else self.there[c]
                if self.slow[c] > 0 and start <= clock:
                    chosen, soonest = k, start
                    break
                if start < soonest and soonest > clock + BEHIND:
                    chosen, soonest = k, start
            if chosen < 0:
                raise ValueError("steps that read what is computed later")
            c = choice[chosen]
            begin = max(clock, soonest)
            clock = max(clock, begin - BEHIND) + self.cost[c]
            done = begin + self.slow[c] + self.cost[c]
            if self.slow[c] > 0:
                free = begin + self.slow[c]
            for k in range(self.edges[c], self.edges[c + 1]):
                self.missing[self.needed_by[k]] -= 1
                self.there[self.needed_by[k]] = max(self.there[self.needed_by[k]], done)
            for t in range(self.begins[c], self.begins[c + 1]):
                k = steps.starts[t]
                ordered._append(steps.codes[t], steps.made[t], steps.args + k, steps.kinds + k, steps.starts[t + 1] - k)
            waiting -= 1
            for k in range(chosen, waiting):
                choice[k] = choice[k + 1]
            if following < self.count:
                choice[waiting] = <int32_t>following
                following, waiting = following + 1, waiting + 1
        return ordered

"""Operations of a scalar program and their operands, in arrays.

A program has up to millions of operations. As objects of Python each takes a hundred bytes and a microsecond a pass;
here it is a byte and a few numbers. Passes that look at every operation are methods of the tape, rules that look at
few of them are Python over ``code`` and ``operand``, which compiled passes call as C functions.

Among such passes are those over sums: how often values are read, which sums have a factor in common. Tapes are made of
sequences and of bytes, too, and are seen as sequences.
"""

from cpython cimport array
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset

from array import array as _array
from collections.abc import Sequence

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


#: Terms of a sum that are looked at.
cdef enum:
    TERMS = 64
#: Kinds of operations.
cdef enum:
    PRODUCT = 1
    QUOTIENT = 2
    NEGATION = 3
    SUM = 4


def count_uses(Tape tape not None, array.array roots, bytes sums):
    """Count how often each value is read by what some values need.

    Parameters
    ----------
    tape : Tape
    roots : array of int
        Values that are read besides, each once.
    sums : bytes
        For each operation whether it is a sum.

    Returns
    -------
    uses : array of int
    inside : bytearray
        Whether the only use of a value is in a sum.
    """
    cdef array.array found = array.clone(_ints, tape.count, True)
    cdef int32_t *uses = <int32_t *>found.data.as_ints
    cdef inside = bytearray(tape.count)
    cdef uint8_t *within = <uint8_t *>PyByteArray_AS_STRING(inside)
    cdef const uint8_t *is_sum = <const uint8_t *>PyBytes_AS_STRING(sums)
    cdef Py_ssize_t v, k
    cdef int32_t a
    if len(sums) != len(tape.names):
        raise ValueError(f"{len(sums)} kinds of {len(tape.names)} operations")
    for k in range(len(roots)):
        a = <int32_t>roots.data.as_ints[k]
        if not 0 <= a < tape.count:
            raise IndexError(f"value {a} of {tape.count}")
        uses[a] += 1
    for v in range(tape.count - 1, -1, -1):
        if uses[v] and tape.codes[v] != LOAD:
            for k in range(tape.starts[v], tape.starts[v + 1]):
                a = tape.operands[k]
                uses[a] += 1
                within[a] = is_sum[tape.codes[v]] and uses[a] == 1
    return found, inside


def sums_to_search(Tape tape not None, array.array uses, inside, bytes kinds, int longest):
    """Return the sums that are no terms of another sum and of which two terms have a factor or a divisor in common.

    Parameters
    ----------
    tape : Tape
    uses, inside
        As :func:`count_uses` gives them.
    kinds : bytes
        For each operation 1 if it is a product, 2 a quotient, 3 a negation, 4 a sum, 5 a difference, else 0.
    longest : int
        Terms of the longest sum that is looked at, at most 64.
    """
    cdef const uint8_t *within = <const uint8_t *>PyByteArray_AS_STRING(inside)
    cdef const uint8_t *kind = <const uint8_t *>PyBytes_AS_STRING(kinds)
    cdef const int32_t *used = <const int32_t *>uses.data.as_ints
    cdef Py_ssize_t v
    cdef list found = []
    if len(kinds) != len(tape.names) or len(uses) > tape.count or len(inside) != len(uses):
        raise ValueError("counts of another tape")
    for v in range(len(uses)):
        if used[v] and kind[tape.codes[v]] >= SUM and not within[v]:
            if _shares(tape, <int32_t>v, used, kind, min(longest, TERMS)):
                found.append(v)
    return found


cdef bint _shares(Tape tape, int32_t root, const int32_t *used, const uint8_t *kind, int longest) noexcept:
    """Tell whether two terms of a sum have a factor or a divisor in common, whichever can be factored out."""
    cdef int32_t[TERMS + 2] stack
    cdef int32_t[4 * TERMS] factors
    cdef int depth = 1, terms = 0, count = 0, begin, i, k
    cdef int32_t v
    cdef const int32_t *args
    stack[0] = root
    while depth:
        depth -= 1
        v = stack[depth]
        args = tape.operands + tape.starts[v]
        if kind[tape.codes[v]] >= SUM and (v == root or used[v] == 1):
            if depth + terms + 2 > longest:
                return False
            stack[depth], stack[depth + 1] = args[1], args[0]
            depth += 2
        elif kind[tape.codes[v]] == NEGATION and used[v] == 1:
            stack[depth] = args[0]
            depth += 1
        else:
            begin = count
            count += _factors(tape, v, used, kind, factors + count)
            for i in range(begin, count):
                for k in range(begin):
                    if factors[k] == factors[i]:
                        return True
            terms += 1
    return False


cdef int _factors(Tape tape, int32_t v, const int32_t *used, const uint8_t *kind, int32_t *found) noexcept:
    """Write what can be factored out of a term: a factor as it is, a divisor as what is below -1."""
    cdef int count = 0, k
    cdef int32_t a
    cdef const int32_t *args = tape.operands + tape.starts[v]
    cdef const int32_t *inner
    if used[v] != 1 or kind[tape.codes[v]] not in (PRODUCT, QUOTIENT):
        return 0
    if kind[tape.codes[v]] == QUOTIENT:
        found[0] = -2 - args[1]
        return 1
    for k in range(2):
        a = args[k]
        if tape.codes[args[1 - k]] != CONST or used[a] != 1 or kind[tape.codes[a]] not in (PRODUCT, QUOTIENT):
            found[count] = a
            count += 1
        elif kind[tape.codes[a]] == QUOTIENT:
            found[count] = -2 - tape.operands[tape.starts[a] + 1]
            count += 1
        else:
            inner = tape.operands + tape.starts[a]
            found[count], found[count + 1] = inner[0], inner[1]
            count += 2
    return count


def renumber(Tape tape not None, Py_ssize_t first, Py_ssize_t last, array.array uses, array.array new):
    """Make values again whose operands have new numbers, from ``first`` to before ``last``.

    Parameters
    ----------
    tape : Tape
    first, last : int
    uses : array of int
        Values that are not used are left out.
    new : array of int
        Receives the new number of each value.
    """
    cdef const int32_t *used = <const int32_t *>uses.data.as_ints
    cdef int32_t *number = <int32_t *>new.data.as_ints
    cdef int32_t[SEVERAL] own
    cdef Py_ssize_t v, k, arity
    cdef bint moved
    if not 0 <= first <= last <= min(len(uses), len(new)) <= tape.count:
        raise ValueError("counts of another tape")
    for v in range(first, last):
        if used[v] and tape.codes[v] > CONST:
            moved, arity = False, tape.starts[v + 1] - tape.starts[v]
            for k in range(arity):
                own[k] = tape.operands[tape.starts[v] + k]
                if number[own[k]] != own[k]:
                    own[k], moved = number[own[k]], True
            if moved:
                number[v] = <int32_t>tape._value(tape.codes[v], own, arity)


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

"""Register allocation for a machine that has a few tiles of registers besides the accumulator.

The time of the interpreter goes into loads and stores. Live ranges that save most of them get a
register, by weighted interval scheduling; a value whose uses all find it there needs no memory at all.
"""

from cpython cimport array
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from .steps cimport NUMBER, REGISTER, Steps

#: Names of the registers.
NAMES = "bc"
#: Times of one vector, measured, in those of a load. Of two operands in memory, one costs little: arithmetic
#: takes as long as the load. An instruction more is cheap as long as the processor foresees the program.
cdef double STORE = 1.7, LOAD = 1.0, PUT = 0.2, SECOND_OPERAND = 0.9, ONLY_OPERAND = 0.2
cdef double CHEAP = 0.1, SURPRISE = 2.0
cdef enum:
    FORESEEN = 1000
    #: Steps that a value stays at most, and times it is read.
    STAY = 32
    READS = 8

#: A value in a register: until which step, from when, what that gains, the value, where its readers begin, and how
#: many of them there are. Step t reads at t, and something may happen half a step before; times are in half steps.
cdef struct LiveRange:
    int32_t end
    int32_t start
    double gain
    int32_t value
    int32_t slot
    int32_t reads


cdef class Allocation:
    """The result of register allocation: which values are in registers, and when.

    Attributes
    ----------
    steps : Steps
    reads : dict of (int, int) to str
        The register in which a step reads a value.
    puts : dict of int to list of str
        Registers that take a step's value.
    loads : dict of int to list of (str, int)
        Registers that take values from memory before a step.
    """

    def __cinit__(self, Steps steps not None):
        steps.finished = True
        self.steps = steps
        self.into = <uint8_t *>PyMem_Calloc(steps.count + 1, 1)
        self.brought = <int32_t *>PyMem_Malloc((REGISTERS * steps.count + 1) * sizeof(int32_t))
        if self.into == NULL or self.brought == NULL:
            raise MemoryError
        memset(self.brought, 0xFF, REGISTERS * steps.count * sizeof(int32_t))

    def __dealloc__(self):
        PyMem_Free(self.into)
        PyMem_Free(self.brought)

    @property
    def reads(self):
        cdef Steps steps = self.steps
        cdef Py_ssize_t t, k
        return {
            (t, steps.args[k]): NAMES[steps.kinds[k] - REGISTER]
            for t in range(steps.count)
            for k in range(steps.starts[t], steps.starts[t + 1])
            if steps.kinds[k] >= REGISTER
        }

    @property
    def puts(self):
        cdef Py_ssize_t t, r
        return {
            t: [NAMES[r] for r in range(REGISTERS) if self.into[t] >> r & 1]
            for t in range(self.steps.count)
            if self.into[t]
        }

    @property
    def loads(self):
        cdef dict found = {}
        cdef Py_ssize_t t, r
        for t in range(self.steps.count):
            for r in range(REGISTERS):
                if self.brought[REGISTERS * t + r] >= 0:
                    found.setdefault(t, []).append((NAMES[r], self.brought[REGISTERS * t + r]))
        return found


def allocate_registers(Steps steps not None, Py_ssize_t registers, kept, able, barriers):
    """Allocate registers: to each in turn the live ranges that together save most.

    Parameters
    ----------
    steps : Steps
        In the order they run. Their operands are marked by the registers in which they are read.
    registers : int
        How many there are besides the accumulator.
    kept : iterable of int
        Values that are needed in memory in any case.
    able : collection of str
        Operations that may read registers, one or two in one.
    barriers : iterable of float
        Times at which registers are lost, ascending.

    Returns
    -------
    Allocation
    """
    return _Allocator(steps, registers, kept, able, barriers).found


cdef class _Allocator:
    """Register allocation for some steps."""

    cdef Steps steps
    cdef readonly Allocation found
    cdef array.array times
    cdef const int32_t *made
    #: Where the readers of each value begin: the steps that may read it in a register, in their order.
    cdef int32_t *begins
    cdef int32_t *readers
    #: Whether a reader finds the value in some register; whether one may find it in the register that is given away.
    cdef uint8_t *taken
    cdef uint8_t *open
    #: How many steps read each value at all, and whether it is needed in memory.
    cdef int32_t *reads
    cdef uint8_t *kept
    #: How many operands each step reads from memory, if it may read registers.
    cdef uint8_t *operands
    #: Times at which registers are lost, ascending, the end last.
    cdef double *barriers
    cdef Py_ssize_t lost
    cdef LiveRange *stays
    cdef Py_ssize_t count, room

    def __cinit__(self, Steps steps, Py_ssize_t registers, kept, able, barriers):
        cdef Py_ssize_t r
        self.steps, self.found = steps, Allocation(steps)
        if registers <= 0:
            return
        self.times = steps.times(steps.values)
        self.made = <const int32_t *>self.times.data.as_ints
        self._find_readers([_code(steps, name) for name in able])
        self._keep(kept)
        self._note([float(x) for x in barriers])
        for r in range(min(registers, REGISTERS)):
            self.count = 0
            self._collect()
            self._choose(r)

    def __dealloc__(self):
        PyMem_Free(self.begins)
        PyMem_Free(self.readers)
        PyMem_Free(self.taken)
        PyMem_Free(self.open)
        PyMem_Free(self.reads)
        PyMem_Free(self.kept)
        PyMem_Free(self.operands)
        PyMem_Free(self.barriers)
        PyMem_Free(self.stays)

    # ---------------------------------------------------------------------------- what is known before

    cdef int _find_readers(self, list able) except -1:
        cdef Steps steps = self.steps
        cdef Py_ssize_t t, k, v, total
        cdef int code
        cdef uint8_t *may = <uint8_t *>PyMem_Calloc(65536, 1)
        cdef int32_t *next = NULL
        try:
            self.begins = <int32_t *>PyMem_Calloc(steps.values + 1, sizeof(int32_t))
            self.reads = <int32_t *>PyMem_Calloc(steps.values + 1, sizeof(int32_t))
            self.operands = <uint8_t *>PyMem_Calloc(steps.count + 1, 1)
            next = <int32_t *>PyMem_Malloc((steps.values + 1) * sizeof(int32_t))
            if may == NULL or self.begins == NULL or self.reads == NULL or self.operands == NULL or next == NULL:
                raise MemoryError
            for code in able:
                may[code] = 1
            for t in range(steps.count):
                for k in range(steps.starts[t], steps.starts[t + 1]):
                    if steps.kinds[k] != NUMBER and steps._first(k, steps.starts[t]):
                        self.reads[steps.args[k]] += 1
                        if may[steps.codes[t]]:
                            self.begins[steps.args[k] + 1] += 1
                            self.operands[t] += 1
            for v in range(steps.values):
                self.begins[v + 1] += self.begins[v]
                next[v] = self.begins[v]
            total = self.begins[steps.values]
            self.readers = <int32_t *>PyMem_Malloc((total + 1) * sizeof(int32_t))
            self.taken, self.open = <uint8_t *>PyMem_Calloc(total + 1, 1), <uint8_t *>PyMem_Calloc(total + 1, 1)
            if self.readers == NULL or self.taken == NULL or self.open == NULL:
                raise MemoryError
            for t in range(steps.count):
                if may[steps.codes[t]]:
                    for k in range(steps.starts[t], steps.starts[t + 1]):
                        if steps.kinds[k] != NUMBER and steps._first(k, steps.starts[t]):
                            self.readers[next[steps.args[k]]] = <int32_t>t
                            next[steps.args[k]] += 1
        finally:
            PyMem_Free(may)
            PyMem_Free(next)
        return 0

    cdef int _keep(self, kept) except -1:
        cdef Py_ssize_t v
        self.kept = <uint8_t *>PyMem_Calloc(self.steps.values + 1, 1)
        if self.kept == NULL:
            raise MemoryError
        for v in kept:
            if 0 <= v < self.steps.values:
                self.kept[v] = 1
        return 0

    cdef int _note(self, list barriers) except -1:
        cdef Py_ssize_t k
        self.lost = len(barriers) + 1
        self.barriers = <double *>PyMem_Malloc(self.lost * sizeof(double))
        if self.barriers == NULL:
            raise MemoryError
        for k in range(self.lost - 1):
            self.barriers[k] = barriers[k]
        self.barriers[self.lost - 1] = <double>self.steps.count
        return 0

    # ---------------------------------------------------------------------------- live ranges

    cdef int _collect(self) except -1:
        """Find the live ranges that save something in one register."""
        cdef double instruction = CHEAP if self.steps.count < FORESEEN else SURPRISE, whole
        cdef Py_ssize_t v, k, begin, end, count, first, second, start
        for v in range(self.steps.values):
            begin, end, start = self.begins[v], self.begins[v + 1], self.made[v]
            if begin == end or (end == begin + 1 and (start < 0 or self.readers[begin] - start > STAY)):
                continue  # it would stay too long
            count, first = 0, -1
            for k in range(begin, end):
                self.open[k] = self.operands[self.readers[k]] > 0 and not self.taken[k]
                count += self.open[k]
                if self.open[k] and first < 0:
                    first = k
            if start >= 0 and count and self.readers[first] - start <= STAY:
                # all readers find it there, and it needs no memory
                whole = STORE + instruction if count == self.reads[v] and not self.kept[v] else 0.0
                self._add(v, first, end, count, 2 * start, -PUT - instruction, whole)
            while first >= 0:
                second = first + 1
                while second < end and not self.open[second]:
                    second += 1
                if second == end:
                    break
                if self.readers[second] - self.readers[first] <= STAY:
                    self._add(v, first, end, -1, 2 * self.readers[first] - 1, -LOAD - instruction, 0.0)
                first = second
        return 0

    cdef int _add(
        self,
        Py_ssize_t v,
        Py_ssize_t slot,
        Py_ssize_t stop,
        Py_ssize_t count,
        Py_ssize_t start,
        double gain,
        double whole,
    ) except -1:
        """Add the stays of a value from ``start`` to each of its readers, of which the last gains ``whole`` more."""
        cdef double limit = self._limit(0.5 * start), total
        cdef Py_ssize_t k, reads = 0
        for k in range(slot, stop):
            if not self.open[k]:
                continue
            if self.readers[k] > limit or reads == READS:
                break
            reads += 1
            gain += SECOND_OPERAND if self.operands[self.readers[k]] > 1 else ONLY_OPERAND
            total = gain + whole if reads == count else gain
            if total > 0:
                if self.count == self.room:
                    self._widen()
                self.stays[self.count] = LiveRange(
                    self.readers[k], <int32_t>start, total, <int32_t>v, <int32_t>slot, <int32_t>reads
                )
                self.count += 1
        return 0

    cdef int _widen(self) except -1:
        cdef Py_ssize_t more = self.room + (self.room >> 1) + 64
        cdef LiveRange *new = <LiveRange *>PyMem_Realloc(self.stays, more * sizeof(LiveRange))
        if new == NULL:
            raise MemoryError
        self.stays, self.room = new, more
        return 0

    cdef double _limit(self, double start) noexcept:
        """Return until when a value may stay from some time on."""
        cdef Py_ssize_t low = 0, high = self.lost - 1, middle
        while low < high:
            middle = (low + high) >> 1
            if self.barriers[middle] > start:
                high = middle
            else:
                low = middle + 1
        return min(self.barriers[low], start + STAY)

    # ---------------------------------------------------------------------------- choice

    cdef int _choose(self, Py_ssize_t register) except -1:
        """Give a register to the live ranges that do not overlap and save most: weighted interval scheduling."""
        cdef Py_ssize_t k, low, high, middle
        cdef double *best = <double *>PyMem_Malloc((self.count + 1) * sizeof(double))
        cdef int32_t *before = <int32_t *>PyMem_Malloc((self.count + 1) * sizeof(int32_t))
        if best == NULL or before == NULL:
            PyMem_Free(best)
            PyMem_Free(before)
            raise MemoryError
        if self.count:
            qsort(self.stays, self.count, sizeof(LiveRange), &_order)
        best[0] = 0.0
        for k in range(self.count):
            low, high = 0, k  # those that end before this one begins
            while low < high:
                middle = (low + high) >> 1
                if 2 * <long long>self.stays[middle].end > self.stays[k].start:
                    high = middle
                else:
                    low = middle + 1
            before[k] = <int32_t>low
            best[k + 1] = max(best[k], best[low] + self.stays[k].gain)
        k = self.count
        while k:
            if best[k] == best[k - 1]:
                k -= 1
            else:
                self._give(register, &self.stays[k - 1])
                k = before[k - 1]
        PyMem_Free(best)
        PyMem_Free(before)
        return 0

    cdef void _give(self, Py_ssize_t register, const LiveRange *stay) noexcept:
        """Give a register to one live range."""
        cdef Steps steps = self.steps
        cdef Py_ssize_t slot = stay.slot, left = stay.reads, t, k
        while left:
            if self.open[slot]:
                t = self.readers[slot]
                self.taken[slot] = 1
                self.operands[t] -= 1
                for k in range(steps.starts[t], steps.starts[t + 1]):
                    if steps.args[k] == stay.value:
                        steps.kinds[k] = <uint8_t>(REGISTER + register)
                left -= 1
            slot += 1
        if stay.start & 1:
            self.found.brought[REGISTERS * self.readers[stay.slot] + register] = stay.value
        else:
            self.found.into[self.made[stay.value]] |= 1 << register


cdef int _code(Steps steps, str name) except -1:
    """Return the number of an operation, or of two in one."""
    if name in steps.names:
        return steps.names.index(name)
    outer, _, inner = name.partition("_")
    return steps.names.index(outer) | <int>steps.names.index(inner) << 8


cdef int _order(const void *a, const void *b) noexcept nogil:
    cdef const LiveRange *one = <const LiveRange *>a
    cdef const LiveRange *other = <const LiveRange *>b
    if one.end != other.end:
        return -1 if one.end < other.end else 1
    if one.start != other.start:
        return -1 if one.start < other.start else 1
    if one.gain != other.gain:
        return -1 if one.gain < other.gain else 1
    return -1 if one.value < other.value else 1

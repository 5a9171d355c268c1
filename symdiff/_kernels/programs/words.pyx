"""Register allocation, and words of the interpreter's code: where values are, and how steps are encoded.

The machine has a few tiles of registers besides the accumulator. The time of the interpreter goes into loads and
stores. Live ranges that save most of them get a register, by weighted interval scheduling; a value whose uses all find
it there needs no memory at all.

What happens at few steps (inputs come, results go) is for the caller to say, step by step; between them all steps are
written in one loop.
"""

from cpython cimport array
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from array import array as _array

from .tape cimport CONST, Tape
from .steps cimport MEMORY, NUMBER, REGISTER, Steps

#: Registers besides the accumulator, at most.
cdef enum:
    REGISTERS = 2

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

    cdef readonly Steps steps
    #: For each step the registers that take its value, a bit each.
    cdef uint8_t *into
    #: For each step and register the value that the register takes from memory before the step, or -1.
    cdef int32_t *brought

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


def allocate_registers(Steps steps not None, Py_ssize_t registers, kept, barriers):
    """Allocate registers: to each in turn the live ranges that together save most.

    Parameters
    ----------
    steps : Steps
        In the order they run. Their operands are marked by the registers in which they are read.
    registers : int
        How many there are besides the accumulator.
    kept : iterable of int
        Values that are needed in memory in any case.
    barriers : iterable of float
        Times at which registers are lost, ascending.

    Returns
    -------
    Allocation
    """
    return _Allocator(steps, registers, kept, barriers).found


cdef class _Allocator:
    """Register allocation for some steps."""

    cdef Steps steps
    cdef readonly Allocation found
    cdef array.array times
    cdef const int32_t *made
    #: Start of the readers of each value: the steps that may read it in a register, in their order.
    cdef int32_t *begins
    cdef int32_t *readers
    #: Flags: a reader finds the value in some register; one may find it in the register that is given away.
    cdef uint8_t *taken
    cdef uint8_t *open
    #: Number of steps that read each value at all, and whether it is needed in memory.
    cdef int32_t *reads
    cdef uint8_t *kept
    #: Number of operands that each step reads from memory, if it may read registers.
    cdef uint8_t *operands
    #: Times at which registers are lost, ascending, the end last.
    cdef double *barriers
    cdef Py_ssize_t lost
    cdef LiveRange *stays
    cdef Py_ssize_t count, room

    def __cinit__(self, Steps steps, Py_ssize_t registers, kept, barriers):
        cdef Py_ssize_t r
        self.steps, self.found = steps, Allocation(steps)
        if registers <= 0:
            return
        self.times = steps.times(steps.values)
        self.made = <const int32_t *>self.times.data.as_ints
        self._find_readers()
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

    cdef int _find_readers(self) except -1:
        cdef Steps steps = self.steps
        cdef Py_ssize_t t, k, v, total
        cdef int32_t *next = NULL
        try:
            self.begins = <int32_t *>PyMem_Calloc(steps.values + 1, sizeof(int32_t))
            self.reads = <int32_t *>PyMem_Calloc(steps.values + 1, sizeof(int32_t))
            self.operands = <uint8_t *>PyMem_Calloc(steps.count + 1, 1)
            next = <int32_t *>PyMem_Malloc((steps.values + 1) * sizeof(int32_t))
            if self.begins == NULL or self.reads == NULL or self.operands == NULL or next == NULL:
                raise MemoryError
            for t in range(steps.count):
                for k in range(steps.starts[t], steps.starts[t + 1]):
                    if steps.kinds[k] != NUMBER and steps._first(k, steps.starts[t]):
                        self.reads[steps.args[k]] += 1
                        if steps._able(t):
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
                if steps._able(t):
                    for k in range(steps.starts[t], steps.starts[t + 1]):
                        if steps.kinds[k] != NUMBER and steps._first(k, steps.starts[t]):
                            self.readers[next[steps.args[k]]] = <int32_t>t
                            next[steps.args[k]] += 1
        finally:
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


cdef array.array _ints = _array("i")
#: The place of what is not in memory; no other place has this number.
cdef enum:
    NOWHERE = -1

#: One form of an instruction: its operation, and which of its operands are words of it.
cdef struct Form:
    int32_t opcode
    #: The number of the function, -1 where none is called.
    int32_t function
    uint8_t words
    uint8_t[3] operands
    uint8_t[3] vectors


cdef class Writer:
    """Code under construction.

    Parameters
    ----------
    tape : Tape
        The program.
    consts : dict of int to float
        Its numbers.
    steps : Steps
    tile : int
        Bytes of a tile.
    vector : int
        Bytes of a vector.
    save : int
        The instruction that brings the accumulator to memory.

    Attributes
    ----------
    tiles : int
        Of the workspace.
    numbers, vectors : dict of bytes to int
        Constants that are read as tiles and as vectors, and the number of each.
    """

    cdef Tape tape
    cdef Steps steps
    cdef dict consts
    cdef Py_ssize_t values
    cdef int32_t tile, vector
    cdef readonly Py_ssize_t tiles
    cdef readonly dict numbers, vectors
    #: The vector of each value that is a constant read as one.
    cdef dict spread
    cdef Form *forms
    cdef Py_ssize_t shapes
    cdef int32_t *place
    #: Number of reads of each value from memory.
    cdef int32_t *uses
    cdef int32_t *free
    cdef Py_ssize_t free_count, free_room
    cdef int32_t *words
    cdef Py_ssize_t length, room
    #: Start of each instruction.
    cdef int32_t *begins
    cdef Py_ssize_t count, begins_room
    cdef int32_t save
    #: Values in registers, if there are any, and the instructions that put them there and bring them.
    cdef Allocation stays
    cdef int32_t[REGISTERS] puts
    cdef int32_t[REGISTERS] loads

    def __cinit__(
        self,
        Tape tape not None,
        dict consts not None,
        Steps steps not None,
        int32_t tile,
        int32_t vector,
        int32_t save,
    ):
        cdef Py_ssize_t count = tape.count
        if steps.values > count or tile < 2 or vector < 1:
            raise ValueError(f"steps of {steps.values} values for a program of {count}, tiles of {tile} bytes")
        steps.finished = True
        self.tape, self.consts, self.steps, self.values = tape, consts, steps, count
        self.tile, self.vector, self.save = tile, vector, save
        self.numbers, self.vectors, self.spread = {}, {}, {}
        self.place = <int32_t *>PyMem_Malloc((count + 1) * sizeof(int32_t))
        self.uses = <int32_t *>PyMem_Calloc(count + 1, sizeof(int32_t))
        if self.place == NULL or self.uses == NULL:
            raise MemoryError
        memset(self.place, 0xFF, count * sizeof(int32_t))

    def __dealloc__(self):
        PyMem_Free(self.forms)
        PyMem_Free(self.place)
        PyMem_Free(self.uses)
        PyMem_Free(self.free)
        PyMem_Free(self.words)
        PyMem_Free(self.begins)

    # ---------------------------------------------------------------------------- what is known before

    def know(self, found):
        """Take the instruction of each form of the steps.

        Parameters
        ----------
        found : sequence of (int, int, sequence of (int, bool))
            For each form the opcode; the number of the function, -1 for what is no call; the operands that are words,
            in their order, and whether they are read among the vectors.
        """
        cdef Form *forms = <Form *>PyMem_Calloc(len(found) + 1, sizeof(Form))
        cdef Py_ssize_t k, j
        if forms == NULL:
            raise MemoryError
        PyMem_Free(self.forms)
        self.forms, self.shapes = forms, 0
        for k, (opcode, function, order) in enumerate(found):
            if len(order) > 3:
                raise ValueError(f"an instruction of {len(order)} words")
            self.forms[k].opcode, self.forms[k].function, self.forms[k].words = opcode, function, <uint8_t>len(order)
            for j, (operand, is_vector) in enumerate(order):
                self.forms[k].operands[j], self.forms[k].vectors[j] = operand, bool(is_vector)
            self.shapes = k + 1

    def will_read(self, values):
        """Count values as read from memory once more."""
        cdef Py_ssize_t v
        for v in values:
            self.uses[self._known(v)] += 1

    def use(self, Allocation stays not None, puts, loads):
        """Take the values in registers, and for each register the instructions that write it."""
        cdef Py_ssize_t r
        if stays.steps is not self.steps or not len(puts) == len(loads) == REGISTERS:
            raise ValueError(f"registers of other steps, or {len(puts)} registers")
        for r in range(REGISTERS):
            self.puts[r], self.loads[r] = puts[r], loads[r]
        self.stays = stays

    def count_reads(self):
        """Count what the steps read from memory."""
        cdef Steps steps = self.steps
        cdef Py_ssize_t t, k
        if self.stays is not None:
            for k in range(REGISTERS * steps.count):
                if self.stays.brought[k] >= 0:
                    self.uses[self.stays.brought[k]] += 1
        for t in range(steps.count):
            for k in range(steps.starts[t], steps.starts[t + 1]):
                if steps.kinds[k] == MEMORY and steps._first(k, steps.starts[t]):
                    self.uses[steps.args[k]] += 1

    # ---------------------------------------------------------------------------- places

    cdef Py_ssize_t _known(self, Py_ssize_t v) except -1:
        if not 0 <= v < self.values:
            raise IndexError(f"value {v} of {self.values}")
        return v

    cpdef int32_t take(self) except -1:
        """Return a tile of the workspace that is free."""
        if self.free_count:
            self.free_count -= 1
            return self.free[self.free_count]
        if (self.tiles + 1) * self.tile > 2**31 - 1:
            raise MemoryError
        self.tiles += 1
        return <int32_t>((self.tiles - 1) * self.tile)

    cpdef int give_back(self, int32_t place) except -1:
        """Note that a tile is free again."""
        if self.free_count == self.free_room:
            self.free = _room(self.free, &self.free_room)
        self.free[self.free_count] = place
        self.free_count += 1
        return 0

    def put(self, Py_ssize_t v):
        """Give a value a place, and return it."""
        self.place[self._known(v)] = self.take()
        return self.place[v]

    def at(self, Py_ssize_t v):
        """Return where in memory a value or a number is, -1 where it is nowhere."""
        return self.place[self._known(v)]

    def bring(self, Py_ssize_t v):
        """Return where in memory a value or a number is."""
        return self._bring(self._known(v))

    def read(self, values):
        """Count values as read once, and give up the room of those that nobody wants any more."""
        cdef Py_ssize_t v
        for v in values:
            self._read(self._known(v))

    cdef int32_t _bring(self, Py_ssize_t v) except? -1:
        if self.place[v] == NOWHERE:
            if self.tape.codes[v] != CONST:
                raise RuntimeError(f"value {v} is read before it is there")
            self.place[v] = self.number(self.consts[v])
        return self.place[v]

    cdef int _read(self, Py_ssize_t v) except -1:
        if self.tape.codes[v] != CONST:
            self.uses[v] -= 1
            if self.uses[v] == 0:
                if self.place[v] == NOWHERE:
                    raise RuntimeError(f"value {v} is read before it is there")
                self.give_back(self.place[v])
                self.place[v] = NOWHERE
        return 0

    cpdef int32_t number(self, double x) except? -1:
        """Return where a number is."""
        cdef Py_ssize_t k = self.numbers.setdefault(PyBytes_FromStringAndSize(<char *>&x, sizeof(x)), len(self.numbers))
        if (k + 1) * self.tile > 2**31 - 1:
            raise MemoryError
        return <int32_t>(-self.tile * (k + 1))

    cdef int32_t _vector(self, Py_ssize_t v) except -1:
        """Return where a constant is that is read as a vector."""
        cdef double x
        cdef Py_ssize_t k
        found = self.spread.get(v)
        if found is None:
            x = self.consts[v]
            k = self.vectors.setdefault(PyBytes_FromStringAndSize(<char *>&x, sizeof(x)), len(self.vectors))
            if k * self.vector > 2**31 - 1:
                raise MemoryError
            found = self.spread[v] = k * self.vector
        return found

    # ---------------------------------------------------------------------------- words

    cdef int _begin(self, int32_t opcode) except -1:
        """Begin an instruction."""
        if self.length > 2**31 - 2:
            raise MemoryError
        if self.count == self.begins_room:
            self.begins = _room(self.begins, &self.begins_room)
        self.begins[self.count] = <int32_t>self.length
        self.count += 1
        return self._word(opcode)

    cdef inline int _word(self, int32_t word) except -1:
        if self.length == self.room:
            self.words = _room(self.words, &self.room)
        self.words[self.length] = word
        self.length += 1
        return 0

    def emit(self, int32_t opcode, *operands):
        """Write an instruction."""
        cdef int32_t word
        self._begin(opcode)
        for word in operands:
            self._word(word)

    def run(self, Py_ssize_t first, Py_ssize_t last):
        """Write steps, from ``first`` to before ``last``."""
        cdef Steps steps = self.steps
        cdef Py_ssize_t t, v, r
        if not 0 <= first <= last <= steps.count or (first < last and steps.shapes == NULL):
            raise ValueError(f"steps {first} to {last} of {steps.count}")
        for t in range(first, last):
            if steps.shapes[t] >= self.shapes:
                raise ValueError(f"form {steps.shapes[t]} of {self.shapes}")
            if self.stays is not None:
                self._refill(t)
            if self.forms[steps.shapes[t]].function < 0:
                self._operate(t, &self.forms[steps.shapes[t]])
            else:
                self._call(t, &self.forms[steps.shapes[t]])
            v = steps.made[t]
            if self.uses[v] and self.place[v] == NOWHERE:
                self.place[v] = self.take()
                self._begin(self.save)
                self._word(self.place[v])
            if self.stays is not None and self.stays.into[t]:
                for r in range(REGISTERS):
                    if self.stays.into[t] >> r & 1:
                        self._begin(self.puts[r])

    cdef int _refill(self, Py_ssize_t t) except -1:
        """Bring values from memory to registers."""
        cdef Py_ssize_t r
        cdef int32_t v
        for r in range(REGISTERS):
            v = self.stays.brought[REGISTERS * t + r]
            if v >= 0:
                self._begin(self.loads[r])
                self._word(self._bring(v))
                self._read(v)
        return 0

    cdef int _operate(self, Py_ssize_t t, const Form *form) except -1:
        """Write an operation, or two in one, on operands wherever they are."""
        cdef Steps steps = self.steps
        cdef Py_ssize_t begin = steps.starts[t], k, j
        cdef int32_t v
        self._begin(form.opcode)
        for j in range(form.words):
            k = begin + form.operands[j]
            if k >= steps.starts[t + 1] or steps.args[k] < 0:
                raise ValueError(f"step {t} has no operand {form.operands[j]} in memory")
            v = steps.args[k]
            self._word(self._vector(v) if form.vectors[j] else self._bring(v))
        for k in range(begin, steps.starts[t + 1]):
            if steps.kinds[k] == MEMORY and steps._first(k, begin):
                self._read(steps.args[k])
        return 0

    cdef int _call(self, Py_ssize_t t, const Form *form) except -1:
        """Write the call of a function, which goes from memory to memory."""
        cdef Steps steps = self.steps
        cdef Py_ssize_t begin = steps.starts[t], v = steps.made[t], k, where
        self._begin(form.opcode)
        self._word(form.function)
        where = self.length
        self._word(0)
        for k in range(begin, steps.starts[t + 1]):
            if steps.args[k] < 0:
                raise ValueError(f"step {t} calls a function of what is not in memory")
            self._word(self._bring(steps.args[k]))
        for k in range(begin, steps.starts[t + 1]):
            if steps._first(k, begin):
                self._read(steps.args[k])
        self.place[v] = self.take()
        self.words[where] = self.place[v]
        if not self.uses[v]:
            self.give_back(self.place[v])
            self.place[v] = NOWHERE
        return 0

    def code(self, asks, int32_t end):
        """Return all words, with instructions spread evenly between those that are there.

        Parameters
        ----------
        asks : sequence of tuple of int
            These instructions.
        end : int
            The instruction that is the last.

        Returns
        -------
        array of int
        """
        cdef Py_ssize_t own = self.count, most = len(asks) if own else 0, k, j = 0, at = 0
        cdef array.array found
        cdef int32_t *to
        for k in range(most):
            self.emit(*asks[k])
        self._begin(end)
        found = array.clone(_ints, self.length, False)
        to = <int32_t *>found.data.as_ints
        for k in range(own):
            while j < most * (k + 1) // own:
                at += self._copy(own + j, to + at)
                j += 1
            at += self._copy(k, to + at)
        self._copy(own + most, to + at)
        return found

    cdef Py_ssize_t _copy(self, Py_ssize_t k, int32_t *to) noexcept:
        """Copy an instruction, and return how many words it has."""
        cdef Py_ssize_t begin = self.begins[k], end = self.begins[k + 1] if k + 1 < self.count else self.length
        memcpy(to, self.words + begin, (end - begin) * sizeof(int32_t))
        return end - begin


cdef int32_t *_room(int32_t *memory, Py_ssize_t *room) except NULL:
    """Return memory for half as many numbers more, and say for how many."""
    cdef Py_ssize_t more = room[0] + (room[0] >> 1) + 64
    cdef int32_t *new = <int32_t *>PyMem_Realloc(memory, more * sizeof(int32_t))
    if new == NULL:
        raise MemoryError
    room[0] = more
    return new

"""Words of the interpreter's code: where values are in memory, and how steps are encoded.

What happens at few steps (inputs come, results go) is for the caller to say, step by step; between them all steps are
written in one loop.
"""

from cpython cimport array
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from array import array as _array

from .registers cimport REGISTERS, Allocation
from .steps cimport MEMORY, Steps
from ..tape cimport CONST, Tape

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
    #: How often each value will be read from memory.
    cdef int32_t *uses
    cdef int32_t *free
    cdef Py_ssize_t free_count, free_room
    cdef int32_t *words
    cdef Py_ssize_t length, room
    #: Where each instruction begins.
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

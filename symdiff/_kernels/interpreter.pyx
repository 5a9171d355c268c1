"""The embedded interpreter of scheduled programs: its opcodes, and code made ready to run.

What runs is C (``machine/interpreter.h``); it is called as generated kernels are, by ``unit.pyx``.
"""

from cpython cimport array
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cdef extern from "machine/interpreter.h":
    enum: SD_VECTORS
    enum: SD_LINES
    enum: SD_LINE
    enum: SD_OPCODE_COUNT
    enum: SD_SCALARS
    enum: SD_OWN_FUNCTIONS
    ctypedef struct sd_bytecode:
        const int32_t *code
        const char *consts
        const char *rows
        void **functions
        const int32_t *checks
        long checked
    ctypedef struct sd_scalar:
        const char *name
        void (*function)() noexcept nogil
    ctypedef struct sd_own_function:
        const char *name
        size_t function
    const char **sd_opcodes
    const sd_scalar *sd_scalars
    size_t sd_machine(long lanes, int single)
    const sd_own_function *sd_own_functions
    long sd_registers(long lanes, int single)

#: Vectors in a tile, which is what an instruction works on.
VECTORS = SD_VECTORS
#: Lines of the cache that are asked for at once, and their bytes.
LINES, LINE = SD_LINES, SD_LINE
#: Number of each instruction. The letters at the end of a name say where operands are: "a", "b" and "c"
#: in registers, "a" in the accumulator, "m" in memory, "s" where the one before it is, "k" among the vectors.
OPCODES = {sd_opcodes[i].decode(): i for i in range(SD_OPCODE_COUNT)}
#: Address of each function that is computed lane by lane, by the name of its operation.
SCALARS = {sd_scalars[i].name.decode(): <size_t>sd_scalars[i].function for i in range(SD_SCALARS)}
#: Address of each of our own functions of whole vectors, by name.
VECTOR_FUNCTIONS = {sd_own_functions[i].name.decode(): sd_own_functions[i].function for i in range(SD_OWN_FUNCTIONS)}


def registers(long lanes, bint single):
    """Return how many tiles besides the accumulator are in registers, for vectors of so many numbers."""
    return sd_registers(lanes, single)


cdef class Machine:
    """Code in the form the interpreter reads, and the interpreter for vectors of some width.

    Parameters
    ----------
    lanes : int
        Numbers in a vector: 64 bytes need AVX-512, 32 bytes AVX2 and FMA; 16 run everywhere.
    single : bool
        Whether numbers are float32.
    code : sequence of int
        Instructions and their operands; an array of "i" is copied as it is.
    numbers, vectors : sequence of float
        Constants; each of the former becomes a tile, each of the latter one vector.
    rows : sequence of float
        Rows of eight constants, one after another.
    functions : sequence of int
        Addresses.
    checks : sequence of int
        Operands that must not be zero.

    Attributes
    ----------
    address : int
        Of the function that runs the code, called as generated kernels are.
    argument : int
        What it takes in place of the first of the functions.
    """

    cdef sd_bytecode bytecode
    cdef char *memory
    cdef readonly size_t address
    cdef readonly size_t argument

    def __cinit__(self, long lanes, bint single, code, numbers, vectors, rows, functions, checks):
        cdef size_t item = sizeof(float) if single else sizeof(double), vector = lanes * item, needed, address
        cdef long k
        cdef char *next
        cdef double x
        self.address = sd_machine(lanes, single)
        if self.address == 0:
            raise ValueError(f"vectors of {lanes} numbers on a machine that has none")
        needed = ((len(numbers) * SD_VECTORS + len(vectors)) * vector + len(rows) * item
                  + len(functions) * sizeof(void *) + (len(code) + len(checks)) * sizeof(int32_t))
        self.memory = <char *>malloc(needed + 64)
        if self.memory == NULL:
            raise MemoryError
        # The widest come first, so that everything is aligned.
        next = self.memory + (64 - <size_t>self.memory % 64)
        for x in reversed(numbers):
            for k in range(SD_VECTORS * lanes):
                put(&next, x, single)
        self.bytecode.consts = next
        for x in vectors:
            for k in range(lanes):
                put(&next, x, single)
        self.bytecode.rows = next
        for x in rows:
            put(&next, x, single)
        self.bytecode.functions = <void **>next
        for address in functions:
            (<size_t *>next)[0] = address
            next += sizeof(void *)
        self.bytecode.code = words(&next, code)
        self.bytecode.checks = words(&next, checks)
        self.bytecode.checked = len(checks)
        self.argument = <size_t>&self.bytecode

    def __dealloc__(self):
        free(self.memory)


cdef void put(char **next, double x, bint single) noexcept:
    """Write a number where ``next`` points, and move it behind."""
    if single:
        (<float *>next[0])[0] = <float>x
        next[0] += sizeof(float)
    else:
        (<double *>next[0])[0] = x
        next[0] += sizeof(double)


cdef const int32_t *words(char **next, numbers) except NULL:
    """Write ``numbers`` where ``next`` points, and move it behind them."""
    cdef int32_t *begin = <int32_t *>next[0]
    cdef int32_t *at = begin
    if isinstance(numbers, array.array) and (<array.array>numbers).ob_descr.typecode == b"i":
        memcpy(begin, (<array.array>numbers).data.as_ints, len(numbers) * sizeof(int32_t))
        at += len(numbers)
    else:
        for number in numbers:
            at[0] = number
            at += 1
    next[0] = <char *>at
    return begin

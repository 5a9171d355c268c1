"""Bound plans as C's structures (``plan.h``)."""

from ..arrays cimport sd_unit
from ..matrix.batches cimport sd_matrix_functions

cdef extern from "batch/unit.h":
    ctypedef struct sd_port:
        pass

cdef extern from "plan/plan.h":
    enum: SD_RANK
    enum: SD_LINE, SD_VECTOR
    enum: SD_INPUT, SD_OUTPUT, SD_ARENA, SD_CONSTANT, SD_LENGTH, SD_WINDOW
    enum: SD_BEFORE, SD_TILE, SD_AFTER, SD_PHASES
    enum: SD_PROGRAM, SD_PRODUCT, SD_REDUCE, SD_SCAN, SD_GATHER, SD_COPY, SD_FILL, SD_FACTOR, SD_USE, SD_PYTHON
    enum: SD_TAKE, SD_PUT, SD_ARRANGE, SD_SORT, SD_RESHAPE, SD_TRIANGLE, SD_SPECTRUM, SD_ADJUGATE, SD_REPEAT, SD_IN_PARTS
    enum: SD_ADD, SD_MULTIPLY, SD_MAX, SD_MIN
    enum: SD_DET, SD_INVERSE, SD_INVERSE_TRANSPOSED, SD_SOLVE, SD_SOLVE_TRANSPOSED, SD_CHOLESKY
    ctypedef struct sd_array:
        int kind, tiled, integer, rank
        long number, item, offset
        long shape[16]
        long strides[16]
        char *data
    ctypedef struct sd_axis:
        int loop, listed
        long start, step, length
    ctypedef struct sd_view:
        int array, rank, known
        long size, offset, pace
        long strides[8]
        long *offsets
        const long *list
        int goes_on, lists_on
        sd_axis axes[16]
    ctypedef struct sd_start:
        long array, offset, size, row
        int roomy
    ctypedef struct sd_dense:
        long count, slot, total
        long strides[8]
    ctypedef struct sd_step:
        int kind, phase, tiled, loops, number, shared, inputs, outputs, accumulate, op, units, sums, kept
        int symmetric, tiny, reverse, scatter, listed, a, factor, pivots, state, b, c, checked, fused
        int axis, own
        int span, windows, swaps, counter, tight, held, lasting, sign, strict
        const long *wiring
        long turns, cost
        const long *moved
        int uses[8]
        long lengths[8]
        sd_view *views
        sd_dense *dense
        sd_start *starts
        char *constant
        long *along
        long item
        double value
        const long *indices
    ctypedef struct sd_plan:
        sd_array *arrays
        sd_step *steps[3]
        int array_count, inputs, single, callbacks, accumulates
        int step_count[3]
        long tile, tile_bytes, kept_bytes, scratch_bytes, slot_bytes, totals, fixed_cost, row_cost, most_rows
        int padded, one_order
        const sd_matrix_functions *matrices
    void sd_put_numbers(char *to, const char *data, long count, long item) noexcept nogil
    long sd_chunk(long each) noexcept nogil
    void sd_list_position(long *pairs, long k, long position, long count) noexcept nogil
    void sd_fuse(sd_plan *plan) noexcept nogil
    void sd_find_given(sd_plan *plan) noexcept nogil
    void sd_resolve(const sd_view *v, const long *strides, long *offset, long *along) noexcept nogil


cdef extern from "plan/plan.h":
    int sd_is_padded(const sd_plan *plan, long room) noexcept nogil
    int sd_may_write(const sd_plan *plan, const sd_array *a) noexcept nogil
    const char *sd_bad_window(sd_plan *plan, int k) noexcept nogil
    const char *sd_bad_repeat(sd_plan *plan, sd_step *s, long *moved) noexcept nogil
    const char *sd_bad_bodies(const sd_plan *plan, int phase) noexcept nogil
    int sd_is_wired(const sd_plan *plan, const sd_step *loop, const long *wiring) noexcept nogil
    const char *sd_bad_integers(const sd_plan *plan) noexcept nogil
    int sd_own_places(sd_view *v, const sd_array *a, long *places) noexcept nogil
    const char *sd_bad_routine(const sd_plan *plan, const sd_step *s, long *scratch, double *cost) noexcept nogil


cdef extern from "matrix/call.h":
    long sd_gemm_bytes(long m, long n, long k, long item) noexcept nogil


cdef class BoundPlan:
    cdef sd_plan plan
    cdef set factored  # arrays of the factorizations so far
    cdef list blocks  # memory of the structures
    cdef list messages  # of each step's checks
    cdef list functions  # of each step that is one in Python, else None
    cdef int outputs
    cdef sd_array **ports  # of each input and output, or NULL where no step needs it
    cdef long left, length  # of a block: steps that are still to come, and its axis
    cdef bint blas  # whether a step needs BLAS or LAPACK

    cdef int refuse(self, const char *what) except -1
    cdef void *take(self, size) except NULL
    cdef int add_array(self, int k, array, bint wide) except -1
    cdef int add_view(self, sd_view *v, view, sd_step *step, bint written, bint own, int listed) except -1
    cdef const long *list_of(self, bytes data, long count, long size) except NULL
    cdef int add_step(self, sd_step *s, step, units) except -1
    cdef int add_views(self, sd_step *s, inputs, outputs, bint own) except -1
    cdef int add_outputs(self, sd_step *s, loops, bint accumulate) except -1
    cdef int need(self, object size) except -1
    cdef object add_program(self, sd_step *s, step, units, inner)
    cdef object add_product(self, sd_step *s, step)
    cdef object add_move(self, sd_step *s, step, name)
    cdef int add_positions(self, sd_step *s, step) except -1
    cdef object add_factor(self, sd_step *s, step, bint use)
    cdef tuple lengths_of(self, int array)
    cdef object add_use(self, sd_step *s, step, list lead, n, each)
    cdef object add_routine(self, sd_step *s, step)
    cdef object add_call(self, sd_step *s, step)
    cdef object add_block(self, sd_step *s, step)
    cdef object add_repeat(self, sd_step *s, step)
    cdef int add_wiring(self, sd_step *loop, units) except -1

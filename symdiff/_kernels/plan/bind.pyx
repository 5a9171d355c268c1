# cython: wraparound=True
"""From the tuples of ``symdiff/lowering/plan/bound.py`` to the structures that run (``plan.h``).

Memory safety depends on what is checked here: a plan that passes reads and writes within its arrays, whatever its
inputs hold. What is wrong is a ``ValueError``, for it is the planner's mistake and no user's.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport int64_t
from libc.string cimport memcpy

import math

from ..matrix.batches cimport SD_MATRIX_MOST, SD_MATRIX_USUAL, matrix_kernels, matrix_workspace
from ..unit import MOST_SAMPLES

#: Loops of a step and bytes of a plan's memory, at most; multiplications of a sample up to which they are a plain loop.
LOOPS, MOST_BYTES, PLAIN = 8, 2**60, 64
#: Steps without loops, of whole arrays.
WHOLE = ("FactorStep", "FactorUse", "RoutineStep", "CallStep", "RepeatStep")
#: Operations by their names in ``bound.py``, in C's numbers.
OPERATIONS = {"sum": SD_ADD, "max": SD_MAX, "min": SD_MIN, "prod": SD_MULTIPLY}
SCANS = {"cumsum": SD_ADD, "cumprod": SD_MULTIPLY, "cummax": SD_MAX, "cummin": SD_MIN}
USES = ("logdet", "logabsdet", "det", "inv", "inv_transposed", "solve", "solve_transposed", "cholesky")
ROUTINES = {"take": SD_TAKE, "put": SD_PUT, "arrange": SD_ARRANGE, "sort": SD_SORT, "reshape": SD_RESHAPE,
            "triangle": SD_TRIANGLE, "spectrum": SD_SPECTRUM, "adjugate": SD_ADJUGATE}


cdef int demand(bint condition, what) except -1:
    """Raise a ValueError that says what is wrong, unless the condition holds."""
    if not condition:
        raise ValueError(f"a plan with {what}")


cdef class BoundPlan:
    """A plan whose description has been checked."""

    def __cinit__(self, *, int inputs, int outputs, arrays, steps, long tile, long tile_bytes, long kept_bytes,
                  bint single, long lanes, units, bint reproducible=False):
        cdef int k, phase
        demand(inputs >= 0 and outputs >= 0 and tile >= 1, "a negative number of ports or an empty tile")
        demand(0 <= tile_bytes <= MOST_BYTES and 0 <= kept_bytes <= MOST_BYTES, "an arena that no memory holds")
        self.blocks, self.messages, self.functions = [], [()] * len(steps), [None] * len(steps)
        self.outputs, self.plan.inputs = outputs, inputs
        self.plan.matrices = matrix_kernels(lanes)
        demand(self.plan.matrices != NULL, f"vectors of {lanes} numbers, which no machine has")
        self.plan.single, self.plan.tile, self.plan.one_order = single, tile, reproducible
        self.plan.most_rows = SD_MATRIX_MOST if reproducible else SD_MATRIX_USUAL
        self.plan.tile_bytes, self.plan.kept_bytes, self.plan.array_count = tile_bytes, kept_bytes, len(arrays)
        self.plan.arrays = <sd_array *>self.take(len(arrays) * sizeof(sd_array))
        self.ports = <sd_array **>self.take((inputs + outputs) * sizeof(sd_array *))
        self.factored = set()
        wide = {step.factor for step in steps if type(step).__name__ == "FactorStep"}
        for k, array in enumerate(arrays):
            self.add_array(k, array, k in wide)
        self.plan.padded = sd_is_padded(&self.plan, kept_bytes)
        self.refuse(sd_bad_integers(&self.plan))
        for phase in range(SD_PHASES):
            here = [(k, step) for k, step in enumerate(steps) if step.phase == phase]
            self.plan.steps[phase] = <sd_step *>self.take(len(here) * sizeof(sd_step))
            self.plan.step_count[phase] = len(here)
            for k, (number, step) in enumerate(here):
                self.plan.steps[phase][k].number = number
                self.add_step(&self.plan.steps[phase][k], step, units)
            demand(not self.left, "a block that ends behind its phase")
            self.refuse(sd_bad_bodies(&self.plan, phase))
            for k in range(len(here)):
                if self.plan.steps[phase][k].kind == SD_REPEAT and self.plan.steps[phase][k].tight:
                    self.add_wiring(&self.plan.steps[phase][k], units)
        demand(all([0 <= step.phase < SD_PHASES for step in steps]), "a step of no phase")
        sd_fuse(&self.plan)
        sd_find_given(&self.plan)
        demand(self.plan.tile_bytes + self.plan.scratch_bytes + self.plan.kept_bytes <= MOST_BYTES,
               "an arena that no memory holds")

    cdef int refuse(self, const char *what) except -1:
        demand(what == NULL, "" if what == NULL else what.decode())
        return 0

    cdef void *take(self, size) except NULL:
        """Return memory that is cleared, and lives as long as the plan."""
        demand(size <= MOST_BYTES, "a description that no memory holds")
        self.blocks.append(bytearray(size + 1))
        return PyByteArray_AS_STRING(self.blocks[-1])

    cdef int add_array(self, int k, array, bint wide) except -1:
        cdef sd_array *a = &self.plan.arrays[k]
        cdef long i, span
        demand(SD_INPUT <= array.kind <= SD_WINDOW, f"an array of kind {array.kind}")
        demand(len(array.shape) <= SD_RANK and all([0 <= n <= MOST_BYTES for n in array.shape]),
               f"an array of shape {array.shape}")
        a.kind, a.tiled, a.integer, a.rank, a.number = array.kind, array.tiled, array.integer, len(array.shape), array.number
        demand(not a.integer or a.kind == SD_ARENA, "integers outside the arena")
        demand(not wide or (a.kind == SD_ARENA and not a.integer), "a factor outside the arena")
        demand(not a.tiled or (a.rank and a.kind <= SD_ARENA), "a tiled array that cannot be")
        a.item = 4 if a.integer or (self.plan.single and not wide) else 8
        bytes = a.item * math.prod(array.shape)
        demand(bytes <= MOST_BYTES or a.kind <= SD_OUTPUT, f"an array of shape {array.shape}")
        span = a.item
        for i in range(a.rank - 1, -1, -1):
            a.shape[i] = array.shape[i]
            if a.kind > SD_OUTPUT:
                a.strides[i] = span
                span *= a.shape[i]
        if a.kind in (SD_INPUT, SD_OUTPUT):
            p = array.number + (self.plan.inputs if a.kind == SD_OUTPUT else 0)
            most = self.plan.inputs if a.kind == SD_INPUT else self.outputs
            demand(0 <= array.number < most and self.ports[<int>p] == NULL, "a port that is not there, or there twice")
            self.ports[<int>p] = a
        elif a.kind == SD_ARENA:
            room = self.plan.tile_bytes if a.tiled else self.plan.kept_bytes
            demand(0 <= array.number and array.number % 8 == 0 and array.number + bytes <= room,
                   f"an array at {array.number} of an arena of {room} bytes")
            demand(not a.tiled or a.shape[0] >= self.plan.tile, "an array that holds no tile")
        elif a.kind == SD_WINDOW:
            a.number, a.offset = array.number, array.offset
            self.refuse(sd_bad_window(&self.plan, k))
        elif a.kind == SD_LENGTH:
            demand(a.rank == 0, "a length with axes")
            a.number = (self.plan.kept_bytes + 7) // 8 * 8
            self.plan.kept_bytes = a.number + 8
        else:
            count = math.prod(array.shape)
            demand(array.data is not None and len(array.data) == 8 * count, "a constant of other data than its shape")
            a.data = <char *>self.take(bytes + SD_VECTOR)  # of few elements, whole vectors are read
            sd_put_numbers(a.data, array.data, count, a.item)
        return 0

    cdef int add_view(self, sd_view *v, view, sd_step *step, bint written, bint own, int listed) except -1:
        """Check a view and fill it in; positions along the loop ``listed`` are checked elsewhere."""
        cdef sd_array *a
        cdef sd_axis *axis
        cdef int x
        cdef bint block = step.tiled and step.phase != SD_TILE
        listed_axes = [x for x, _ in view.listed]
        demand(len(listed_axes) <= own and not (written and listed_axes), "a list where none can be")
        demand(0 <= view.array < self.plan.array_count, "a view of no array")
        a = &self.plan.arrays[<int>view.array]
        demand(len(view.axes) == a.rank and not a.integer, f"a view of {len(view.axes)} axes of an array of {a.rank}")
        demand(not written or sd_may_write(&self.plan, a), "a step that writes what is given")
        demand(not a.tiled or step.tiled, "the batch in a step that is not tiled")
        demand(not block or not a.tiled or a.kind == SD_ARENA, "the batch in a block")
        v.array, v.rank, v.size, v.known = view.array, a.rank, 1, a.kind > SD_OUTPUT
        for x in range(a.rank):
            axis = &v.axes[x]
            loop, start, pace, length = view.axes[x]
            axis.loop, axis.start, axis.step, axis.length = loop, start, pace, length
            if a.tiled and x == 0:
                demand((loop, start, pace, length) == (0, 0, 1, -1), "another view of the batch than all of it")
                continue
            demand(-1 <= loop < step.loops and not (step.tiled and loop == 0 and not block), f"an axis of loop {loop}")
            if block and loop == 0 != listed:
                v.goes_on, v.lists_on = v.goes_on or x not in listed_axes, v.lists_on or x in listed_axes
            demand(loop >= 0 or length < 0 or own, "an element's own axis in a step that has none")
            demand(length < 0 or loop < 0, "an axis of a loop and of the element")
            steps = step.lengths[<int>loop] if loop >= 0 else length if length >= 0 else 1
            if 0 <= loop == listed or any([axis_of[3] == 0 for axis_of in view.axes]):  # no element is looked at
                steps = 0
            if x in listed_axes:
                demand(loop >= 0 and (start, pace) == (0, 1), "a listed axis of no loop")
                axis.listed, steps = True, 0
                v.list = self.list_of(view.listed[0][1], step.lengths[<int>loop], a.shape[x])
            last = start + pace * (steps - 1) if loop >= 0 or length >= 0 else start
            demand(not steps or (0 <= start < a.shape[x] and 0 <= last < a.shape[x]),
                   f"positions {start} to {last} of an axis of length {a.shape[x]}")
            if loop < 0 and length >= 0:
                v.size *= length
        demand(not listed_axes or v.list != NULL, f"a list for axis {listed_axes}")
        if v.known:
            sd_resolve(v, a.strides, &v.offset, v.strides)
            v.pace = a.item
            if v.size > 1 and not sd_own_places(v, a, <long *>self.take(8 * v.size)):
                self.blocks.pop()
        return 0

    cdef const long *list_of(self, bytes data, long count, long size) except NULL:
        """Check listed positions, and put each in memory with how many go on from there."""
        cdef long k, here
        cdef int64_t number
        cdef const char *at = data
        cdef long *pairs
        demand(len(data) == 8 * count, f"{len(data)} bytes of positions for {count}")
        pairs = <long *>self.take(16 * count)
        for k in range(count - 1, -1, -1):
            memcpy(&number, at + 8 * k, 8)
            here = number
            demand(0 <= here < size, f"position {here} of an axis of length {size}")
            sd_list_position(pairs, k, here, count)
        return pairs

    cdef int add_step(self, sd_step *s, step, units) except -1:
        cdef int k
        cdef object name = type(step).__name__
        s.phase, s.tiled, s.listed, s.shared = step.phase, step.tiled, -1, not step.tiled
        demand(not s.tiled or s.phase == SD_TILE or self.left, "a tiled step outside the tiles")
        if self.left:
            demand(s.tiled and s.phase != SD_TILE and name in ("ProgramStep", "ReduceStep", "GatherStep"),
                   f"a step {name} in a block")
            demand(tuple(step.lengths[:1]) == (self.length,), f"a step in a block of {self.length}")
            s.shared = True
            self.left -= 1
        lengths = getattr(step, "lengths", ())
        demand(len(lengths) <= LOOPS and all([0 <= n <= MOST_BYTES for n in lengths]), f"loops of {lengths}")
        demand(not s.tiled or lengths or name in WHOLE, "a tiled step without a loop")
        s.loops = len(lengths)
        for k, length in enumerate(lengths):
            s.lengths[k] = length
        inner = math.prod(lengths[s.tiled:])
        demand(inner * (self.plan.tile if s.tiled else 1) <= MOST_SAMPLES, f"loops of {lengths}")
        if name == "ProgramStep":
            cost = self.add_program(s, step, units, inner)
        elif name == "ProductStep":
            cost = self.add_product(s, step)
        elif name in ("FactorStep", "FactorUse"):
            cost = self.add_factor(s, step, name == "FactorUse")
        elif name == "RoutineStep":
            cost = self.add_routine(s, step)
        elif name == "CallStep":
            cost = self.add_call(s, step)
        elif name == "RepeatStep":
            cost = self.add_repeat(s, step)
        elif name == "BlockStep":
            cost = self.add_block(s, step)
        else:
            cost = self.add_move(s, step, name)
        s.cost = min(cost, MOST_SAMPLES)
        if s.tiled and s.phase == SD_TILE:
            self.plan.row_cost = min(self.plan.row_cost + cost, MOST_SAMPLES)
        else:
            self.plan.fixed_cost = min(self.plan.fixed_cost + cost * (self.length if s.tiled else 1), MOST_SAMPLES)
        return 0

    cdef int add_views(self, sd_step *s, inputs, outputs, bint own) except -1:
        cdef int k
        s.inputs, s.outputs = len(inputs), len(outputs)
        s.views = <sd_view *>self.take((s.inputs + s.outputs) * sizeof(sd_view))
        for k, view in enumerate((*inputs, *outputs)):
            self.add_view(&s.views[k], view, s, k >= s.inputs, own, s.listed if k == s.scatter else -1)
        return 0

    cdef int add_outputs(self, sd_step *s, loops, bint accumulate) except -1:
        """Check that outputs have each of ``loops``, and no other; give room to what is summed over tiles."""
        cdef int k, x
        cdef sd_view *v
        cdef sd_dense *dense
        demand(not accumulate or s.tiled, "a sum over the batch in a step without it")
        demand(not accumulate or 0 not in loops, "a sum over the batch that has it")
        s.accumulate = accumulate
        if accumulate:
            self.plan.accumulates = True
            s.dense = <sd_dense *>self.take(s.outputs * sizeof(sd_dense))
        for k in range(s.outputs):
            v = &s.views[s.inputs + k]
            demand(s.phase != SD_TILE or accumulate or self.plan.arrays[v.array].tiled,
                   "a step of a tile that writes what tiles share")
            found = [v.axes[x].loop for x in range(v.rank) if v.axes[x].loop >= 0]
            # programs fill diagonals: one loop goes along two axes
            demand(sorted(set(found) if s.kind == SD_PROGRAM and not s.sums else found) == sorted(loops),
                   f"an output of the loops {found} where {sorted(loops)} were expected")
            demand(all([v.axes[x].step for x in range(v.rank) if v.axes[x].loop >= 0]), "results on top of each other")
            if accumulate:
                dense = &s.dense[k]
                dense.count = v.size
                for x in range(v.rank - 1, -1, -1):
                    if v.axes[x].loop >= 0:
                        dense.strides[v.axes[x].loop] = dense.count
                        dense.count *= s.lengths[v.axes[x].loop]
                dense.slot, dense.total = self.plan.slot_bytes, self.plan.totals
                self.plan.slot_bytes += (dense.count * s.item + SD_LINE - 1) // SD_LINE * SD_LINE
                self.plan.totals += dense.count
        return 0

    cdef int need(self, object size) except -1:
        """Have so much scratch memory at least."""
        demand(size <= MOST_BYTES, "a step that needs more memory than there is")
        self.plan.scratch_bytes = max(self.plan.scratch_bytes, size)
        return 0

    cdef object add_program(self, sd_step *s, step, units, inner):
        cdef int k
        s.kind, s.sums, s.kept, s.item, s.units = SD_PROGRAM, step.sums, step.kept, 8, step.units
        demand(units is not None and 0 <= step.units < len(units.ports), "a program that is not there")
        demand(not s.kept or (s.sums and s.loops), "a loop to keep in a step that does not sum")
        demand(units.wirings[step.units] is None or not s.loops, "a loop over the body of another")
        demand(not step.accumulate or (s.sums and not s.kept), "a sum over the batch that is none")
        demand(not (s.tiled and s.sums) or s.kept or step.accumulate, "a sum over a tile that is no sum of all")
        self.add_views(s, step.inputs, step.outputs, True)
        s.starts = <sd_start *>self.take((s.inputs + s.outputs) * sizeof(sd_start))
        s.along = <long *>self.take((s.inputs + s.outputs) * sizeof(long))
        self.add_outputs(s, range(s.loops) if not s.sums else range(s.kept), step.accumulate)
        sizes = [s.views[k].size for k in range(s.inputs + s.outputs)]
        inputs, outputs, constant = units.ports[step.units]
        demand(sizes[:s.inputs] == list(inputs) and sizes[s.inputs:] == list(outputs),
               f"views of {sizes} elements for a program of {inputs} and {outputs}")
        demand(sum(sizes) <= MOST_SAMPLES, f"views of {sizes} elements")
        s.constant = <char *>self.take(s.inputs + 1)
        memcpy(s.constant, <const char *>constant, s.inputs)
        self.need(<long>sizeof(sd_port) * len(sizes) + SD_LINE + 32 * sum(sizes))
        self.messages[s.number] = tuple(step.checks)
        return units.cost(step.units) * inner

    cdef object add_product(self, sd_step *s, step):
        cdef int k, x, label
        cdef sd_view *v
        s.kind, s.value, s.symmetric, s.item = SD_PRODUCT, step.alpha, step.symmetric, 4 if self.plan.single else 8
        self.add_views(s, (step.a, step.b), (step.c,), False)
        for k in range(3):
            v = &s.views[k]
            demand(self.plan.arrays[v.array].item == s.item, "a product of a factor")
            for x in range(v.rank):
                if v.axes[x].loop >= 0:
                    s.uses[v.axes[x].loop] |= 1 << k
        kept = [label for label in range(s.loops) if s.uses[label] & 4]
        self.add_outputs(s, kept, step.accumulate)
        demand(not s.tiled or step.accumulate or 0 in kept, "a sum over a tile that is no sum of all")
        sides = [1, 1, 1, 1]  # rows, columns, inner, places
        for label in range(s.loops):
            group = {5: 0, 6: 1}.get(s.uses[label], 3) if s.uses[label] & 4 else 2
            if s.tiled and label == 0:
                batch = group
                sides[group] *= self.plan.tile
            else:
                sides[group] *= s.lengths[label]
        rows, columns, inner, places = sides
        s.tiny = rows * columns * inner <= PLAIN and not (s.tiled and batch != 3) and not self.plan.one_order
        self.need(s.item * places * (rows * inner + inner * columns + rows * columns) + 4 * SD_LINE
                  + (0 if s.tiny else sd_gemm_bytes(rows, columns, inner, s.item)))
        return 2 * math.prod(step.lengths[s.tiled:])

    cdef object add_move(self, sd_step *s, step, name):
        """Add a step that moves elements, or combines them."""
        loops, accumulate = list(range(s.loops)), False
        if name == "GatherStep":
            demand((s.phase == SD_TILE and s.tiled) <= step.axis_loop < s.loops, f"positions along loop {step.axis_loop}")
            s.kind, s.scatter, s.listed = SD_GATHER, step.scatter, step.axis_loop
        elif name == "ScanStep":
            demand(step.op in SCANS and s.loops > s.tiled, f"a scan {step.op!r}")
            s.kind, s.reverse, s.op = SD_SCAN, step.reverse, SCANS[step.op]
        elif name == "ReduceStep":
            demand(step.op in OPERATIONS, f"a reduction {step.op!r}")
            s.kind, s.item, s.op, accumulate = SD_REDUCE, 8, OPERATIONS[step.op], step.accumulate
            loops = sorted({axis[0] for axis in step.output.axes} - {-1})
            demand(not s.tiled or accumulate or 0 in loops, "a reduction of a tile that is none of all")
        elif name == "FillStep":
            s.kind, s.value = SD_FILL, step.value
        elif name == "CopyStep":
            s.kind = SD_COPY
        else:
            raise ValueError(f"a plan with a step {name}")
        self.add_views(s, () if name == "FillStep" else (step.input,), (step.output,), False)
        self.add_outputs(s, loops, accumulate)
        for k in loops:
            s.uses[<int>k] = 2
        if name == "GatherStep":
            self.add_positions(s, step)
        return math.prod(step.lengths[s.tiled:])

    cdef int add_positions(self, sd_step *s, step) except -1:
        """Check listed positions, and put them in memory."""
        cdef long k, count = s.lengths[s.listed]
        cdef sd_view *v = &s.views[1 if s.scatter else 0]
        cdef int x
        demand(not s.scatter or self.plan.arrays[v.array].item == self.plan.arrays[s.views[0].array].item,
               "a scattered factor")
        s.indices = self.list_of(step.indices, count, MOST_BYTES)
        for x in range(v.rank):
            if v.axes[x].loop == s.listed:
                for k in range(count):
                    place = v.axes[x].start + v.axes[x].step * s.indices[2 * k]
                    demand(0 <= place < self.plan.arrays[v.array].shape[x],
                           f"position {place} of an axis of length {self.plan.arrays[v.array].shape[x]}")
        return 0

    cdef object add_factor(self, sd_step *s, step, bint use):
        cdef sd_array *arrays = self.plan.arrays
        cdef sd_array *factor
        s.kind, s.shared = SD_USE if use else SD_FACTOR, not step.tiled
        for index in (step.a, step.factor, step.pivots, step.state):
            demand(0 <= index < self.plan.array_count, "a factorization of no array")
        s.a, s.factor, s.pivots, s.state = step.a, step.factor, step.pivots, step.state
        factor = &arrays[s.factor]
        lead, n = self.lengths_of(s.factor)[:-2], factor.shape[max(factor.rank - 1, 0)]
        each = math.prod([length for length in lead if length is not None])
        demand(factor.rank >= 2 and not factor.integer and factor.item == 8 and factor.kind == SD_ARENA,
               "a factor that is no stack of matrices in the arena")
        demand(s.phase != SD_TILE or s.tiled, "a factorization for each tile of what tiles share")
        demand(n <= (self.plan.most_rows if self.plan.one_order else 2**24) and each <= MOST_SAMPLES, f"{n} rows")
        self.blas = self.blas or n > self.plan.most_rows
        if use:
            demand((s.a, s.factor, s.pivots, s.state) in self.factored, "a use of what is not factorized before")
            s.shared = s.shared or not factor.tiled
            return each * self.add_use(s, step, list(lead), n, each)
        demand(step.symmetric in (0, 1, 2), f"a factorization {step.symmetric}")
        s.symmetric = step.symmetric
        demand(self.lengths_of(s.a) == (*lead, n, n) and not arrays[s.a].integer, "a factor of another shape")
        demand(self.lengths_of(s.pivots) == (*lead, n) and self.lengths_of(s.state) == lead, "pivots of another shape")
        demand(arrays[s.pivots].integer and arrays[s.state].integer, "pivots that are no integers")
        for index in (s.a, s.factor, s.pivots, s.state):
            demand(arrays[<int>index].tiled == s.tiled, "a factorization of arrays with the batch and without")
        self.factored.add((s.a, s.factor, s.pivots, s.state))
        if n <= self.plan.most_rows:
            self.need(2 * SD_LINE + each * (self.plan.tile if s.tiled else 1) + matrix_workspace(n, 0))
        return each * n**3

    cdef tuple lengths_of(self, int array):
        """Return the shape of an array, the batch as None."""
        cdef sd_array *a = &self.plan.arrays[array]
        return tuple([None if a.tiled and x == 0 else a.shape[x] for x in range(a.rank)])

    cdef object add_use(self, sd_step *s, step, list lead, n, each):
        cdef sd_array *c
        demand(step.op in USES, f"a use {step.op!r} of a factorization")
        demand(0 <= step.c < self.plan.array_count and -1 <= step.b < self.plan.array_count, "a use of no array")
        s.op, s.b, s.c, s.checked = USES.index(step.op), step.b, step.c, bool(step.check)
        c = &self.plan.arrays[s.c]
        demand(sd_may_write(&self.plan, c) and not c.integer and c.tiled == s.tiled, "results where none can be")
        if s.tiled and lead[:1] != [None]:
            lead = [None, *lead]
        shape, columns = list(self.lengths_of(s.c)), 1
        if s.op in (SD_SOLVE, SD_SOLVE_TRANSPOSED):
            demand(s.b >= 0 and not self.plan.arrays[s.b].integer, "a solution without right sides")
            demand(shape[:len(lead) + 1] == [*lead, n] and len(shape) - len(lead) in (1, 2), f"solutions {shape}")
            columns = shape[-1] if len(shape) - len(lead) == 2 else 1
            right = list(self.lengths_of(s.b))
            demand(right in (shape, shape[1:] if s.tiled else shape), f"right sides {right} for solutions {shape}")
            demand(columns <= 2**30, f"{columns} right sides")
        else:
            demand(s.b == -1, "right sides where there are none")
            demand(shape == (lead if s.op <= SD_DET else [*lead, n, n]), f"results of shape {shape}")
            columns = n
        self.messages[s.number] = (step.check,)
        together = each * (self.plan.tile if s.tiled else 1)
        if n <= self.plan.most_rows:
            self.need(3 * SD_LINE + 8 * sd_chunk(n * columns) * n * columns + matrix_workspace(n, columns))
        else:
            self.need(8 * (n * max(columns, together) + 64 * n) + SD_LINE)
        return n * n * columns

    cdef object add_routine(self, sd_step *s, step):
        cdef long scratch = 0
        cdef double cost = 0
        demand(step.op in ROUTINES, f"a routine {step.op!r}")
        s.kind, s.axis, s.own, s.reverse = ROUTINES[step.op], step.axis, step.own, step.reverse
        s.a, s.b, s.c = step.a, step.b, step.c
        self.refuse(sd_bad_routine(&self.plan, s, &scratch, &cost))
        self.need(scratch)
        self.blas = self.blas or s.kind == SD_SPECTRUM
        return int(cost)

    cdef object add_call(self, sd_step *s, step):
        cdef sd_array *array = NULL
        s.kind, self.plan.callbacks = SD_PYTHON, True
        demand(s.phase != SD_TILE or s.tiled, "a call for each tile of what tiles share")
        for index in (*step.inputs, step.output):
            demand(0 <= index < self.plan.array_count, "a call with no array")
            array = &self.plan.arrays[<int>index]
            demand(not array.integer and (s.tiled or not array.tiled), "a call with integers or a tile that is none")
        demand(array.kind in (SD_OUTPUT, SD_ARENA) and array.tiled == s.tiled, "a call whose result cannot be written")
        self.functions[s.number] = (step.function, tuple(step.inputs), step.output, step.reads)
        return 100_000

    cdef object add_block(self, sd_step *s, step):
        s.kind, s.span, s.turns = SD_IN_PARTS, step.span, step.length
        demand(s.phase != SD_TILE and step.span >= 0 and 0 <= step.length <= MOST_SAMPLES, "a block in a tile")
        self.left, self.length = step.span, step.length
        return 0

    cdef object add_repeat(self, sd_step *s, step):
        cdef int k
        cdef long *moved
        s.kind, s.span, s.turns, s.reverse = SD_REPEAT, step.span, step.turns, step.reverse
        s.windows, s.swaps, s.counter, s.held = len(step.windows), len(step.swaps), step.counter, len(step.held)
        demand(len(step.results) == (s.swaps if s.tiled else 0), "a loop of samples without its results")
        s.moved = moved = <long *>self.take(16 * (s.windows + s.swaps) + 8 * (len(step.results) + s.held))
        for k, (first, second) in enumerate((*step.windows, *step.swaps)):
            moved[2 * k], moved[2 * k + 1] = first, second
        for k, number in enumerate((*step.results, *step.held), 2 * (s.windows + s.swaps)):
            moved[k] = number
        s.lasting, s.sign, s.value, s.strict = step.lasting
        self.refuse(sd_bad_repeat(&self.plan, s, moved))
        return min(100 * step.turns, MOST_SAMPLES)

    cdef int add_wiring(self, sd_step *loop, units) except -1:
        """Let code with the loop in it run a loop, where the arrays are those that it takes for granted."""
        cdef long *numbers
        cdef int k
        wiring = units.wirings[(loop + 1).units]
        if wiring is None or len(wiring.sizes) != loop.swaps or len(wiring.copies) != loop.span - 1:
            return 0
        flat = (*wiring.sizes, *wiring.inputs, *wiring.outputs, *[number for copy in wiring.copies for number in copy])
        numbers = <long *>self.take(8 * len(flat))
        for k, number in enumerate(flat):
            numbers[k] = number
        if sd_is_wired(&self.plan, loop, numbers):
            loop.wiring = numbers
        return 0

"""The order of chains of steps: a list schedule for a machine whose divisions occupy a unit of their own."""

from cpython cimport array
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from .steps cimport ACCUMULATOR, Steps

#: What storing a chain's last value takes for one vector, in times of a step that reads one operand from memory.
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
    #: Where each chain begins, and those of which each step is one.
    cdef int32_t *begins
    cdef int32_t *chain
    #: For each chain how long it occupies the unit for divisions, what it costs, and when what it needs was computed.
    cdef double *slow
    cdef double *cost
    cdef double *there
    #: How many of the chains that it needs are missing; where the chains that need it begin, and these.
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

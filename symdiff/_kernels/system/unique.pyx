"""Objects of which there is one for each description: the nodes of graphs.

A graph holds millions of nodes, and each of them is asked for several times, so a node is one small object and
its place in a table of addresses. The table does not keep a node alive: a node leaves it when its memory is freed.

Whatever may run other code (comparing payloads, allocating memory, which may start the collector) may change the
table, so a search begins again where the table has changed meanwhile. Everything runs with the interpreter's lock.
"""

from cpython.list cimport PyList_Append, PyList_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject, PyTypeObject, PyObject_Hash, PyObject_RichCompareBool, Py_EQ
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from "system/attributes.h":
    int sd_show(PyTypeObject *type, int i, const char *name, Py_ssize_t offset, int kind) except -1
    ctypedef object (*getter)(object, void *)
    object sd_ask(PyTypeObject *type, int i, const char *name, getter ask, void *about)
    enum: SD_PREDICATES, SD_NUMBERS, SD_FREE, SD_GONE
    void PyObject_GC_UnTrack(void *)
    bint PyObject_GC_IsTracked(PyObject *)
    bint PyObject_IS_GC(PyObject *)
    Py_ssize_t Py_REFCNT(PyObject *)


cdef class Unique:
    """An object that is the only one of its description.

    Attributes
    ----------
    op, args, payload, shape, dtype
        The description; ``args`` are such objects themselves.
    below : int
        The bits of its operation and of all that it is computed from.
    settled, tried : int
        What one may note of it besides.
    """

    def __dealloc__(self):
        _remove(self)


cdef PyObject **slots = NULL
#: What is in each slot: nothing, an object that is gone, or bits of the key of the one that is there.
cdef uint8_t *tags = NULL
cdef size_t mask = 0
#: Objects of the table, and slots that are not free: those of objects that are gone are used again when it is copied.
cdef size_t alive = 0
cdef size_t taken = 0
cdef uint64_t version = 0
cdef dict bits = {}
#: Functions of the arguments of an operation that give bits of it which do not hold with these.
cdef dict exceptions = {}
#: Numbers of operations, and for each predicate which numbers it is true of.
cdef dict numbers = {}
cdef uint8_t passes[SD_PREDICATES][SD_NUMBERS]
#: Which operations of objects without a shape walks may count, and how many of each the last such walk has met.
cdef uint8_t alike[SD_NUMBERS]
cdef Py_ssize_t counted[SD_NUMBERS]
#: Names of the predicates, which their attributes point to.
cdef list predicates = []


cdef inline uint8_t _tag(Py_hash_t key) noexcept:
    """Return the bits of a key that are beside its slot: most objects that it is not are told by them alone."""
    return <uint8_t>((<uint64_t>key >> 56) % 254 + 2)


cdef int _copy() except -1:
    """Copy the table into one and a half to three slots for each object."""
    global slots, tags, mask, taken, version
    cdef size_t size = 1 << 12
    while 2 * size < 3 * alive:
        size *= 2
    cdef PyObject **new = <PyObject **>PyMem_Malloc(size * sizeof(PyObject *))
    cdef uint8_t *told = <uint8_t *>PyMem_Calloc(size, 1)
    cdef PyObject **old = slots
    cdef uint8_t *before = tags
    cdef size_t i, at, count = mask + 1 if slots != NULL else 0
    if new == NULL or told == NULL:
        PyMem_Free(new)
        PyMem_Free(told)
        raise MemoryError
    for i in range(count):
        if before[i] > SD_GONE:
            at = <size_t>(<Unique>old[i]).key & (size - 1)
            while told[at] != SD_FREE:
                at = (at + 1) & (size - 1)
            new[at], told[at] = old[i], before[i]
    slots, tags, mask, taken = new, told, size - 1, alive
    version += 1
    PyMem_Free(old)
    PyMem_Free(before)
    return 0


cdef void _remove(Unique self) noexcept:
    """Take an object out of the table, if it is there."""
    global alive, version
    cdef size_t at = <size_t>self.key & mask
    cdef uint8_t tag = _tag(self.key)
    while tags[at] != SD_FREE:
        if tags[at] == tag and slots[at] == <PyObject *>self:
            tags[at] = SD_GONE
            alive -= 1
            version += 1
            return
        at = (at + 1) & mask


cdef inline bint _same_args(tuple a, tuple b):
    cdef Py_ssize_t i, count = PyTuple_GET_SIZE(a)
    if PyTuple_GET_SIZE(b) != count:
        return False
    for i in range(count):
        if PyTuple_GET_ITEM(a, i) != PyTuple_GET_ITEM(b, i):
            return False
    return True


cdef inline bint _equal(a, b) except -1:
    return a is b or PyObject_RichCompareBool(a, b, Py_EQ)


cdef Unique _find(Py_hash_t key, op, tuple args, payload, tuple shape, dtype):
    """Return the object of a description, or None."""
    cdef size_t at = <size_t>key & mask
    cdef uint64_t seen = version
    cdef Unique other
    cdef uint8_t tag = _tag(key)
    while tags[at] != SD_FREE:
        # one that nobody holds waits for its memory to be freed
        if tags[at] == tag and (<Unique>slots[at]).key == key and Py_REFCNT(slots[at]) > 0:
            other = <Unique>slots[at]
            if other.args is not None and _same_args(other.args, args) and _equal(other.op, op):
                if _equal(other.dtype, dtype) and _equal(other.shape, shape) and _equal(other.payload, payload):
                    return other
            if version != seen:
                return _find(key, op, args, payload, shape, dtype)
        at = (at + 1) & mask
    return None


cdef bint _may_close(value):
    """Tell whether a value may be a part of a circle: tuples of numbers and text are not."""
    if not PyObject_IS_GC(<PyObject *>value) or not PyObject_GC_IsTracked(<PyObject *>value):
        return False
    if isinstance(value, tuple):
        for part in <tuple>value:
            if _may_close(part):
                return True
        return False
    return True


cdef inline Py_hash_t _mixed(Py_hash_t a, Py_hash_t b) noexcept:
    cdef uint64_t h = (<uint64_t>a ^ (<uint64_t>b + 0x9E3779B97F4A7C15ULL)) * 0xD6E8FEB86659FD93ULL
    return <Py_hash_t>(h ^ (h >> 32))


cpdef Unique unique(type kind, op, tuple args, payload, tuple shape, dtype):
    """Return the one object of a description, an instance of ``kind``, making it when it is new."""
    global alive, taken, version
    cdef Py_ssize_t i, count = PyTuple_GET_SIZE(args)
    cdef Py_hash_t key = _mixed(PyObject_Hash(op), PyObject_Hash(shape))
    cdef uint32_t below = 0, own
    cdef bint is_tracked = False
    cdef Unique found, fresh
    cdef size_t at
    if payload is not None:
        key = _mixed(key, PyObject_Hash(payload))
    if dtype is not None:
        key = _mixed(key, PyObject_Hash(dtype))
    for i in range(count):
        key = _mixed(key, <Py_hash_t>PyTuple_GET_ITEM(args, i))
    found = _find(key, op, args, payload, shape, dtype)
    if found is not None:
        return found
    for i in range(count):
        found = args[i]
        below |= found.below
        is_tracked = is_tracked or PyObject_GC_IsTracked(<PyObject *>found)
    own = <uint32_t>bits.get(op, 0)
    if own and op in exceptions:
        own &= ~<uint32_t>exceptions[op](args)
    below |= own
    if PyTuple_GET_SIZE(args) == 0:
        below |= <uint32_t>bits.get(type(payload), 0)
    if 4 * (taken + 1) >= 3 * (mask + 1):
        _copy()
    fresh = kind.__new__(kind)
    is_tracked = is_tracked or _may_close(payload) or _may_close(shape)
    fresh.op, fresh.args, fresh.payload, fresh.shape, fresh.dtype = op, args, payload, shape, dtype
    fresh.below, fresh.key, fresh.number = below, key, <uint16_t>numbers.get(op, 0)
    found = _find(key, op, args, payload, shape, dtype)  # what runs meanwhile may have made it
    if found is not None:
        return found
    at = <size_t>key & mask
    while tags[at] > SD_GONE:
        at = (at + 1) & mask
    taken += tags[at] == SD_FREE
    slots[at], tags[at] = <PyObject *>fresh, _tag(key)
    alive += 1
    version += 1
    if not is_tracked:  # nothing below can be in a circle, so that the collector need not look at it
        PyObject_GC_UnTrack(<void *>fresh)
        if PyObject_GC_IsTracked(<PyObject *>args):
            PyObject_GC_UnTrack(<void *>args)
    return fresh


cpdef int mark(Unique one, int level) except -1:
    """Note a number below 256 beside an object, as ``settled``."""
    one.settled = level
    return 0


cpdef int mark_tried(Unique one, int level) except -1:
    """Note a number below 256 beside an object, as ``tried``."""
    one.tried = level
    return 0


cdef struct Step:
    PyObject *node
    Py_ssize_t following

cdef Step *path = NULL
cdef size_t room = 0
cdef uint32_t walks = 0


cdef uint32_t next_walk() noexcept:
    """Return a number that no object was met by."""
    global walks
    cdef size_t i
    walks += 1
    if walks == 0:  # all numbers were used once
        for i in range(mask + 1):
            if tags[i] > SD_GONE:
                (<Unique>slots[i]).met = 0
        walks = 1
    return walks


#: Which objects a walk gives: all, those without arguments, or those that it does not count.
ALL, LEAVES, APART = range(3)


cpdef list walk(roots, int settled=0, Py_ssize_t most=-1, int which=0):
    """Return every object below ``roots`` once, arguments before uses, in the order of a recursion from the left.

    Parameters
    ----------
    roots : iterable of Unique
    settled : int
        Objects of which this or more is noted are left out, and so is what is below them alone; 0 leaves none out.
    most : int
        The walk ends where it has more objects to give; -1 sets no end.
    which : int
        The objects that it gives: ``ALL``, ``LEAVES`` or ``APART``.

    Notes
    -----
    Objects are marked as met while no other code can run: memory of the path and of the list alone is taken.
    """
    global path, room
    cdef list tops = list(roots), order = []
    cdef uint32_t this
    cdef size_t depth
    cdef Step *step
    cdef Unique node
    cdef PyObject *arg
    for node in tops:
        if node is None:
            raise TypeError("None among the roots of a walk; expected nodes")
    this = next_walk()
    if which == 2:
        memset(counted, 0, sizeof(counted))
    for node in tops:
        if node.met == this or (settled and node.settled >= settled):
            continue
        node.met = this
        depth = 0
        arg = <PyObject *>node
        while True:
            if arg != NULL:  # enter it
                if depth == room:
                    _grow()
                path[depth].node, path[depth].following = arg, 0
                depth += 1
            step = &path[depth - 1]
            arg = NULL
            if step.following < PyTuple_GET_SIZE((<Unique>step.node).args):
                arg = PyTuple_GET_ITEM((<Unique>step.node).args, step.following)
                step.following += 1
                if (<Unique>arg).met == this or (settled and (<Unique>arg).settled >= settled):
                    arg = NULL
                    continue
                (<Unique>arg).met = this
                continue
            node = <Unique>step.node
            if which == 2 and alike[node.number] and PyTuple_GET_SIZE(node.shape) == 0:
                counted[node.number] += 1
            elif which != 1 or PyTuple_GET_SIZE(node.args) == 0:
                PyList_Append(order, node)
            depth -= 1
            if 0 <= most < PyList_GET_SIZE(order):
                return order
            if depth == 0:
                break
    return order


def survey(roots):
    """Return the objects below ``roots`` that are not alike, as :func:`walk` does, and how many of each kind are.

    Returns
    -------
    apart : list of Unique
    alike : dict of str to int
        By operation, see :func:`assign_alike`.
    """
    cdef Py_ssize_t kept[SD_NUMBERS]
    cdef list apart = walk(roots, 0, -1, 2)
    memcpy(kept, counted, sizeof(counted))  # before anything else may run, and walk
    return apart, {op: kept[<int>i] for op, i in numbers.items() if kept[<int>i]}


cdef int _grow() except -1:
    global path, room
    cdef size_t more = 2 * room if room else 256
    cdef Step *new = <Step *>PyMem_Realloc(path, more * sizeof(Step))
    if new == NULL:
        raise MemoryError
    path, room = new, more
    return 0


def assign_bits(dict known):
    """Assign bits of ``below`` to operations, and to types of payloads of leaves, before the first such object is made."""
    bits.update(known)


def assign_exceptions(dict known):
    """Assign to operations functions of the arguments that give the bits which do not hold of it with these."""
    exceptions.update(known)


cdef object _passes(object one, void *passing):
    return (<uint8_t *>passing)[(<Unique>one).number] != 0


cdef int _number_of(op) except -1:
    if op not in numbers and len(numbers) == SD_NUMBERS - 1:
        raise OverflowError(f"more than {SD_NUMBERS - 1} operations with numbers; expected fewer")
    return numbers.setdefault(op, len(numbers) + 1)


def assign_alike(op):
    """Have walks count objects of an operation that have no shape, before the first such object is made."""
    alike[_number_of(op)] = 1


def add_predicates(type kind, dict known):
    """Give a type attributes that tell whether the operation of an object is one of some names.

    Parameters
    ----------
    kind : type
        A subclass of :class:`Unique`, before the first object of these operations is made.
    known : dict of str to iterable of str
        Names of attributes, and the operations for which each is true.
    """
    cdef int i
    for name, operations in known.items():
        i = <int>len(predicates)
        if i == SD_PREDICATES:
            raise OverflowError(f"more than {SD_PREDICATES} predicates; expected fewer")
        predicates.append(name.encode())
        for op in operations:
            passes[i][_number_of(op)] = 1
        setattr(kind, name, sd_ask(<PyTypeObject *>kind, i, predicates[i], _passes, passes[i]))


def count():
    """Return how many objects there are."""
    return alive


cdef int _show(int i, const char *name, Unique one, void *value) except -1:
    """Show the field that holds a pointer in an otherwise empty object."""
    cdef void **words = <void **><void *>one
    cdef size_t at = sizeof(PyObject) // sizeof(void *)
    while words[at] != value:
        at += 1
    return sd_show(<PyTypeObject *>Unique, i, name, sizeof(void *) * at, 0)


cdef int _show_fields() except -1:
    cdef Unique one = Unique.__new__(Unique)
    cdef char *start = <char *><void *>one
    one.op = one
    _show(0, "op", one, <void *>one)
    one.op, one.payload = None, one
    _show(1, "payload", one, <void *>one)
    one.payload, one.dtype = None, one
    _show(2, "dtype", one, <void *>one)
    one.dtype, one.args = None, (one,)
    _show(3, "args", one, <void *>one.args)
    one.args, one.shape = None, (one,)
    _show(4, "shape", one, <void *>one.shape)
    one.shape = None
    sd_show(<PyTypeObject *>Unique, 5, "settled", <char *>&one.settled - start, 1)
    sd_show(<PyTypeObject *>Unique, 6, "below", <char *>&one.below - start, 2)
    sd_show(<PyTypeObject *>Unique, 7, "tried", <char *>&one.tried - start, 1)
    return 0


_copy()
_show_fields()

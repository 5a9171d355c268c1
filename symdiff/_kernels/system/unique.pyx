"""Objects of which there is one for each description: the nodes of graphs.

A graph holds millions of nodes, and each of them is asked for several times, so a node is one small object and
its place in a table of addresses. The table does not keep a node alive: a node leaves it when its memory is freed.

Whatever may run other code (comparing payloads, allocating memory, which may start the collector) may change the
table, so a search begins again where the table has changed meanwhile. Everything runs with the interpreter's lock.
"""

from zlib import crc32

from cpython.list cimport PyList_Append, PyList_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject, PyTypeObject, PyObject_Hash, PyObject_RichCompareBool, Py_EQ
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_Pack
from cpython.unicode cimport PyUnicode_AsUTF8
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from "system/attributes.h":
    int sd_show(PyTypeObject *type, int i, const char *name, Py_ssize_t offset, int kind) except -1
    ctypedef object (*getter)(object, void *)
    int sd_ask(PyTypeObject *type, int i, const char *name, getter ask, void *about) except -1
    object sd_get(object self, object name, PyTypeObject *type)
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
    first, second
        The arguments where there are at most two, as fields; None where there is none.
    below : int
        The bits of its operation and of all that it is computed from.
    settled, tried : int
        What one may note of it besides.
    """

    def __dealloc__(self):
        _remove(self)

    def __getattribute__(self, name):
        return sd_get(self, name, <PyTypeObject *>Unique)


cdef PyObject **slots = NULL
#: What is in each slot: nothing, an object that is gone, or bits of the key of the one that is there.
cdef uint8_t *tags = NULL
cdef size_t mask = 0
#: Objects of the table, and slots that are not free: those of objects that are gone are used again when it is copied.
cdef size_t alive = 0
cdef size_t taken = 0
cdef uint64_t version = 0


cdef class _Operation:
    """What is known of an operation: bits of ``below``, its number, and what gives the bits that do not hold."""

    cdef uint64_t bits
    cdef uint16_t number
    cdef object exception


#: By name; types of payloads of leaves have bits, too.
cdef dict operations = {}
#: The first bit of ``below`` that an operation has by its name, and operations that have none: most formulas have them.
cdef enum: OWN = 24
_EVERYWHERE = frozenset((
    "input", "constant", "named", "add", "subtract", "multiply", "divide", "negative", "power", "reshape",
))
#: How many have numbers, and for each predicate which numbers it is true of.
cdef int numbered = 0
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
    cdef size_t i, at, count = mask + 1 if slots != NULL else 0
    if new == NULL or told == NULL:
        PyMem_Free(new)
        PyMem_Free(told)
        raise MemoryError
    for i in range(count):
        if tags[i] > SD_GONE:
            at = <size_t>(<Unique>slots[i]).key & (size - 1)
            while told[at] != SD_FREE:
                at = (at + 1) & (size - 1)
            new[at], told[at] = slots[i], tags[i]
    PyMem_Free(slots)
    PyMem_Free(tags)
    slots, tags, mask, taken = new, told, size - 1, alive
    version += 1
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


#: Kinds of elements by number.
cdef list element_kinds = []


cdef int _kind_of(dtype) except -1:
    """Return the number of a kind of elements, which it is given when it comes first."""
    cdef int i
    for i, known in enumerate(element_kinds):
        if known is dtype or known == dtype:
            return i
    if len(element_kinds) == 1 << (COUNT - KIND):
        raise OverflowError(f"{dtype!r} came as a further kind of elements; expected one of {element_kinds}")
    element_kinds.append(dtype)
    return <int>len(element_kinds) - 1


cdef inline bint _equal(a, b) except -1:
    return a is b or PyObject_RichCompareBool(a, b, Py_EQ)


cdef Unique _find(Py_hash_t key, op, tuple args, payload, tuple shape, int kind):
    """Return the object of a description, or None."""
    cdef size_t at = <size_t>key & mask
    cdef uint64_t seen = version
    cdef Unique other
    cdef uint8_t tag = _tag(key)
    while tags[at] != SD_FREE:
        # one that nobody holds waits for its memory to be freed
        if tags[at] == tag and (<Unique>slots[at]).key == key and Py_REFCNT(slots[at]) > 0:
            other = <Unique>slots[at]
            if has_args(other, args) and kind_of(other) == kind and _equal(other.op, op):
                if _equal(other.shape, shape) and _equal(other.payload, payload):
                    return other
            if version != seen:
                return _find(key, op, args, payload, shape, kind)
        at = (at + 1) & mask
    return None


cdef bint _may_close(value):
    """Tell whether a value may be a part of a circle: tuples of numbers and text are not."""
    if not PyObject_IS_GC(<PyObject *>value) or not PyObject_GC_IsTracked(<PyObject *>value):
        return False
    return not isinstance(value, tuple) or any([_may_close(part) for part in <tuple>value])


cdef inline Py_hash_t _mixed(Py_hash_t a, Py_hash_t b) noexcept:
    cdef uint64_t h = (<uint64_t>a ^ (<uint64_t>b + 0x9E3779B97F4A7C15ULL)) * 0xD6E8FEB86659FD93ULL
    return <Py_hash_t>(h ^ (h >> 32))


cpdef Unique unique(type kind, op, tuple args, payload, tuple shape, dtype):
    """Return the one object of a description, an instance of ``kind``, making it when it is new."""
    global alive, taken, version
    cdef Py_ssize_t i, count = PyTuple_GET_SIZE(args)
    cdef Py_hash_t key = _mixed(PyObject_Hash(op), PyObject_Hash(shape))
    cdef uint64_t below = 0
    cdef int elements = _kind_of(dtype)
    cdef uint16_t what = <uint16_t>(elements << KIND | (count if count < SEVERAL else SEVERAL) << COUNT)
    cdef _Operation known
    cdef uint64_t seen
    cdef bint is_tracked = False
    cdef Unique found, fresh
    cdef size_t at
    if payload is not None:
        key = _mixed(key, PyObject_Hash(payload))
    key = _mixed(key, elements)
    for i in range(count):
        key = _mixed(key, <Py_hash_t>PyTuple_GET_ITEM(args, i))
    found = _find(key, op, args, payload, shape, elements)
    if found is not None:
        return found
    for i in range(count):
        found = args[i]
        below |= found.below
        is_tracked = is_tracked or PyObject_GC_IsTracked(<PyObject *>found)
    known = operations.get(op)
    if known is None:
        known = _operation(op)
    below |= known.bits if known.exception is None else known.bits & ~<uint64_t>known.exception(args)
    what |= known.number
    if PyTuple_GET_SIZE(args) == 0:
        known = operations.get(type(payload))
        below |= known.bits if known is not None else 0
    if 4 * (taken + 1) >= 3 * (mask + 1):
        _copy()
    seen = version
    fresh = (<PyTypeObject *>kind).tp_new(kind, <PyObject *>(), NULL)
    is_tracked = is_tracked or _may_close(payload) or _may_close(shape)
    fresh.op, fresh.payload, fresh.shape, fresh.below, fresh.key = op, payload, shape, below, key
    if count >= SEVERAL:
        fresh.first = args
    elif count > 0:
        fresh.first = args[0]
        fresh.second = args[1] if count == 2 else None
    fresh.what = what  # only now: it says what first and second are
    if version != seen:  # what has run meanwhile may have made it
        found = _find(key, op, args, payload, shape, elements)
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
        if count >= SEVERAL and PyObject_GC_IsTracked(<PyObject *>args):
            PyObject_GC_UnTrack(<void *>args)
    return fresh


cpdef mark(Unique one, int level):
    """Note a number below 256 beside an object, as ``settled``."""
    one.settled = level


cpdef mark_tried(Unique one, int level):
    """Note a number below 256 beside an object, as ``tried``."""
    one.tried = level


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
    this = next_walk()  # until the walk ends no other code runs: memory of the path and of the list alone is taken
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
            arg = arg_of(<Unique>step.node, step.following)
            if arg != NULL:
                step.following += 1
                if (<Unique>arg).met == this or (settled and (<Unique>arg).settled >= settled):
                    arg = NULL
                    continue
                (<Unique>arg).met = this
                continue
            node = <Unique>step.node
            if which == 2 and alike[node.what & NUMBER] and PyTuple_GET_SIZE(node.shape) == 0:
                counted[node.what & NUMBER] += 1
            elif which != 1 or node.what >> COUNT == 0:
                PyList_Append(order, node)
            depth -= 1
            if 0 <= most < PyList_GET_SIZE(order):
                return order
            if depth == 0:
                break
    return order


def survey(roots):
    """Return a list of the objects below ``roots`` that no walk counts, and by operation how many others there are."""
    cdef Py_ssize_t kept[SD_NUMBERS]
    cdef list apart = walk(roots, 0, -1, 2)
    memcpy(kept, counted, sizeof(counted))  # before anything else may run, and walk
    return apart, {
        op: kept[(<_Operation>known).number] for op, known in operations.items() if kept[(<_Operation>known).number]
    }


cdef int _grow() except -1:
    global path, room
    cdef size_t more = 2 * room if room else 256
    cdef Step *new = <Step *>PyMem_Realloc(path, more * sizeof(Step))
    if new == NULL:
        raise MemoryError
    path, room = new, more
    return 0


cdef _Operation _operation(op):
    cdef _Operation known = operations.get(op)
    if known is None:
        known = operations[op] = _Operation.__new__(_Operation)
        known.bits = bit_of(op) if isinstance(op, str) else 0
    return known


def bit_of(str op):
    """Return the bit of ``below`` that an operation has by its name, one of those above the kinds that several share."""
    return 0 if op in _EVERYWHERE else 1 << OWN + crc32(op.encode()) % (64 - OWN)


def assign_bits(dict known):
    """Assign bits of ``below`` to operations, and to types of payloads of leaves, before the first such object is made."""
    cdef _Operation operation
    for op, own in known.items():
        operation = _operation(op)
        operation.bits |= <uint64_t>own


def assign_exceptions(dict known):
    """Assign to operations functions of the arguments that give the bits which do not hold of it with these."""
    for op, exception in known.items():
        _operation(op).exception = exception


cdef object _passes(object one, void *passing):
    return (<uint8_t *>passing)[(<Unique>one).what & NUMBER] != 0


cdef object _args(object one, void *unused):
    cdef Unique node = <Unique>one
    cdef int count = node.what >> COUNT
    if count >= SEVERAL:
        return node.first
    return () if count == 0 else PyTuple_Pack(count, <PyObject *>node.first, <PyObject *>node.second)


cdef object _dtype(object one, void *unused):
    return element_kinds[kind_of(<Unique>one)]


cdef int _number_of(op) except -1:
    global numbered
    cdef _Operation known = _operation(op)
    if not known.number:
        if numbered == SD_NUMBERS - 1:
            raise OverflowError(f"more than {SD_NUMBERS - 1} operations with numbers; expected fewer")
        numbered += 1
        known.number = <uint16_t>numbered
    return known.number


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
        sd_ask(<PyTypeObject *>kind, i, predicates[i], _passes, passes[i])


def count():
    """Return how many objects there are."""
    return alive


cdef int _show_fields() except -1:
    """Find the offsets of fields, those of objects by an instance whose fields hold their own names."""
    cdef Unique one = Unique.__new__(Unique)
    cdef char *start = <char *><void *>one
    cdef size_t at, i
    one.op, one.payload, one.first, one.second, one.shape = "op", "payload", "first", "second", ("shape",)
    for i, held in enumerate((one.op, one.payload, one.first, one.second, one.shape)):
        at = 2  # behind the count of references and the type
        while (<void **>start)[at] != <void *>held:
            at += 1
        name = held[0] if held is one.shape else held
        sd_show(<PyTypeObject *>Unique, <int>i, PyUnicode_AsUTF8(name), sizeof(void *) * at, 0)
    sd_show(<PyTypeObject *>Unique, 5, "settled", <char *>&one.settled - start, 1)
    sd_show(<PyTypeObject *>Unique, 6, "below", <char *>&one.below - start, 2)
    sd_show(<PyTypeObject *>Unique, 7, "tried", <char *>&one.tried - start, 1)
    sd_ask(<PyTypeObject *>Unique, SD_PREDICATES, "args", _args, NULL)
    sd_ask(<PyTypeObject *>Unique, SD_PREDICATES + 1, "dtype", _dtype, NULL)


_copy()
_show_fields()

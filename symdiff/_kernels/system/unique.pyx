"""Objects of which there is one for each description (the nodes of graphs), their tables, and sizes of their values.

A graph holds millions of nodes, and each of them is asked for several times, so a node is one small object and
its place in a table of addresses. The table does not keep a node alive: a node leaves it when its memory is freed.

Whatever may run other code (comparing payloads, allocating memory, which may start the collector) may change the
table, so a search begins again where the table has changed meanwhile. Everything runs with the interpreter's lock.

Sizes are those of numbers at many points at once: logarithms, of which products are sums and sums the largest. Rules ask
for the sizes of every part of what they make, so these are C arrays; NumPy takes ten times as long for vectors of this
length. A size may be infinite, and what is made of infinite ones none.
"""

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_Append, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport Py_EQ, PyObject, PyObject_Hash, PyObject_RichCompareBool, PyTypeObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_Pack
from cpython.unicode cimport PyUnicode_AsUTF8
from libc.math cimport fabs
from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset

from array import array as _array
from zlib import crc32

cdef extern from *:
    """
    /* Attributes of a type of which there are many objects, read without a call of Python. */
    #include <stddef.h>
    #include <structmember.h>

    #define SD_PREDICATES 64
    #define SD_NUMBERS 1024
    /* Slots of a table that hold nothing, and those whose object is gone. */
    enum { SD_FREE, SD_GONE };

    static PyMemberDef sd_fields[8];
    static PyGetSetDef sd_computed[SD_PREDICATES + 2];

    /* How an attribute is read, found by the address of its name: Python's own way searches each class for the name, and
     * rules of simplification read a few hundred of them for each node. */
    typedef struct {
      PyObject *name;
      PyTypeObject *type; /* of the objects that have it */
      PyMemberDef *field;
      PyGetSetDef *computed;
    } sd_attribute;

    #define SD_ATTRIBUTES 256
    static sd_attribute sd_attributes[SD_ATTRIBUTES];

    static inline size_t sd_place(PyObject *name)
    {
      return ((size_t)name >> 4) * 0x9E3779B97F4A7C15ULL >> 56;
    }

    /* Put a descriptor among the attributes of a type; the reference to it is stolen. */
    static int sd_put(PyTypeObject *type, PyMemberDef *field, PyGetSetDef *computed, PyObject *descriptor)
    {
      if (descriptor == NULL)
        return -1;
      PyObject *name = PyUnicode_InternFromString(field != NULL ? field->name : computed->name); /* kept for good */
      int failed = name == NULL ? -1 : PyDict_SetItem(type->tp_dict, name, descriptor);
      Py_DECREF(descriptor);
      PyType_Modified(type);
      if (failed)
        return -1;
      size_t at = sd_place(name);
      while (sd_attributes[at].name != NULL)
        at = (at + 1) % SD_ATTRIBUTES;
      sd_attributes[at] = (sd_attribute){name, type, field, computed};
      return 0;
    }

    /* Make a field readable as Python's own slots are. */
    static int sd_show(PyTypeObject *type, int i, const char *name, Py_ssize_t offset, int kind)
    {
      sd_fields[i].name = name;
      sd_fields[i].type = kind == 0 ? T_OBJECT_EX : kind == 1 ? T_UBYTE : T_ULONGLONG;
      sd_fields[i].offset = offset;
      sd_fields[i].flags = READONLY;
      return sd_put(type, &sd_fields[i], NULL, PyDescr_NewMember(type, &sd_fields[i]));
    }

    /* Give a type an attribute that calls a function with the object and a pointer. */
    static int sd_ask(PyTypeObject *type, int i, const char *name, getter ask, void *about)
    {
      sd_computed[i].name = name;
      sd_computed[i].get = ask;
      sd_computed[i].closure = about;
      return sd_put(type, NULL, &sd_computed[i], PyDescr_NewGetSet(type, &sd_computed[i]));
    }

    /* Return an attribute of an instance of ``type`` or of a subclass. */
    static inline PyObject *sd_get(PyObject *self, PyObject *name, PyTypeObject *type)
    {
      for (size_t at = sd_place(name); sd_attributes[at].name != NULL; at = (at + 1) % SD_ATTRIBUTES) {
        sd_attribute *one = &sd_attributes[at];
        if (one->name != name)
          continue;
        if (one->type != type && one->type != Py_TYPE(self))
          break;
        if (one->computed != NULL)
          return one->computed->get(self, one->computed->closure);
        if (one->field->type == T_OBJECT_EX) {
          PyObject *held = *(PyObject **)((char *)self + one->field->offset);
          Py_INCREF(held);
          return held;
        }
        return PyMember_GetOne((char *)self, one->field);
      }
      return PyObject_GenericGetAttr(self, name);
    }
    """
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
#: Content of each slot: nothing, an object that is gone, or bits of the key of the one that is there.
cdef uint8_t *tags = NULL
cdef size_t mask = 0
#: Objects of the table, and slots that are not free: those of objects that are gone are used again when it is copied.
cdef size_t alive = 0
cdef size_t taken = 0
cdef uint64_t version = 0


cdef class _Operation:
    """Facts about an operation: bits of ``below``, its number, and what gives the bits that do not hold."""

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
#: Number of those that have numbers, and for each predicate the numbers that it is true of.
cdef int numbers_taken = 0
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
    global numbers_taken
    cdef _Operation known = _operation(op)
    if not known.number:
        if numbers_taken == SD_NUMBERS - 1:
            raise OverflowError(f"more than {SD_NUMBERS - 1} operations with numbers; expected fewer")
        numbers_taken += 1
        known.number = <uint16_t>numbers_taken
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


cdef array.array _ints = _array("i")


cdef class _Rows:
    """Rows of a table, of which objects with arguments and without shape and payload share those of equal operations."""

    cdef list rows
    cdef dict shared
    #: The operation and kind of elements that was met last, and its row.
    cdef PyObject *op
    cdef int kind
    cdef uint32_t row

    def __cinit__(self):
        self.rows, self.shared = [], {}
        self.op = NULL

    cdef uint32_t add(self, Unique node) except? 0xFFFFFFFF:
        """Return the number of the row of an object."""
        if count_args(node) == 0 or PyTuple_GET_SIZE(node.shape) != 0 or node.payload is not None:
            self.rows.append((node.op, node.payload, node.shape, node.dtype))
            return <uint32_t>(len(self.rows) - 1)
        if <PyObject *>node.op != self.op or kind_of(node) != self.kind:
            key = (node.op, node.dtype)
            row = self.shared.get(key)
            if row is None:
                row = self.shared[key] = len(self.rows)
                self.rows.append((node.op, None, (), node.dtype))
            self.op, self.kind, self.row = <PyObject *>node.op, kind_of(node), <uint32_t>row
        return self.row


def tabulate(roots):
    """Return what tells the objects below ``roots`` apart, and in which order they are put together.

    Returns
    -------
    rows : list of tuple
        Operation, payload, shape and kind of elements. Functions of numbers, of which a formula may have a million,
        share rows.
    order : bytes
        Numbers of 32 bits. For each object, arguments before uses: that of its row, how many arguments it has, and
        which objects they are; then the roots.
    """
    cdef list tops = list(roots), order = walk(tops)
    cdef Py_ssize_t i, k, count = PyList_GET_SIZE(order), length = PyList_GET_SIZE(tops)
    cdef _Rows rows = _Rows()
    cdef uint32_t *of = <uint32_t *>PyMem_Malloc((count or 1) * sizeof(uint32_t))
    cdef uint32_t *at
    cdef Unique node
    if of == NULL:
        raise MemoryError
    try:
        for i in range(count):
            node = <Unique>PyList_GET_ITEM(order, i)
            of[i] = rows.add(node)
            length += 2 + count_args(node)
        told = PyBytes_FromStringAndSize(NULL, length * sizeof(uint32_t))
        at = <uint32_t *>PyBytes_AS_STRING(told)
        for i in range(count):  # from here on no other code runs, which might note places of its own
            node = <Unique>PyList_GET_ITEM(order, i)
            node.place = <uint32_t>i
            at[0], at[1] = of[i], <uint32_t>count_args(node)
            for k in range(count_args(node)):
                at[2 + k] = (<Unique>arg_of(node, k)).place
            at += 2 + count_args(node)
        for i in range(PyList_GET_SIZE(tops)):
            at[i] = (<Unique>PyList_GET_ITEM(tops, i)).place
    finally:
        PyMem_Free(of)
    return rows.rows, told


def numbered(roots):
    """Return every object below ``roots`` once, as ``walk`` does, and their arguments by numbers.

    Returns
    -------
    order : list of Unique
    starts : array of int
        Where the arguments of each object begin, and where those of the last one end.
    args : array of int
        The place of each argument in ``order``.
    tops : array of int
        The places of the roots.
    """
    cdef list tops = list(roots), order = walk(tops)
    cdef Py_ssize_t i, k, count = PyList_GET_SIZE(order), total = 0
    cdef Unique node
    for i in range(count):
        total += count_args(<Unique>PyList_GET_ITEM(order, i))
    cdef array.array starts = array.clone(_ints, count + 1, False), args = array.clone(_ints, total, False)
    cdef array.array top = array.clone(_ints, PyList_GET_SIZE(tops), False)
    cdef int *begin = starts.data.as_ints
    cdef int *places = args.data.as_ints
    total = 0
    for i in range(count):
        node = <Unique>PyList_GET_ITEM(order, i)
        node.place, begin[i] = <uint32_t>i, <int>total
        for k in range(count_args(node)):
            places[total] = <int>(<Unique>arg_of(node, k)).place
            total += 1
    begin[count] = <int>total
    for i in range(PyList_GET_SIZE(tops)):
        top.data.as_ints[i] = <int>(<Unique>PyList_GET_ITEM(tops, i)).place
    return order, starts, args, top


cdef enum:
    #: Points, and how many of them are for all sizes; at the others exponents are compared alone.
    POINTS = 112
    EVERYWHERE = 96


cdef inline double _larger(double a, double b) noexcept:
    return a if a >= b or a != a else b


cdef inline double _smaller(double a, double b) noexcept:
    return a if a <= b or a != a else b


cdef class Sizes:
    """A vector of sizes, which is not changed once it is made."""

    cdef double at[POINTS]

    def __add__(Sizes self, Sizes other):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = self.at[i] + other.at[i]
        return made

    def __sub__(Sizes self, Sizes other):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = self.at[i] - other.at[i]
        return made

    def __mul__(Sizes self, double factor):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = self.at[i] * factor
        return made

    def __truediv__(Sizes self, double divisor):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = self.at[i] / divisor
        return made

    def __neg__(Sizes self):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = -self.at[i]
        return made

    def __abs__(Sizes self):
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = fabs(self.at[i])
        return made

    def everywhere(Sizes self):
        """Return these sizes at the points for all sizes, and 0 at those for exponents alone."""
        cdef Sizes made = Sizes.__new__(Sizes)
        for i in range(POINTS):
            made.at[i] = self.at[i] if i < EVERYWHERE else 0.0
        return made


def drawn(uint64_t seed, double deviation):
    """Return random sizes around 0, sums of twelve numbers each: the same ones for a seed on every machine."""
    cdef Sizes made = Sizes.__new__(Sizes)
    cdef uint64_t state = seed * 0x2545F4914F6CDD1DULL, mixed
    cdef double total
    for i in range(POINTS):
        total = -6.0
        for _ in range(12):  # splitmix64, by Steele, Lea and Flood
            state += 0x9E3779B97F4A7C15ULL
            mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ULL
            mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL
            total += <double>((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53
        made.at[i] = total * deviation
    return made


def repeated(double size):
    """Return one size at all points."""
    cdef Sizes made = Sizes.__new__(Sizes)
    for i in range(POINTS):
        made.at[i] = size
    return made


def larger(Sizes a, Sizes b):
    """Return the larger of two sizes at each point."""
    cdef Sizes made = Sizes.__new__(Sizes)
    for i in range(POINTS):
        made.at[i] = _larger(a.at[i], b.at[i])
    return made


def smaller(Sizes a, Sizes b):
    """Return the smaller of two sizes at each point."""
    cdef Sizes made = Sizes.__new__(Sizes)
    for i in range(POINTS):
        made.at[i] = _smaller(a.at[i], b.at[i])
    return made


cdef class Span:
    """The sizes of a formula, and the largest and smallest ones of all its parts.

    Parameters
    ----------
    size : Sizes
    parts : list of Span
        The spans of the parts.
    adding : bool
        Whether the parts are terms of a sum: one that is small beside the sum may vanish, and so may all of its parts.
    slack : float
        By how much sizes may differ.
    """

    cdef readonly Sizes size, high, low

    def __init__(self, Sizes size, list parts, bint adding, double slack):
        cdef Sizes high = Sizes.__new__(Sizes), low = Sizes.__new__(Sizes)
        cdef Span part
        high.at[:] = size.at[:]
        low.at[:] = size.at[:]
        for part in parts:
            for i in range(POINTS):
                high.at[i] = _larger(high.at[i], part.high.at[i])
                if not (adding and part.size.at[i] < size.at[i] - slack):
                    low.at[i] = _smaller(low.at[i], part.low.at[i])
        self.size, self.high, self.low = size, high, low


cdef inline double _extent(Span span, int i) noexcept:
    return _larger(span.high.at[i], -span.low.at[i])


def leaves(Span old, Span new, list parts, bint adding, double small, double slack):
    """Tell whether a part of what is made leaves the range in which what was written and the result stay.

    Parameters
    ----------
    old, new : Span
    parts : list of Span
        Those of the parts of what is made.
    adding : bool
        Whether these are terms of a sum.
    small, slack : float
        Up to which size all is within the range, and by how much sizes may differ.
    """
    cdef Span part
    cdef double bound, low
    for part in parts:
        for i in range(POINTS):
            bound = _larger(_larger(_extent(old, i), fabs(new.size.at[i])), small) + slack
            low = 0.0 if adding and part.size.at[i] < new.size.at[i] - slack else part.low.at[i]
            if part.high.at[i] > bound or low < -bound:
                return True
    return False


def exceeds(Span one, Span other, double factor, double small):
    """Tell whether exponents of one reach a number of times further than those of another."""
    for i in range(EVERYWHERE, POINTS):
        if not _extent(one, i) <= factor * _extent(other, i) + small:
            return True
    return False

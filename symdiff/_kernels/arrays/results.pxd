"""Results of a call: new arrays, and the lists, tuples and dicts that several of them come back in.

Memory of small arrays is NumPy's. Where there are many, it is from ``cell_memory.h``; that of large ones is memory that
earlier results freed, which ``result_memory.h`` keeps. Functions for ``call.pyx``, compiled into it. A template is what
``symdiff/frontend/outputs.py`` says: the structure with a string for each output.
"""

cimport numpy as cnp

cdef extern from "arrays/cell_memory.h":
    enum: SD_KEEPS
    enum: SD_CELL_MOST
    cnp.PyDataMem_Handler sd_result_memory
    cnp.PyDataMem_Handler sd_cell_memory
    void sd_keep(size_t most) noexcept
    void sd_keep_cells() noexcept
    size_t sd_kept_bytes() noexcept


cdef enum:
    #: Bytes from which the results of one call, together, are large.
    SD_LARGE_RESULTS = 1 << 16
    #: Results of one call from which they are many: NumPy keeps seven pieces of memory of each length.
    SD_MANY_RESULTS = 8


cdef inline object begin_memory(object large, double bytes, Py_ssize_t count):
    """Let NumPy take memory of results, of so many bytes together, from ``large`` where it is not its own; return where
    it took it from, or None where it still does."""
    if SD_KEEPS and (bytes >= SD_LARGE_RESULTS or count >= SD_MANY_RESULTS):
        return cnp.PyDataMem_SetHandler(large)
    return None


cdef inline object next_memory(object now, object usual, object large, object cells, double own, double bytes):
    """Let NumPy take memory of the next array, of ``own`` bytes, from where it is to be; return where that is."""
    cdef object wanted = cells if own <= SD_CELL_MOST else large if bytes >= SD_LARGE_RESULTS else usual
    if wanted is not now:
        cnp.PyDataMem_SetHandler(wanted)
    return wanted


cdef inline int end_memory(object usual) except -1:
    """Let NumPy take its usual memory again, if :func:`begin_memory` returned it."""
    if usual is not None:
        cnp.PyDataMem_SetHandler(usual)
    return 0


cdef inline list make_arrays(shapes, bint single, object large, object cells):
    """Return arrays of float64 or float32."""
    cdef cnp.npy_intp lengths[64]
    cdef double own, together = 0
    cdef int axis
    cdef list arrays = [], bytes = []
    cdef object usual, memory = large, shape
    for shape in shapes:
        if len(shape) > 64:
            raise ValueError(f"an array of {len(shape)} axes")
        own = 4 if single else 8
        for axis in range(len(shape)):
            own *= shape[axis]
        bytes.append(own)
        together += own
    usual = begin_memory(large, together, len(bytes))
    try:
        for shape, own in zip(shapes, bytes, strict=True):
            for axis in range(len(shape)):
                lengths[axis] = shape[axis]
            if usual is not None:
                memory = next_memory(memory, usual, large, cells, own, together)
            arrays.append(cnp.PyArray_EMPTY(len(shape), lengths, cnp.NPY_FLOAT32 if single else cnp.NPY_FLOAT64, 0))
    finally:
        end_memory(usual)
    return arrays


cdef inline object pack(object template, list results, Py_ssize_t *at):
    """Return the structure with the results from number ``at`` on in place of the strings."""
    cdef list parts
    cdef dict named
    cdef object name, part
    if type(template) is dict:
        named = {}
        for name, part in (<dict>template).items():
            named[name] = pack(part, results, at)
        return named
    if type(template) is tuple or type(template) is list:
        parts = []
        for part in template:
            parts.append(pack(part, results, at))
        return parts if type(template) is list else tuple(parts)
    if type(template) is not str:  # a record, which knows how to be made
        parts = []
        for part in template.parts:
            parts.append(pack(part, results, at))
        return template.make(parts)
    at[0] += 1
    return results[at[0] - 1]


cdef inline bint unpack(object template, object value, list parts):
    """Append the parts of a value in order; tell whether it has the structure, in dicts, lists and tuples alone."""
    cdef object name, part
    cdef Py_ssize_t k
    if type(template) is dict:
        if type(value) is not dict or len(<dict>value) != len(<dict>template):
            return False
        for name, part in (<dict>template).items():
            if name not in <dict>value or not unpack(part, (<dict>value)[name], parts):
                return False
        return True
    if type(template) is tuple or type(template) is list:
        if (type(value) is not tuple and type(value) is not list) or len(value) != len(template):
            return False
        for k in range(len(template)):
            if not unpack(template[k], value[k], parts):
                return False
        return True
    if type(template) is not str:
        return False
    parts.append(value)
    return True

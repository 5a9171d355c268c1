"""Results of a call: new arrays, and the lists, tuples and dicts that several of them come back in.

Small arrays are from NumPy's memory, large ones from memory that earlier results freed, which
``result_memory.h`` keeps. Functions for ``call.pyx``, compiled into it. A template is what
``symdiff/frontend/outputs/structure.py`` says: the structure with a string for each output.
"""

cimport numpy as cnp

cdef extern from "arrays/result_memory.h":
    enum: SD_KEEPS
    cnp.PyDataMem_Handler sd_result_memory
    void sd_keep(size_t most) noexcept
    size_t sd_kept_bytes() noexcept


cdef enum:
    #: Bytes from which the results of one call, together, are large.
    SD_LARGE_RESULTS = 1 << 16


cdef inline object begin_large(object handler, double elements, bint single):
    """Let NumPy take the memory of large results from what is kept; return its usual memory, or None for small ones."""
    if not SD_KEEPS or elements * (4 if single else 8) < SD_LARGE_RESULTS:
        return None
    return cnp.PyDataMem_SetHandler(handler)


cdef inline int end_large(object usual) except -1:
    """Let NumPy take its usual memory again, if :func:`begin_large` returned it."""
    if usual is not None:
        cnp.PyDataMem_SetHandler(usual)
    return 0


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

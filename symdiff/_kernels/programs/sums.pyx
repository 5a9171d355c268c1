"""Sums of a tape: how often values are read, which sums have a factor in common, and the values made again."""

from cpython cimport array
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int32_t, uint8_t

from symdiff._kernels.programs.tape cimport CONST, LOAD, SEVERAL, Tape

from array import array as _array

cdef array.array _ints = _array("i")
#: Terms of a sum that are looked at.
cdef enum:
    TERMS = 64
#: Kinds of operations.
cdef enum:
    PRODUCT = 1
    QUOTIENT = 2
    NEGATION = 3
    SUM = 4


def count_uses(Tape tape not None, array.array roots, bytes sums):
    """Count how often each value is read by what some values need.

    Parameters
    ----------
    tape : Tape
    roots : array of int
        Values that are read besides, each once.
    sums : bytes
        For each operation whether it is a sum.

    Returns
    -------
    uses : array of int
    inside : bytearray
        Whether the only use of a value is in a sum.
    """
    cdef array.array found = array.clone(_ints, tape.count, True)
    cdef int32_t *uses = <int32_t *>found.data.as_ints
    cdef inside = bytearray(tape.count)
    cdef uint8_t *within = <uint8_t *>PyByteArray_AS_STRING(inside)
    cdef const uint8_t *is_sum = <const uint8_t *>PyBytes_AS_STRING(sums)
    cdef Py_ssize_t v, k
    cdef int32_t a
    if len(sums) != len(tape.names):
        raise ValueError(f"{len(sums)} kinds of {len(tape.names)} operations")
    for k in range(len(roots)):
        a = <int32_t>roots.data.as_ints[k]
        if not 0 <= a < tape.count:
            raise IndexError(f"value {a} of {tape.count}")
        uses[a] += 1
    for v in range(tape.count - 1, -1, -1):
        if uses[v] and tape.codes[v] != LOAD:
            for k in range(tape.starts[v], tape.starts[v + 1]):
                a = tape.operands[k]
                uses[a] += 1
                within[a] = is_sum[tape.codes[v]] and uses[a] == 1
    return found, inside


def sums_to_search(Tape tape not None, array.array uses, inside, bytes kinds, int longest):
    """Return the sums that are no terms of another sum and of which two terms have a factor or a divisor in common.

    Parameters
    ----------
    tape : Tape
    uses, inside
        As :func:`count_uses` gives them.
    kinds : bytes
        For each operation 1 if it is a product, 2 a quotient, 3 a negation, 4 a sum, 5 a difference, else 0.
    longest : int
        Terms of the longest sum that is looked at, at most 64.
    """
    cdef const uint8_t *within = <const uint8_t *>PyByteArray_AS_STRING(inside)
    cdef const uint8_t *kind = <const uint8_t *>PyBytes_AS_STRING(kinds)
    cdef const int32_t *used = <const int32_t *>uses.data.as_ints
    cdef Py_ssize_t v
    cdef list found = []
    if len(kinds) != len(tape.names) or len(uses) > tape.count or len(inside) != len(uses):
        raise ValueError("counts of another tape")
    for v in range(len(uses)):
        if used[v] and kind[tape.codes[v]] >= SUM and not within[v]:
            if _shares(tape, <int32_t>v, used, kind, min(longest, TERMS)):
                found.append(v)
    return found


cdef bint _shares(Tape tape, int32_t root, const int32_t *used, const uint8_t *kind, int longest) noexcept:
    """Tell whether two terms of a sum have a factor or a divisor in common, whichever can be factored out."""
    cdef int32_t[TERMS + 2] stack
    cdef int32_t[4 * TERMS] factors
    cdef int depth = 1, terms = 0, count = 0, begin, i, k
    cdef int32_t v
    cdef const int32_t *args
    stack[0] = root
    while depth:
        depth -= 1
        v = stack[depth]
        args = tape.operands + tape.starts[v]
        if kind[tape.codes[v]] >= SUM and (v == root or used[v] == 1):
            if depth + terms + 2 > longest:
                return False
            stack[depth], stack[depth + 1] = args[1], args[0]
            depth += 2
        elif kind[tape.codes[v]] == NEGATION and used[v] == 1:
            stack[depth] = args[0]
            depth += 1
        else:
            begin = count
            count += _factors(tape, v, used, kind, factors + count)
            for i in range(begin, count):
                for k in range(begin):
                    if factors[k] == factors[i]:
                        return True
            terms += 1
    return False


cdef int _factors(Tape tape, int32_t v, const int32_t *used, const uint8_t *kind, int32_t *found) noexcept:
    """Write what can be factored out of a term: a factor as it is, a divisor as what is below -1."""
    cdef int count = 0, k
    cdef int32_t a
    cdef const int32_t *args = tape.operands + tape.starts[v]
    cdef const int32_t *inner
    if used[v] != 1 or kind[tape.codes[v]] not in (PRODUCT, QUOTIENT):
        return 0
    if kind[tape.codes[v]] == QUOTIENT:
        found[0] = -2 - args[1]
        return 1
    for k in range(2):
        a = args[k]
        if tape.codes[args[1 - k]] != CONST or used[a] != 1 or kind[tape.codes[a]] not in (PRODUCT, QUOTIENT):
            found[count] = a
            count += 1
        elif kind[tape.codes[a]] == QUOTIENT:
            found[count] = -2 - tape.operands[tape.starts[a] + 1]
            count += 1
        else:
            inner = tape.operands + tape.starts[a]
            found[count], found[count + 1] = inner[0], inner[1]
            count += 2
    return count


def renumber(Tape tape not None, Py_ssize_t first, Py_ssize_t last, array.array uses, array.array new):
    """Make values again whose operands have new numbers, from ``first`` to before ``last``.

    Parameters
    ----------
    tape : Tape
    first, last : int
    uses : array of int
        Values that are not used are left out.
    new : array of int
        Receives the new number of each value.
    """
    cdef const int32_t *used = <const int32_t *>uses.data.as_ints
    cdef int32_t *number = <int32_t *>new.data.as_ints
    cdef int32_t[SEVERAL] own
    cdef Py_ssize_t v, k, arity
    cdef bint moved
    if not 0 <= first <= last <= min(len(uses), len(new)) <= tape.count:
        raise ValueError("counts of another tape")
    for v in range(first, last):
        if used[v] and tape.codes[v] > CONST:
            moved, arity = False, tape.starts[v + 1] - tape.starts[v]
            for k in range(arity):
                own[k] = tape.operands[tape.starts[v] + k]
                if number[own[k]] != own[k]:
                    own[k], moved = number[own[k]], True
            if moved:
                number[v] = <int32_t>tape._value(tape.codes[v], own, arity)

"""The exponential of any square matrix, by scaling, Padé's approximant of degree 13, and squaring (Higham 2005).

How often is squared depends on the numbers: a loop goes over the most, and squares as often as the norm asks for. The
scale is held fixed in derivatives, since the exponential does not depend on it. Derivatives are those of the
approximant, which agree with those of the exponential as it does (Al-Mohy and Higham 2009, section 4).
"""

from __future__ import annotations

from math import nan

from ....errors import ShapeError
from ....graph import (
    Node,
    broadcast_to,
    canonical,
    concatenate,
    delta,
    matrix,
    parts_of,
    placeholder,
    recurrence,
    reshape,
    result_of,
    step_number,
    stop_gradient,
    zeros,
)
from ....graph import matmul as stack_matmul
from ....graph.primitives import Body
from ....graph.scalars.functions import apply, compare, to_real, where
from ....graph.sizes import show
from .. import reductions
from ..indexing import getitem

#: Norm up to which the approximant is exact to double precision, and how often is squared at most.
THETA, SQUARINGS = 5.371920351148152, 12
#: Coefficients of the numerator, the constant one first.
PADE = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0),
    *(10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0),
)


def general_expm(x: Node) -> Node:
    """Return the exponential of a square matrix, or of a stack of them; nan where the 1-norm is above 22,000."""
    x = to_real(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"expm of an array of shape {show(x.shape)}; expected a square matrix (or a stack of them)")
    lead = x.shape[:-2]
    norm = stop_gradient(reductions.max(reductions.sum(apply("abs", x), -2), -1))
    # as many halvings as bring the norm below THETA
    times = apply("maximum", apply("ceil", apply("log2", norm / THETA)), 0.0)
    known = where(compare("less_equal", times, float(SQUARINGS)), 1.0, nan)
    scale = reshape(stop_gradient(apply("exp2", -apply("minimum", times, float(SQUARINGS)))), (*lead, 1, 1))
    squared = _squared(_approximant(apply("multiply", x, scale)), stop_gradient(times))
    return apply("multiply", squared, reshape(known, (*lead, 1, 1)))


def _approximant(x: Node) -> Node:
    b = PADE
    one = broadcast_to(delta(x.shape[-1], x.shape[-1]), x.shape)
    two = stack_matmul(x, x)
    four = stack_matmul(two, two)
    six = stack_matmul(four, two)

    def combined(*terms: tuple[float, Node]) -> Node:
        total = None
        for coefficient, power in terms:
            part = power if coefficient == 1.0 else coefficient * power
            total = part if total is None else total + part
        assert total is not None
        return total

    high = stack_matmul(six, combined((b[13], six), (b[11], four), (b[9], two)))
    odd = stack_matmul(x, high + combined((b[7], six), (b[5], four), (b[3], two), (b[1], one)))
    high = stack_matmul(six, combined((b[12], six), (b[10], four), (b[8], two)))
    even = high + combined((b[6], six), (b[4], four), (b[2], two), (b[0], one))
    return matrix("solve", even - odd, even + odd)


def _squared(x: Node, times: Node) -> Node:
    """Square a matrix so many times, a number for each of a stack."""
    carried, held = placeholder(("matrix",), x.shape), placeholder(("times",), times.shape)
    again = reshape(compare("less", broadcast_to(step_number(), times.shape), held), (*times.shape, 1, 1))
    body = canonical(Body((carried,), (), (held,), (where(again, stack_matmul(carried, carried), carried),)))
    loop = recurrence(body, [x, times], SQUARINGS)
    return result_of(loop, parts_of(loop)[0])


def expm_frechet(a: Node, e: Node) -> tuple[Node, Node]:
    """Return the exponential of ``a`` and its derivative in the direction ``e``, from that of [[a, e], [0, a]]."""
    a, e = to_real(a), to_real(e)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or e.shape != a.shape:
        raise ShapeError(
            f"expm_frechet of shapes {show(a.shape)} and {show(e.shape)}; expected square matrices of one shape"
        )
    n = a.shape[0]
    upper, lower = concatenate([a, e], 1), concatenate([zeros(a.shape), a], 1)
    both = general_expm(concatenate([upper, lower], 0))
    first, last = slice(None, n), slice(n, None)
    return getitem(both, (first, first)), getitem(both, (first, last))

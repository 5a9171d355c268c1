"""The reference implementation of every backend, slow and obvious: a program run value by value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
from scipy import special

from symdiff.errors import SingularMatrixError
from symdiff.graph.primitives import complete
from symdiff.graph.reference.interpret import find_function
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.lowering.program import SIGNATURES, Program


def evaluate(program: Program, inputs: Sequence[npt.ArrayLike]) -> list[npt.NDArray[np.float64]]:
    """Run ``program`` on one sample, operation by operation, with NumPy and SciPy scalars.

    Parameters
    ----------
    program : Program
    inputs : sequence of array-like
        One array of the port's shape for each input.

    Returns
    -------
    list of ndarray of float64
        One array for each output.

    Raises
    ------
    SingularMatrixError
        When a checked value is zero.
    """
    flat = [np.asarray(x, dtype=np.float64).reshape(port.size) for x, port in zip(inputs, program.inputs, strict=True)]
    values: list[float] = []
    with np.errstate(all="ignore"):
        for i, (op, args) in enumerate(zip(program.ops, program.args, strict=True)):
            if op == "const":
                values.append(program.consts[i])
            elif op == "load":
                values.append(float(flat[args[0]][args[1]]))
            else:
                values.append(float(TWINS[op](*(np.float64(values[a]) for a in args))))
    for value, message in program.checks:
        if values[value] == 0:
            raise SingularMatrixError(message)
    return [
        np.array([values[v] for v in store], dtype=np.float64).reshape(port.shape)
        for port, store in zip(program.outputs, program.stores, strict=True)
    ]


def _fma(a: Any, b: Any, c: Any) -> Any:
    # The exact product and sum of the long double are rounded once more: the reference of a fused
    # operation to within one unit in the last place.
    return np.longdouble(a) * np.longdouble(b) + np.longdouble(c)


def _fraction(x: Any) -> Any:
    if np.isnan(x):
        return x
    return np.copysign(2 * math.frexp(abs(x))[0] if 0 < abs(x) < np.inf else 1.0, x)


def _exponent(x: Any) -> Any:
    return math.frexp(x)[1] - 1 if 0 < abs(x) < np.inf else np.log(abs(x))


def _power(x: Any, y: Any) -> Any:
    # With a scalar exponent of 0.5 NumPy takes the square root, which is nan at -inf.
    return np.power(np.array([x]), np.array([y]))[0]


def _polygamma(order: Any, x: Any) -> Any:
    if x > 0 or order == 0 or not np.isfinite(x):
        return special.polygamma(int(order), x)
    if x == 0 or x == np.floor(x):
        # Poles: of one sign on both sides for odd orders, of two for even ones.
        return np.inf if order % 2 else np.copysign(np.inf, -x) if x == 0 else np.nan
    with mpmath.workdps(300):
        return float(mpmath.polygamma(int(order), mpmath.mpf(float(x))))


#: What each operation does to NumPy scalars.
TWINS: dict[str, Callable[..., Any]] = {
    **{row.c: find_function(row.numpy) for row in FUNCTIONS.values() if row.c},
    "copysign": np.copysign,
    "fraction": _fraction,
    "exponent": _exponent,
    "power": _power,
    # SciPy's erfc loses digits beyond 5 and is 0 too early.
    "erf": math.erf,
    "erfc": math.erfc,
    "polygamma": _polygamma,
    "spherical_jn": lambda order, x: special.spherical_jn(int(order), x),
    "fma": _fma,
    "to_real": lambda mask: mask,
    "where": lambda mask, a, b: a if mask else b,
}
complete(TWINS, __name__, SIGNATURES)

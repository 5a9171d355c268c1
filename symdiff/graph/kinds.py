"""Questions about the operation of a node, and kinds of operations that occur in a formula.

:data:`PREDICATES` are attributes of a node, such as ``node.is_input``, for what several stages ask: no stage compares
the name of such an operation itself.

A kind is a group of operations, and a bit of ``Node.below``: the bit is set where the node, or any node below it, is
of the kind. Most passes and rules are about a few operations that most formulas lack, and the bits tell them without a
walk that there is nothing to do. A bit does not tell which operation it is, or where. Above the kinds each operation
has a bit by its name, :func:`bit_of`, which it shares with a few others at random.
"""

from __future__ import annotations

from typing import Any

from .._kernels.system.unique import assign_bits, assign_exceptions, bit_of
from .primitives import FALLIBLE, SELECTING, Declared, Placeholder

__all__ = [
    "ABSOLUTE",
    "BRANCHING",
    "BY_ARGUMENTS",
    "CHOICE",
    "CONTRACTED",
    "DECLARED",
    "DIRECTION",
    "EIGENVECTORS",
    "EVEN",
    "EXPANDED",
    "EXPONENTIAL",
    "FAILING",
    "INLINED",
    "INVERSE",
    "LOGARITHM",
    "LOGARITHMS",
    "LOG_SUM",
    "OF_SQUARE",
    "PREDICATES",
    "QUOTIENT",
    "REPEATED",
    "SHARES",
    "SPECTRUM",
    "TAIL",
    "TAKEN",
    "VANISHING",
    "WRAPPER",
    "bit_of",
    "holds",
    "note",
]

#: Attributes of :class:`~.nodes.Node` that tell of which operation it is, and the operations for which each is true.
PREDICATES = {
    "is_input": ("input",),
    "is_constant": ("constant",),
    "is_size": ("size",),
    "is_delta": ("delta",),
    "is_onehot": ("onehot",),
    "is_contraction": ("contract",),
    "is_slice": ("slice",),
    "is_pad": ("pad",),
    "is_gather": ("gather",),
    "is_reshape": ("reshape",),
    "is_concatenation": ("concatenate",),
    "is_named": ("named",),
    "is_barrier": ("stop_gradient",),
    "is_custom": ("custom",),
    "is_recurrence": ("recurrence",),
    "is_multiplication": ("multiply",),
    "is_division": ("divide",),
    "is_multiplicative": ("multiply", "divide"),
    "is_addition": ("add",),
    "is_subtraction": ("subtract",),
    "is_additive": ("add", "subtract"),
    "is_negation": ("negative",),
    "is_power": ("power",),
    "is_root": ("sqrt",),
    "is_choice": ("where",),
}

#: Operations that inlining replaces by what they are made of: no stage after it meets them.
INLINED = ("named", "stop_gradient", "custom", "spectral", "isotropic", "expm", "pinv")

#: Functions of numbers that take longer for some arguments than for others; nodes of all others are counted together.
BY_ARGUMENTS = frozenset(("power",))

#: Operations that are written in terms of others: names, barriers, custom functions and functions of matrices; and
#: recurrences, whose bodies may hold them.
WRAPPER = 1
#: Operations that may raise.
FAILING = 2
#: Choices between two formulas.
CHOICE = 4
#: Operations through which a derivative may be a strong zero: functions with supports, and a few of arrays.
BRANCHING = 8
#: Operations that hold an exponential in a form of their own.
EXPONENTIAL = 16
#: Functions that vanish at 0, or do so less the beginning of their series.
VANISHING = 32
#: Operations that divide by an argument, or may; powers by 0 and whole numbers above do not.
INVERSE = 64
#: Functions that a scalar program has no operation for.
EXPANDED = 128
#: Quotients that are functions of the square of their argument.
OF_SQUARE = 256
#: Inputs of whose numbers something is declared, and those that may stand for one.
DECLARED = 512
#: Recurrences, whose bodies are formulas of their own.
REPEATED = 1024
#: Eigenvalues.
SPECTRUM = 2048
#: Shares, which add up to 1.
SHARES = 4096
#: Functions divided by their argument, such as sin(x) / x, and their derivatives.
QUOTIENT = 8192
#: Logarithms, of one number or of a product of two.
LOGARITHM = 16384
LOGARITHMS = ("log", "log1p", "log_product", "log_quotient")
#: Products that may be summed along axes.
CONTRACTED = 32768
#: Eigenvectors.
EIGENVECTORS = 65536
#: Absolute values.
ABSOLUTE = 131072
#: Directions of vectors.
DIRECTION = 262144
#: Integrals of the normal density from one side.
TAIL = 524288
#: Logarithms of sums of exponentials along axes.
LOG_SUM = 1048576
#: Quotients that are even functions of their argument.
EVEN = 2097152
#: Parts of arrays: slices, and what is at listed positions and at those that a call brings.
TAKEN = 4194304

_ORDERS = {
    **{"sin": (1, 3, 5), "cos": (2, 4), "sinh": (1, 3), "cosh": (2, 4), "exp": (1, 2, 3), "log1p": (1, 2)},
    **dict.fromkeys(("arctan", "arcsin", "arcsinh", "arctanh"), (1, 3)),
    **{"erf": (1,), "j1": (1,), "i1": (1,), "tan": (1, 3), "tanh": (1, 3)},
    **{"dawsn": (1, 3), "si": (1, 3)},
}
_REMAINDERS = [f"{name}_remainder_{order}" for name, orders in _ORDERS.items() for order in orders]
_REMAINDERS += ["bernoulli_quotient", "csch_quotient"]
_UNEVEN = ("exp", "log1p", "bernoulli")
_EVENS = [name for name in _REMAINDERS if not name.startswith(_UNEVEN)]
_OF_SQUARES = [f"{name}_of_square" for name in _EVENS]
_SHAPES = [
    *("exp", "expm1", "cosh", "sinh", "sech", "csch", "sigmoid", "sigmoid_slope", "exp_gap", "exp_share"),
    *("bernoulli_quotient", "csch_quotient"),
]
_OPERATIONS = {
    WRAPPER: [*INLINED, "recurrence"],
    FAILING: [*FALLIBLE],
    CHOICE: ["where"],
    SHARES: ["softmax"],
    BRANCHING: [*SELECTING, "custom"],
    REPEATED: ["recurrence"],
    EXPONENTIAL: [*_SHAPES, "csch_quotient_of_square"],
    VANISHING: [
        *("sin", "cos", "tan", "tanh", "arcsin", "arctan", "arcsinh", "arctanh", "erf", "log1p", "sqrt"),
        *("hypot", "power", "exp2", "j1", "i1", "dawsn", "si"),
        *(*_SHAPES, *_REMAINDERS, *_OF_SQUARES),
    ],
    INVERSE: [
        *("divide", "power", "unit", "csch", "exp_share", *_REMAINDERS[-2:], "csch_quotient_of_square"),
        *("lorentzian", "direction_cos", "direction_sin", "inversion_x", "inversion_y"),
    ],
    OF_SQUARE: _OF_SQUARES,
    QUOTIENT: [f"{name}_remainder_1" for name, orders in _ORDERS.items() if 1 in orders],
    SPECTRUM: ["eigvalsh"],
    LOGARITHM: [*LOGARITHMS],
    CONTRACTED: ["contract"],
    EIGENVECTORS: ["eigenvectors"],
    ABSOLUTE: ["abs"],
    DIRECTION: ["unit", "direction_cos", "direction_sin"],
    TAIL: ["ndtr", "erfc"],
    LOG_SUM: ["logsumexp"],
    EVEN: _EVENS,
    TAKEN: ["slice", "gather", "take"],
}


_noted: dict[str, int] = {}
for _kind, _names in _OPERATIONS.items():
    _noted.update((op, _noted.get(op, 0) | _kind) for op in _names)
assign_bits(_noted)


def _of_power(args: tuple[Any, ...]) -> int:
    """Return the kinds of a power that do not hold for its exponent: a whole number from 0 on divides by nothing."""
    exponent = args[1]
    value = float(exponent.value) if exponent.is_constant and exponent.shape == () else -1.0
    return INVERSE if value >= 0.0 and value.is_integer() else 0


assign_exceptions({"power": _of_power})
assign_bits({Declared: DECLARED, Placeholder: DECLARED})


def holds(op: str) -> int:
    """Return the kinds of an operation."""
    return _noted.get(op, 0)


def note(op: str, kind: int) -> None:
    """Add a kind to an operation, as its row in a table tells, before the first node of it is made."""
    _noted[op] = holds(op) | kind
    assign_bits({op: _noted[op]})

"""The table of primitives: one row an array operation of the graph, read by every stage.

A row says what is true of an operation wherever it is met: what makes it, what its payload is, whether
it is linear, along which axes it mixes elements, what it costs, whether it may fail, what it means in
NumPy and how it is written. What a stage does with it (a differential, a loop, a line of C) is a table
of the stage, and :func:`complete` compares the two when the stage is imported: an operation that lacks a
piece is named then, and never met first by a user's call.

Functions of numbers, which act element by element, have a table of their own:
:mod:`symdiff.graph.scalars.functions`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from ..errors import InternalError
from .sizes import Dim, Shape

#: An index of a contraction, and those of one operand, one an axis.
Label: TypeAlias = int
Labels: TypeAlias = tuple[Label, ...]
#: One axis of a slice: (start, step, length); a length of None takes one index and drops the axis.
Item: TypeAlias = tuple[Dim, int, Dim | None]


# ---------------------------------------------------------------------------- payloads


class Assumptions(NamedTuple):
    """Facts about the numbers of an input: of its elements, or of the matrices in its last two axes.

    What follows from a fact is noted as well: definite and diagonal matrices are symmetric, diagonal ones
    triangular both ways, correlations definite; elements of a simplex are positive.
    :func:`symdiff.frontend.shapes.assume` makes and checks these records.
    """

    symmetric: bool = False
    skew: bool = False
    diagonal: bool = False
    lower: bool = False
    upper: bool = False
    definite: bool = False
    orthogonal: bool = False
    positive: bool = False
    between: tuple[float, float] | tuple[()] = ()
    simplex: bool = False
    ordered: bool = False
    correlation: bool = False

    @property
    def of_matrices(self) -> Assumptions:
        """Facts about matrices alone, without those about elements and last axes."""
        return self._replace(positive=False, between=(), simplex=False, ordered=False)

    @property
    def space(self) -> str:
        """The linear space that the matrices lie in: "symmetric", "skew", "diagonal", "lower", "upper" or ""."""
        for name in ("diagonal", "symmetric", "skew", "lower", "upper"):
            if getattr(self, name):
                return name
        return ""


#: Facts of most inputs: none.
NOTHING_KNOWN = Assumptions()


class Declared(NamedTuple):
    """The payload of an input of whose numbers something is known."""

    name: str
    assumptions: Assumptions


class Placeholder(NamedTuple):
    """The payload of an input that no user can name, and the text of what it stands for."""

    key: object
    assumptions: Assumptions = NOTHING_KNOWN
    text: str = ""


class Contraction(NamedTuple):
    """Labels of each operand and of the result, and the sizes of labels that the result alone has."""

    labels: tuple[Labels, ...]
    out: Labels
    repeated: tuple[tuple[Label, Dim], ...]


class Diagonal(NamedTuple):
    """Place of the 1 in a row of a delta: at ``start + step * row``."""

    start: Dim
    step: int


class Place(NamedTuple):
    """Place of the 1 in a unit vector."""

    at: Dim


class Extent(NamedTuple):
    """The size that is used as a number."""

    size: Dim


class Items(NamedTuple):
    """A regular part of each axis."""

    items: tuple[Item, ...]


class Picks(NamedTuple):
    """Positions of one axis (negative), with repeats."""

    axis: int
    indices: tuple[int, ...]


class Taken(NamedTuple):
    """The axis (negative) that positions known at call time are of, and how many axes before it have their own."""

    axis: int
    shared: int


class Axes(NamedTuple):
    """Axes (negative, sorted) over which elements are taken together."""

    axes: tuple[int, ...]


class Along(NamedTuple):
    """The axis (negative) along which is accumulated, and whether from its end."""

    axis: int
    reverse: bool


class Joint(NamedTuple):
    """The axis (negative) along which arrays are joined."""

    axis: int


class Half(NamedTuple):
    """The part of a matrix on and above, or on and below, a diagonal."""

    upper: bool
    offset: int


class Authored(NamedTuple):
    """The derivative an author gives (:class:`symdiff.calculus.rules.CustomRule`), and the value as a formula."""

    rule: Any
    body: Any


class Opaque(NamedTuple):
    """A function of numbers that Python calls, of which no formula tells anything.

    ``axes`` are those of each argument of one call, and ``shape`` that of its value; axes in front of them are calls of
    their own. ``batched`` functions take them all at once. ``linear`` are the arguments in which the value is linear
    together. A function that ``reads`` writes to none of its arguments, which are not copied for it, and may write its
    value to ``out``.
    """

    name: str
    function: Any
    shape: Shape
    axes: tuple[int, ...]
    batched: bool = False
    linear: tuple[int, ...] = ()
    reads: bool = False


class Body(NamedTuple):
    """One step of a recurrence as formulas, whose inputs are placeholders of its own.

    ``carried`` are what the step before gave, ``read`` is one row of each array that is run along, ``held`` are the
    same in each step. ``results`` are what is carried on, and then what is written down in each step. The placeholder
    of :func:`symdiff.graph.structural.step_number` is the number of the step. Nothing else from outside is in it.
    """

    carried: tuple[Any, ...]
    read: tuple[Any, ...]
    held: tuple[Any, ...]
    results: tuple[Any, ...]


class Recurrence(NamedTuple):
    """A body, how many steps there are, and whether the last row of what is read comes first."""

    body: Body
    length: Dim
    reverse: bool


class Spectral(NamedTuple):
    """A function of a symmetric matrix, or the derivative of one.

    ``function`` is a formula of one eigenvalue and of ``parameters`` numbers, ``weights`` its divided difference over
    one eigenvalue more than there are directions: :mod:`symdiff.calculus.spectra.divided_differences`.
    """

    name: str
    function: Any
    weights: Any
    parameters: int


class Isotropic(NamedTuple):
    """A function V diag(g) V^T of a symmetric matrix and all its eigenvalues, or its differential along a direction.

    ``function`` is g as a formula of all eigenvalues and of ``parameters`` arrays, ``slopes`` its derivative by the
    eigenvalues: of a stack by those of each matrix alone, where g depends on no others. ``nulls`` is None but for
    [[0, B], [B^T, 0]]: the number of zeros that all such matrices have. ``transposed`` turns the differential around,
    where the slopes are not symmetric.
    """

    function: Any
    slopes: Any
    parameters: int
    nulls: int | None = None
    transposed: bool = False

    @property
    def is_by_matrix(self) -> bool:
        """True where g of each matrix depends on its own eigenvalues alone."""
        return bool(self.slopes.ndim == self.function.ndim + 1)


# ---------------------------------------------------------------------------- rows


class Linearity(Enum):
    """In which arguments an operation is linear."""

    NO = "in none"
    TOGETHER = "in all at once: the image of a sum is the sum of the images"
    EACH = "in each, while the others stay"
    FIRST = "in the first alone; with the others it changes in jumps"
    SECOND = "in the second alone"


class Mixes(Enum):
    """Which elements of an argument an element of the result is computed from."""

    NOTHING = "at most one: elements are moved, and are not computed with"
    AXES = "all along the axes of the payload"
    AXIS = "those along the one axis of the payload"
    SO_FAR = "those along the one axis of the payload, up to its own place"
    MATRIX = "all of a matrix, in the last two axes"
    LABELS = "as the labels say"
    UNKNOWN = "any"


class Zeros(Enum):
    """Which elements of an argument have to be 0 for an element of the result to be 0 whatever the others are."""

    UNKNOWN = "nothing is known"
    OWN = "the one at its own place"
    ANY = "one of those that it is computed from"
    ALL = "all of those that it is computed from"


class Cost(Enum):
    """Cost of an element of the result."""

    FREE = "nothing, and nothing is known of its zeros"
    STRUCTURE = "nothing: zeros and ones by arithmetic on indices"
    VIEW = "nothing: memory is read in another way"
    MOVE = "a copy"
    PRODUCT = "the products and sums that the labels say"
    CALL = "a function call for each element of argument or result"
    CUBIC = "the third power of a matrix's size for the whole"


class Primitive(NamedTuple):
    """One array operation.

    Parameters
    ----------
    name : str
        What :attr:`Node.op` is.
    constructor : str
        The function of :mod:`symdiff.graph` that makes it; it refuses what would break the graph's rules.
    payload : type
        What :attr:`Node.payload` is: one of the records above, or a plain value (a name, bytes, None).
    arity : int or None
        Number of arguments; None where any number is taken.
    linear : Linearity
    mixes : Mixes
    cost : Cost
    numpy : str
        Its meaning: a function that takes the arguments and then the fields of the payload, in NumPy
        ("np.name") or in :mod:`symdiff.graph.reference.numeric` ("name"). "" where sizes that are known
        at call time only, or other nodes, are needed as well: such have a function in
        :mod:`symdiff.graph.reference.interpret` and a method in :mod:`symdiff.codegen.numpy.emit`.
    notation : str
        What is written for it, a kind of :class:`symdiff.printing.notation.terms.Term`.
    keeps : bool
        Whether the result has the axes along which elements are mixed.
    pads, drops : bool
        Whether there are elements of the result that come from no element of an argument, and whether
        there are elements of an argument that go nowhere.
    singular : bool
        Whether a derivative can be infinite or undefined where the value is finite.
    raises : bool
        Whether it may fail at call time, where there is no such value.
    selects : bool
        Whether elements of the result are elements of the argument, which the numbers choose: the others
        have no influence.
    zeros : Zeros
        Of what is computed along axes: where it is 0 because of zeros in its argument.
    """

    name: str
    constructor: str
    payload: type
    arity: int | None
    linear: Linearity
    mixes: Mixes
    cost: Cost
    numpy: str = ""
    notation: str = ""
    keeps: bool = False
    pads: bool = False
    drops: bool = False
    singular: bool = False
    raises: bool = False
    selects: bool = False
    zeros: Zeros = Zeros.UNKNOWN


PRIMITIVES: dict[str, Primitive] = {}


def _row(name: str, *columns: Any, **rest: Any) -> None:
    rest.setdefault("notation", name)
    PRIMITIVES[name] = Primitive(name, *columns, **rest)


def _over_axes(constructor: str, *names: str, **rest: Any) -> None:
    for name in names:
        row = {"numpy": name, "notation": "reduce", "keeps": constructor == "normalize", **rest}
        _row(name, constructor, Axes, 1, Linearity.NO, Mixes.AXES, Cost.CALL, **row)


def _so_far(name: str, linear: Linearity = Linearity.NO, **rest: Any) -> None:
    row = {"numpy": name, "notation": "cumulative", "keeps": True, **rest}
    _row(name, "cumulative", Along, 1, linear, Mixes.SO_FAR, Cost.CALL, **row)


def _matrix(name: str, arity: int | None = 1, linear: Linearity = Linearity.NO, **rest: Any) -> None:
    row = {"numpy": "" if "made" in rest else name, "notation": "matrix", "keeps": True, **rest}
    _row(name, row.pop("made", "matrix"), type(None), arity, linear, Mixes.MATRIX, Cost.CUBIC, **row)


# Leaves
_row("input", "input", object, 0, Linearity.NO, Mixes.NOTHING, Cost.FREE)
_row("constant", "constant", bytes, 0, Linearity.NO, Mixes.NOTHING, Cost.FREE)
_row("size", "extent", Extent, 0, Linearity.NO, Mixes.NOTHING, Cost.FREE)
_row("delta", "delta", Diagonal, 0, Linearity.NO, Mixes.NOTHING, Cost.STRUCTURE, notation="eye")
_row("onehot", "onehot", Place, 0, Linearity.NO, Mixes.NOTHING, Cost.STRUCTURE)

# Products and sums
_row("contract", "contract", Contraction, None, Linearity.EACH, Mixes.LABELS, Cost.PRODUCT, notation="tensor")

# What moves elements
_row("slice", "slicing", Items, 1, Linearity.TOGETHER, Mixes.NOTHING, Cost.VIEW, notation="index", drops=True)
_row("pad", "pad", Items, 1, Linearity.TOGETHER, Mixes.NOTHING, Cost.MOVE, pads=True)
_row("gather", "gather", Picks, 1, Linearity.TOGETHER, Mixes.NOTHING, Cost.MOVE, notation="take", drops=True)
_row("scatter", "scatter", Picks, 1, Linearity.TOGETHER, Mixes.AXIS, Cost.MOVE, pads=True)
_row("take", "take", Taken, 2, Linearity.FIRST, Mixes.NOTHING, Cost.MOVE, notation="picked", drops=True)
_row("put", "put", Taken, 2, Linearity.FIRST, Mixes.UNKNOWN, Cost.MOVE, pads=True)
_row("reshape", "reshape", type(None), 1, Linearity.TOGETHER, Mixes.NOTHING, Cost.VIEW)
_row("concatenate", "concatenate", Joint, None, Linearity.TOGETHER, Mixes.NOTHING, Cost.MOVE, pads=True)
_row("triangle", "triangle", Half, 1, Linearity.TOGETHER, Mixes.NOTHING, Cost.MOVE, pads=True, drops=True)

# Along one axis
_so_far("cumsum", Linearity.TOGETHER, numpy="", zeros=Zeros.ALL)
_so_far("cumprod", zeros=Zeros.ANY)
_so_far("cummax", zeros=Zeros.ALL, selects=True)
_so_far("cummin", zeros=Zeros.ALL, selects=True)
_row("sort", "cumulative", Along, 1, Linearity.NO, Mixes.AXIS, Cost.CALL, numpy="sort", notation="cumulative",
     keeps=True, selects=True, zeros=Zeros.ALL)
_row("arrange", "arrange", Along, 2, Linearity.FIRST, Mixes.UNKNOWN, Cost.CALL, notation="arranged")

# Over axes
_over_axes("reduce", "max", "min", numpy="", selects=True, zeros=Zeros.ALL)
_over_axes("reduce", "prod", numpy="np.prod", zeros=Zeros.ANY)
_over_axes("reduce", "logsumexp")
_over_axes("reduce", "norm", singular=True, zeros=Zeros.ALL)
_over_axes("normalize", "softmax", "log_softmax")
_over_axes("normalize", "unit", singular=True, zeros=Zeros.OWN)

# Square matrices
_matrix("det", keeps=False)
_matrix("logdet", keeps=False, singular=True)
_matrix("logabsdet", keeps=False, singular=True)
_matrix("inv", notation="inv", singular=True, raises=True)
_matrix("solve", 2, Linearity.SECOND, singular=True, raises=True)
_matrix("cholesky", singular=True, raises=True)
_matrix("adjugate")
_matrix("eigvalsh", keeps=False, singular=True)
_matrix("eigenvectors", singular=True)
_matrix("adjugate_differential", 2, Linearity.SECOND)

_row("spectral", "spectral", Spectral, None, Linearity.NO, Mixes.MATRIX, Cost.CUBIC, notation="function", keeps=True,
     singular=True)
_row("isotropic", "isotropic", Isotropic, None, Linearity.NO, Mixes.MATRIX, Cost.CUBIC, notation="function", keeps=True,
     singular=True)
_matrix("expm", None, made="exponential", notation="function", singular=True)
_matrix("pinv", None, made="pseudo_inverse", notation="function", keeps=False, singular=True)

# Names and derivatives by decree
_row("stop_gradient", "stop_gradient", type(None), 1, Linearity.NO, Mixes.NOTHING, Cost.FREE, notation="function")
_row("named", "label", str, 1, Linearity.TOGETHER, Mixes.NOTHING, Cost.FREE)
_row("custom", "custom", Authored, None, Linearity.NO, Mixes.UNKNOWN, Cost.CALL, notation="function", singular=True)

# Functions of numbers alone
_row("external", "external", Opaque, None, Linearity.NO, Mixes.UNKNOWN, Cost.CALL, notation="function", singular=True)

# Loops
_row("recurrence", "recurrence", Recurrence, None, Linearity.NO, Mixes.UNKNOWN, Cost.CALL, singular=True)


# ---------------------------------------------------------------------------- what stages read of it


def made_by(constructor: str) -> frozenset[str]:
    """Return the names of the operations that a constructor makes."""
    return frozenset(name for name, row in PRIMITIVES.items() if row.constructor == constructor)


def costing(*costs: Cost) -> frozenset[str]:
    """Return the names of the operations of some classes of cost."""
    return frozenset(name for name, row in PRIMITIVES.items() if row.cost in costs)


REDUCTIONS, NORMALIZATIONS, CUMULATIVE, MATRIX_OPS = map(made_by, ("reduce", "normalize", "cumulative", "matrix"))
#: Functions of matrices, and their derivatives along directions.
OF_MATRICES = frozenset(("spectral", "isotropic", "expm"))
#: Operations with arguments.
INNER = frozenset(name for name, row in PRIMITIVES.items() if row.arity != 0)
SINGULAR = frozenset(name for name, row in PRIMITIVES.items() if row.singular)
SELECTING = frozenset(name for name, row in PRIMITIVES.items() if row.selects)
FALLIBLE = frozenset(name for name, row in PRIMITIVES.items() if row.raises)
TOGETHER, EACH, FIRST, SECOND = (
    frozenset(name for name, row in PRIMITIVES.items() if row.linear is kind)
    for kind in (Linearity.TOGETHER, Linearity.EACH, Linearity.FIRST, Linearity.SECOND)
)


#: Rows of the identity: zeros and ones by arithmetic on indices.
DELTAS = costing(Cost.STRUCTURE)
#: Positions that the formula lists, and positions that a call brings.
LISTED, BY_POSITION = (
    frozenset(name for name, row in PRIMITIVES.items() if row.payload is kind) for kind in (Picks, Taken)
)
#: Operations that LAPACK iterates until they converge.
ITERATED = frozenset({"eigvalsh", "eigenvectors"})
#: Cofactors, which straight-line code has for few rows only.
ADJUGATES = frozenset({"adjugate", "adjugate_differential"})
#: One number for each matrix.
DETERMINANTS = frozenset(name for name in MATRIX_OPS - ITERATED if not PRIMITIVES[name].keeps)


def complete(
    table: Iterable[str], stage: str, needed: Collection[str] = PRIMITIVES, without: Collection[str] = ()
) -> None:
    """Compare a stage's table with the operations it is for.

    Parameters
    ----------
    table : iterable of str
        The operations that the stage has.
    stage : str
        Where the table stands, for the message.
    needed : collection of str, optional
        The operations that it is for: all of them.
    without : collection of str, optional
        Those of them that it leaves out on purpose.

    Raises
    ------
    InternalError
        Naming the operations that lack a piece, and those that no row of the table is for.
    """
    known = {*table, *without}
    missing = [name for name in sorted(needed) if name not in known]
    unknown = sorted(known.difference(needed))
    if missing:
        raise InternalError(
            f"{stage} lacks {', '.join(missing)}; expected a piece for each operation that it is for. Where its source "
            "has one, a compiled module is older than its source: run python setup.py build_ext --inplace"
        )
    if unknown:
        raise InternalError(f"{stage} has {', '.join(unknown)}; expected only operations that it is for")

"""The names by which operations are called: NumPy's functions on symbols, and formula text.

One table for both front ends. An entry says which arguments are arrays, which keywords it
understands, and what to call; the keywords that NumPy has and symdiff does not are refused
by name rather than dropped.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...errors import DtypeError, LimitError, UnsupportedError
from ...graph import BOOL, Node, broadcast_to, matrix, stop_gradient
from ...graph.dump import record_text
from ...graph.scalars.compositions import (
    COMPOSED,
    POLYNOMIALS,
    factorial,
    multigammaln,
    sph_harm_y_imag,
    sph_harm_y_real,
)
from ...graph.scalars.functions import ALIASES, FUNCTIONS, apply, to_real
from . import (
    choices,
    linalg,
    operations,
    pieces,
    reductions,
    sequences,
    shaping,
    spectra,
    statistics,
)

#: Number of leading arguments that are arrays, or "list" (one sequence of arrays), "all" or "none".
Arrays = int | str


class Entry(NamedTuple):
    """One callable operation.

    Parameters
    ----------
    name : str
    call : callable
        Takes nodes where arrays are expected, plain Python values elsewhere.
    arrays : int or {"list", "lists", "all", "none", "text", "rows", "factor", "second", "symbols", "mapped"}
        Which arguments are arrays: the first so many; one list of them; two lists of them and what
        follows; all; none; all after a text; nested lists of them; all, a flag beside the first; the second;
        what functions of the user's own take, as the symbols that they are; one and a function of symbols.
    least, most : int or None
        Number of positional arguments (None: no limit).
    keywords : tuple of str
        Keywords understood, arguments by name included.
    in_text : bool
        Whether formula text may call it.
    options : tuple of str
        Keywords whose values are arrays.
    """

    name: str
    call: Callable[..., Any]
    arrays: Arrays = 1
    least: int = 1
    most: int | None = 1
    keywords: tuple[str, ...] = ()
    in_text: bool = True
    options: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return record_text(self)


LIBRARY: dict[str, Entry] = {}


def _add(name: str, call: Callable[..., Any], arrays: Arrays = 1, least: int = 1, most: int | None = 1,
         keywords: tuple[str, ...] = (), in_text: bool = True, options: tuple[str, ...] = ()) -> None:
    LIBRARY[name] = Entry(name, call, arrays, least, most, keywords, in_text, options)


def _of_order(name: str, n: Any, *rest: Node) -> Node:
    """Apply a function whose order is known beforehand."""
    order = n.value if isinstance(n, Node) and n.is_constant else n
    most = FUNCTIONS[name].orders
    if isinstance(order, Node) or np.ndim(order) or not float(order).is_integer() or not 0 <= order <= most:
        raise UnsupportedError(f"{name} of an order that is no constant; expected a whole number from 0 to {most}")
    return apply("digamma", *rest) if order == 0 and name == "polygamma" else apply(name, float(order), *rest)


def _lambertw(x: Node, k: Any = 0, tol: Any = None) -> Node:
    """Return Lambert's W on one of its real branches; SciPy's tolerance, which its ufunc passes on, is not needed."""
    branch = k.value if isinstance(k, Node) and k.is_constant else k
    if isinstance(branch, Node) or np.ndim(branch) or branch not in (0, -1):
        came = "that is no constant" if isinstance(branch, Node) or np.ndim(branch) else f"{branch!r:.80}"
        raise UnsupportedError(f"lambertw of a branch {came}; the branches that are real are 0 and -1")
    return apply("lambertwm1" if branch else "lambertw", x)


for _name, _row in FUNCTIONS.items():
    if _row.written is None and _row.orders:
        _add(_name, partial(_of_order, _name), _row.arity, _row.arity, _row.arity)
    elif _row.written is None and _name not in ("to_real", "where", "rint"):
        _add(_name, partial(apply, _name), _row.arity, _row.arity, _row.arity)


def _round(x: Node, decimals: int = 0) -> Node:
    if decimals == 0:
        return apply("rint", x)
    places = operator.index(decimals)
    if abs(places) > 300:
        raise LimitError("round to over 300 decimals, which is the limit")
    scale = 10.0 ** abs(places)
    if decimals > 0:
        return apply("divide", apply("rint", apply("multiply", x, scale)), scale)
    return apply("multiply", apply("rint", apply("divide", x, scale)), scale)


def _where(*args: Node) -> Node:
    if len(args) != 3:
        raise UnsupportedError("where with a condition alone; expected where(condition, a, b)")
    return reductions.choose(*args)


def _of_conditions(name: str, *args: Node) -> Node:
    """Apply NumPy's functions of bits, which are logic for conditions and something else for numbers."""
    for arg in args:
        if arg.dtype is not BOOL:
            raise DtypeError(f"{name.replace('logical', 'bitwise')} of real numbers; expected conditions such as x > 0")
    return apply(name, *args)


for _name, _each in COMPOSED.items():
    _also = _each.options + _each.flags
    _add(_name, _each.call, _each.arrays, _each.arrays, _each.arrays + len(_also), _also, options=_each.options)
for _name, _target in (("and", "logical_and"), ("or", "logical_or"), ("xor", "logical_xor"), ("not", "logical_not")):
    _add(f"bitwise_{_name}", partial(_of_conditions, _target), FUNCTIONS[_target].arity, FUNCTIONS[_target].arity,
         FUNCTIONS[_target].arity)
LIBRARY["invert"] = LIBRARY["bitwise_not"]
for _name, (_polynomial, _arrays) in POLYNOMIALS.items():
    _add(_name, _polynomial, _arrays + 1, _arrays + 1, _arrays + 1)
_add("factorial", factorial)
_add("multigammaln", multigammaln, 2, 2, 2)
_add("sph_harm_y_real", sph_harm_y_real, 4, 4, 4)
_add("sph_harm_y_imag", sph_harm_y_imag, 4, 4, 4)
_add("airy", lambda x: tuple(apply(f"airy{part}", x) for part in ("ai", "aiprime", "bi", "biprime")), in_text=False)
_add("sici", lambda x: (apply("si", x), apply("ci", x)), in_text=False)
_add("fresnel", lambda x: (apply("fresnels", x), apply("fresnelc", x)), in_text=False)
_add("lambertw", _lambertw, 1, 1, 3, ("k",))
_add("divmod", lambda x, y: (apply("floor_divide", x, y), apply("mod", x, y)), 2, 2, 2, in_text=False)
_add("round", _round, 1, 1, 2, ("decimals",))
_add("rint", lambda x: apply("rint", x))
_add("where", _where, "all", 1, 3)
_add("select", operations.select, "lists", 2, 3, ("condlist", "choicelist", "default"))
_add("clip", operations.clip, 3, 1, 3, ("a_min", "a_max", "min", "max"), options=("lower", "upper"))
_add("stop_gradient", stop_gradient)
_add("real", to_real)
_add("imag", lambda x: shaping.like(x, 0.0))

for _name in ("sum", "prod", "max", "min"):
    _add(_name, getattr(reductions, _name), 1, 1, 2, ("axis", "keepdims", "initial", "where"),
         options=("initial", "where"))
for _name in ("mean", "any", "all"):
    _add(_name, getattr(reductions, _name), 1, 1, 2, ("axis", "keepdims", "where"), options=("where",))
for _name in ("var", "std"):
    _add(_name, getattr(reductions, _name), 1, 1, 2, ("axis", "ddof", "keepdims", "correction", "where"),
         options=("where",))
_add("logsumexp", reductions.weighed_logsumexp, 1, 1, 3, ("axis", "b", "keepdims"), options=("b",))
_add("logmeanexp", reductions.logmeanexp, 1, 1, 2, ("axis", "keepdims"))
_add("standardize", reductions.standardize, 1, 1, 3, ("axis", "epsilon"), options=("epsilon",))
_add("one_hot", operations.one_hot, 1, 2, 2, ("num_classes",))
for _name in ("softmax", "log_softmax", "unit", "glu"):
    _add(_name, getattr(reductions, _name), 1, 1, 2, ("axis",))
for _name in ("cumsum", "cumprod", "cummax", "cummin"):
    _add(_name, partial(reductions.accumulate, _name), 1, 1, 2, ("axis",))
for _name in ("cumulative_sum", "cumulative_prod"):
    _add(_name, getattr(sequences, _name), 1, 1, 2, ("axis", "include_initial"))
for _name in ("nansum", "nanprod", "nanmax", "nanmin"):
    _add(_name, getattr(reductions, _name), 1, 1, 2, ("axis", "keepdims", "initial", "where"),
         options=("initial", "where"))
_add("nanmean", reductions.nanmean, 1, 1, 2, ("axis", "keepdims", "where"), options=("where",))
for _name in ("nanvar", "nanstd"):
    _add(_name, getattr(reductions, _name), 1, 1, 2, ("axis", "ddof", "keepdims", "where"), options=("where",))
for _name in ("nancumsum", "nancumprod"):
    _add(_name, getattr(reductions, _name), 1, 1, 2, ("axis",))
_add("nan_to_num", reductions.nan_to_num, 1, 1, 4, ("nan", "posinf", "neginf"))
_add("sort", statistics.sort, 1, 1, 2, ("axis",))
_add("partition", statistics.partition, 1, 2, 3, ("kth", "axis"))
for _name in ("arrange", "restore"):
    _add(_name, getattr(statistics, _name), 2, 2, 3, ("axis",))
for _name in ("median", "nanmedian"):
    _add(_name, getattr(statistics, _name), 1, 1, 2, ("axis", "keepdims"))
for _name in ("quantile", "percentile", "nanquantile", "nanpercentile"):
    _add(_name, getattr(statistics, _name), 1, 2, 3, ("q", "axis", "method", "keepdims"))
for _name in ("argmax", "argmin", "nanargmax", "nanargmin"):
    _add(_name, getattr(choices, _name), 1, 1, 2, ("axis", "keepdims"))
_add("argsort", choices.argsort, 1, 1, 2, ("axis", "kind", "stable"))
_add("isclose", choices.isclose, 2, 2, 5, ("rtol", "atol", "equal_nan"))
_add("allclose", choices.allclose, 2, 2, 5, ("rtol", "atol", "equal_nan"))
_add("array_equal", choices.array_equal, 2, 2, 3, ("equal_nan",))
_add("signbit", choices.signbit)
for _name in ("isreal", "iscomplex"):  # known when the formula is written: text has no such constants
    _add(_name, getattr(choices, _name), in_text=False)
_add("angle", choices.angle, 1, 1, 2, ("deg",))
for _name in ("modf", "frexp"):
    _add(_name, getattr(choices, _name), in_text=False)
_add("interp", choices.interp, 3, 3, 5, ("left", "right"), options=("left", "right"))
_add("searchsorted", choices.searchsorted, 2, 2, 3, ("side",))
_add("digitize", choices.digitize, 2, 2, 3, ("right",))
_add("count_nonzero", choices.count_nonzero, 1, 1, 2, ("axis", "keepdims"))

for _name in ("matmul", "dot", "inner", "vdot", "outer", "solve"):
    _add(_name, getattr(operations, _name), 2, 2, 2)
_add("tensordot", operations.tensordot, 2, 2, 3, ("axes",), in_text=False)
_add("einsum", operations.einsum, "text", 2, None, ("optimize",))
for _name in ("det", "logdet", "logabsdet", "adjugate"):
    _add(_name, getattr(operations, _name))
_add("adjugate_differential", lambda a, e: matrix("adjugate_differential", a, e), 2, 2, 2)
_add("trace", operations.trace, 1, 1, 4, ("offset", "axis1", "axis2"))
_add("multi_dot", operations.multi_dot, "list")
for _name in ("matvec", "vecmat", "kron"):
    _add(_name, getattr(linalg, _name), 2, 2, 2)
_add("vecdot", linalg.vecdot, 2, 2, 3, ("axis",))
_add("cross", linalg.cross, 2, 2, 6, ("axisa", "axisb", "axisc", "axis"))
_add("norm", spectra.norm, 1, 1, 4, ("ord", "axis", "keepdims"))
_add("vector_norm", spectra.vector_norm, 1, 1, 1, ("axis", "keepdims", "ord"))
_add("matrix_norm", spectra.matrix_norm, 1, 1, 1, ("keepdims", "ord"))
_add("cond", spectra.cond, 1, 1, 2, ("p",))
_add("inv", linalg.inv)
_add("cholesky", linalg.cholesky, 1, 1, 1, ("upper",))
_add("slogdet", linalg.slogdet, in_text=False)
_add("matrix_power", linalg.matrix_power, 1, 2, 2, ("n",))
_add("solve_triangular", linalg.solve_triangular, 2, 2, 5, ("trans", "lower", "unit_diagonal"))
_add("cho_factor", linalg.cho_factor, 1, 1, 2, ("lower",), in_text=False)
_add("cho_solve", linalg.cho_solve, "factor", 2, 2, in_text=False)
_add("qr", linalg.qr, 1, 1, 2, ("mode",), in_text=False)
_add("pinv", linalg.pinv)
_add("matrix_rank", spectra.matrix_rank)
for _name in ("eigvalsh", "expm", "logm", "sqrtm", "svdvals"):
    _add(_name, getattr(spectra, _name))
_add("expm_frechet", spectra.expm_frechet, 2, 2, 2, in_text=False)
_add("eigenvectors", lambda x: spectra.eigh(x).eigenvectors)
_add("eigh", spectra.eigh, in_text=False)
_add("simple_eigenvalues", spectra.simple_eigenvalues)
_add("simple_eigenvectors", spectra.simple_eigenvectors)
_add("isotropic", spectra.isotropic, 2, 2, 2)
_add("isotropic_differential", spectra.isotropic_differential, 3, 3, 3)
_add("isotropic_transpose", partial(spectra.isotropic_differential, transposed=True), 3, 3, 3)
_add("funm", spectra.funm, "mapped", 2, 2)
for _order, _suffix in enumerate(("_differential", "_differential2"), 1):
    _add("funm" + _suffix, getattr(spectra, "funm" + _suffix), "mapped", 2 + _order, 2 + _order)
    for _name in ("expm", "logm", "sqrtm"):
        _add(_name + _suffix, partial(spectra.named_differential, _name), 1 + _order, 1 + _order, 1 + _order)
_add("svd", spectra.svd, 1, 1, 3, ("full_matrices", "compute_uv"), in_text=False)
_add("lstsq", spectra.lstsq, 2, 2, 3, ("rcond",), in_text=False)
_add("tensorinv", linalg.tensorinv, 1, 1, 2, ("ind",))
_add("tensorsolve", linalg.tensorsolve, 2, 2, 3, ("axes",))
_add("block_diag", linalg.block_diag, "all", 1, None)
_add("toeplitz", linalg.toeplitz, 2, 1, 2)
_add("hankel", linalg.hankel, 2, 1, 2)
for _name in ("circulant", "companion", "fiedler"):
    _add(_name, getattr(linalg, _name))
_add("leslie", linalg.leslie, 2, 2, 2)
_add("convolution_matrix", linalg.convolution_matrix, 1, 2, 3, ("n", "mode"))
_add("solve_sylvester", linalg.solve_sylvester, 3, 3, 3)
_add("polar", spectra.polar, 1, 1, 2, ("side",), in_text=False)
_add("eigh_tridiagonal", spectra.eigh_tridiagonal, 2, 2, 3, ("eigvals_only",), in_text=False)
_add("vander", linalg.vander, 1, 1, 3, ("N", "increasing"))
for _name in ("polyadd", "polysub", "polymul"):
    _add(_name, getattr(sequences, _name), 2, 2, 2)
_add("poly", sequences.poly)
_add("polyfit", sequences.polyfit, 2, 3, 3, ("deg",))
_add("polyder", sequences.polyder, 1, 1, 2, ("m",))
_add("polyint", sequences.polyint, 1, 1, 3, ("m", "k"), options=("k",))
_add("polyval", operations.polyval, 2, 2, 2)
_add("ptp", reductions.ptp, 1, 1, 2, ("axis", "keepdims"))
_add("average", reductions.average, 1, 1, 3, ("axis", "weights"), options=("weights",))
_add("cov", statistics.cov, 1, 1, 7, ("y", "rowvar", "bias", "ddof", "fweights", "aweights"), False,
     ("y", "aweights"))
_add("corrcoef", statistics.corrcoef, 1, 1, 3, ("y", "rowvar"), options=("y",))
for _rank in (1, 2, 3):
    _add(f"atleast_{_rank}d", partial(shaping.at_least, rank=_rank))
_add("diag", operations.diag, 1, 1, 2, ("k",))
_add("diagonal", operations.diagonal, 1, 1, 4, ("offset", "axis1", "axis2"))
for _name in ("tril", "triu"):
    _add(_name, getattr(operations, _name), 1, 1, 2, ("k",))

_add("reshape", shaping.reshape_to, 1, 2, 3, ("shape", "newshape", "order"))
_add("ravel", shaping.ravel, 1, 1, 2, ("order",))
for _name in ("shape", "ndim", "copy"):
    _add(_name, getattr(pieces, _name), in_text=False)
_add("size", pieces.size, 1, 1, 2, ("axis",), in_text=False)
_add("transpose", shaping.permute, 1, 1, 2, ("axes",))
_add("matrix_transpose", lambda x: shaping.swapaxes(x, -1, -2))
_add("swapaxes", shaping.swapaxes, 1, 3, 3, ("axis1", "axis2"))
_add("moveaxis", shaping.moveaxis, 1, 3, 3, ("source", "destination"))
_add("expand_dims", shaping.expand_dims, 1, 2, 2, ("axis",))
_add("squeeze", shaping.squeeze, 1, 1, 2, ("axis",))
_add("broadcast_to", lambda x, shape: broadcast_to(x, shaping.parse_shape(shape)), 1, 2, 2, ("shape",))
_add("concatenate", shaping.join, "list", 1, 2, ("axis",))
_add("stack", shaping.stack, "list", 1, 2, ("axis",))
for _name in ("hstack", "vstack", "column_stack"):
    _add(_name, getattr(shaping, _name), "list")
_add("dstack", pieces.dstack, "list")
_add("block", shaping.block, "rows", in_text=False)
_add("take", shaping.take, 1, 2, 3, ("axis",), in_text=False)
_add("take_at", operations.take_at, 2, 2, 4, ("axis", "shared"))
_add("add_at", operations.add_at, 2, 3, 5, ("n", "axis", "shared"))
_add("flip", shaping.flip, 1, 1, 2, ("axis",))
_add("roll", shaping.roll, 1, 2, 3, ("axis",))
_add("repeat", shaping.repeat, 1, 2, 3, ("axis",))
_add("tile", shaping.tile, 1, 2, 2, ("reps",))
for _name in ("split", "array_split"):
    _add(_name, getattr(pieces, _name), 1, 2, 3, ("indices_or_sections", "axis"), in_text=False)
for _name in ("hsplit", "vsplit", "dsplit"):
    _add(_name, getattr(pieces, _name), 1, 2, 2, ("indices_or_sections",), in_text=False)
_add("unstack", pieces.unstack, 1, 1, 1, ("axis",), in_text=False)
_add("append", pieces.append, 2, 2, 3, ("axis",))
_add("insert", pieces.insert, 1, 3, 4, ("obj", "values", "axis"), options=("values",))
_add("delete", pieces.delete, 1, 2, 3, ("obj", "axis"))
_add("meshgrid", pieces.meshgrid, "all", 1, None, ("indexing", "sparse", "copy"), in_text=False)
_add("broadcast_arrays", pieces.broadcast_arrays, "all", 1, None, in_text=False)
for _name in ("fliplr", "flipud"):
    _add(_name, getattr(pieces, _name))
_add("rot90", pieces.rot90, 1, 1, 3, ("k", "axes"))
_add("rollaxis", pieces.rollaxis, 1, 2, 3, ("axis", "start"))
_add("diagflat", pieces.diagflat, 1, 1, 2, ("k",))
_add("resize", pieces.resize, 1, 2, 2, ("new_shape",))
_add("bincount", pieces.bincount, "none", 1, 3, ("weights", "minlength"), False, ("weights",))
_add("take_along_axis", choices.take_along_axis, 1, 2, 3, ("indices", "axis"), in_text=False)
for _name in ("compress", "extract"):
    _add(_name, getattr(choices, _name), "second", 2, 3 if _name == "compress" else 2,
         ("axis",) if _name == "compress" else (), in_text=False)
_add("choose", choices.choose, "none", 2, 3, ("choices", "mode"), False)
_add("isin", choices.isin, 1, 2, 2, ("test_elements", "invert"))
_add("piecewise", choices.piecewise, "symbols", 3, None, in_text=False)
for _name in ("apply_along_axis", "apply_over_axes"):
    _add(_name, getattr(choices, _name), "symbols", 3, None, in_text=False)
_add("diff", sequences.diff, 1, 1, 5, ("n", "axis", "prepend", "append"), options=("prepend", "append"))
_add("ediff1d", sequences.ediff1d, 1, 1, 3, ("to_end", "to_begin"), options=("to_end", "to_begin"))
_add("grid_gradient", sequences.grid_gradient, "all", 1, None, ("axis", "edge_order"), in_text=False)
_add("trapezoid", sequences.trapezoid, 1, 1, 4, ("x", "dx", "axis"), options=("x", "dx"))
_add("convolve", sequences.convolve, 2, 2, 3, ("mode",))
_add("correlate", sequences.correlate, 2, 2, 3, ("mode",))
_add("unwrap", sequences.unwrap, 1, 1, 2, ("discont", "axis", "period"))
_add("pad", pieces.pad, 1, 2, 3, ("pad_width", "mode", "constant_values", "end_values", "stat_length", "reflect_type"))
_add("shift", pieces.shift, 1, 2, 3, ("k", "axis"))
_add("skew", pieces.skew)
_add("eye", shaping.eye, "none", 1, 3, ("M", "k"))
_add("arange", shaping.arange, "none", 1, 3, ("stop", "step"))
_add("linspace", sequences.linspace, 2, 2, 5, ("num", "endpoint", "retstep", "axis"), in_text=False)
_add("logspace", sequences.logspace, 2, 2, 5, ("num", "endpoint", "base", "axis"), False, ("base",))
_add("geomspace", sequences.geomspace, 2, 2, 4, ("num", "endpoint", "axis"), in_text=False)
_add("tri", sequences.tri, "none", 1, 3, ("M", "k"))
_add("zeros", lambda shape: shaping.full(shape, 0.0), "none")
_add("ones", lambda shape: shaping.full(shape, 1.0), "none")
#: Functions whose results have the shape of an argument, and nothing else of it.
OF_SHAPES = frozenset(("zeros_like", "ones_like", "empty_like", "full_like"))
_add("zeros_like", lambda x: shaping.like(x, 0.0))
_add("ones_like", lambda x: shaping.like(x, 1.0))
_add("full_like", lambda x, value: broadcast_to(value, x.shape), 2, 2, 2)

for _alias, _target in {
    **ALIASES,
    "conj": "real",
    "empty_like": "zeros_like",
    "conjugate": "real",
    "amax": "max",
    "amin": "min",
    "product": "prod",
    "permute_dims": "transpose",
    "concat": "concatenate",
    "rad2deg": "degrees",
    "deg2rad": "radians",
    "fix": "trunc",
    "swish": "silu",
    "hard_swish": "hard_silu",
    "row_stack": "vstack",
    "identity": "eye",
    "trapz": "trapezoid",
    "around": "round",
    "tr": "trace",
}.items():
    if _target in LIBRARY and _alias not in LIBRARY:
        LIBRARY[_alias] = LIBRARY[_target]

#: Functions of ``numpy.linalg`` that differ from those of the same names in ``numpy``: they take the last two axes.
OF_LINALG = {
    "trace": Entry("trace", linalg.stack_trace, 1, 1, 1, ("offset",)),
    "diagonal": Entry("diagonal", linalg.stack_diagonal, 1, 1, 1, ("offset",)),
}

#: Operations of ufuncs' methods: np.add.reduce is a sum.
UFUNC_METHODS = {
    ("add", "reduce"): "sum",
    ("multiply", "reduce"): "prod",
    ("maximum", "reduce"): "max",
    ("minimum", "reduce"): "min",
    ("logaddexp", "reduce"): "logsumexp",
    ("logical_and", "reduce"): "all",
    ("logical_or", "reduce"): "any",
    ("add", "accumulate"): "cumsum",
    ("multiply", "accumulate"): "cumprod",
    ("maximum", "accumulate"): "cummax",
    ("minimum", "accumulate"): "cummin",
    ("multiply", "outer"): "outer",
}

#: Names here of NumPy's functions whose own names mean something else: ``sd.gradient`` is a derivative.
NUMPY_NAMES = {"gradient": "grid_gradient"}

#: Entries that apply a function of the table to arrays as they come.
DIRECT = frozenset(
    name
    for name, entry in LIBRARY.items()
    if isinstance(entry.call, partial) and entry.call.func is apply and entry.call.args == (name,)
)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: Linear algebra, under the names of NumPy and SciPy.
LINALG = _words("""
    adjugate block_diag cho_factor cho_solve cholesky circulant companion cond convolution_matrix cross det diagonal
    eigenvectors eigh eigh_tridiagonal eigvalsh expm expm_frechet fiedler funm hankel inv kron leslie logabsdet
    logdet logm lstsq matmul matrix_norm matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv polar
    qr slogdet solve solve_sylvester solve_triangular sqrtm svd svdvals tensordot tensorinv tensorsolve toeplitz
    trace vecdot vector_norm
""")

#: Special functions, under SciPy's names where it has them.
SPECIAL = _words("""
    airy airyai airyaiprime airybi airybiprime beta betainc betaincinv betaln binom boxcox boxcox1p cbrt ci dawsn
    digamma ellipe ellipk ellipkm1 entr erf erfc erfcinv erfcx erfinv eval_chebyt eval_chebyu eval_genlaguerre
    eval_hermite eval_hermitenorm eval_laguerre eval_legendre exp1 exp10 exp2 expi expit expm1 expn exprel factorial
    fresnel fresnelc fresnels gamma gammainc gammaincc gammainccinv gammaincinv gammaln huber hyp0f1 hyp1f1 hyp2f1
    i0 i0e i1 i1e inv_boxcox inv_boxcox1p iv ive j0 j1 jv k0 k0e k1 k1e kl_div kv kve lambertw lambertwm1 lgamma
    log1mexp log1p log_betainc log_expit log_gammainc log_gammaincc log_ndtr log_softmax log_stdtr loggamma logit
    logsumexp multigammaln ndtr ndtri owens_t poch polygamma pseudo_huber psi rel_entr si sici sinc softmax softplus
    spence sph_harm_y_imag sph_harm_y_real spherical_jn stdtr stdtrit voigt_profile wofz_imag wofz_real xlog1py
    xlogy y0 y1 yv zeta
""")

#: Functions of neural networks, under PyTorch's and JAX's names.
NN = _words("""
    celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid log_softmax logmeanexp
    logsumexp mish one_hot relu relu6 selu sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid
    squareplus standardize swish tanh
""")

#: Operations of daily use, of NumPy's and of the modules above. NumPy's other functions take symbols as they are.
DAILY = _words("""
    abs acos acosh add_at all any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort
    arrange asin asinh atan atan2 atanh average block broadcast_to cbrt ceil clip concat concatenate conj convolve
    copysign correlate cos cosh cov cross cummax cummin cumprod cumsum diag diff divide dot einsum equal exp
    exp2 expand_dims expm1 eye flip floor full_like greater greater_equal heaviside hstack hypot identity imag inner
    interp isfinite isinf isnan kron less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not
    logical_or matmul matrix_transpose max maximum mean median min minimum mod moveaxis multiply negative not_equal
    ones ones_like outer pad percentile permute_dims piecewise pow power prod quantile ravel real reciprocal
    remainder repeat reshape roll round select sign sin sinc sinh sort split sqrt square squeeze stack std subtract
    sum swapaxes take take_along_axis tan tanh tensordot tile trace transpose trapezoid tri tril triu unstack var
    vecdot vstack where zeros zeros_like block_diag cho_solve cholesky det eigh eigvalsh expm funm inv logabsdet
    logdet logm lstsq matrix_power norm pinv qr slogdet solve solve_sylvester solve_triangular sqrtm svd svdvals
    toeplitz unit beta betainc betaln digamma entr erf erfc erfcx erfinv expit factorial gamma gammainc gammaincc
    gammaln huber j0 j1 lambertw lgamma log_ndtr log_softmax logit logsumexp multigammaln ndtr ndtri polygamma
    rel_entr xlog1py xlogy cot csc gelu leaky_relu log_sigmoid logmeanexp one_hot relu sec sech sigmoid silu softmax
    softplus standardize
""")

#: The operations that each public module holds; formula text may call all of the library by their bare names.
MODULES = {"sd": DAILY, "sd.linalg": LINALG, "sd.special": SPECIAL, "sd.nn": NN}


def public_name(name: str) -> str | None:
    """Return how users write an operation: of a public module, NumPy's own, or by its name; None if there is none."""
    if name not in LIBRARY:
        return None
    modules = [module for module, held in MODULES.items() if name in held]
    if modules:
        return f"{modules[0]}.{name}"
    return f"np.{name}" if hasattr(np, name) else f"sd.function({name!r})"

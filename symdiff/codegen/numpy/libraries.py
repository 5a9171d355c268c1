"""Formulas as functions over JAX, PyTorch and the Array API: the NumPy source in the words of these libraries.

The printer of NumPy source writes the lines; here each call is put into the library's words, as a table says them, and
what is written into an array of zeros becomes a new array. Functions of :mod:`.traced` are copied in front. What a
library has no function for is written by its expansion, or refused by name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ...errors import UnsupportedError
from ...graph import Node, postorder
from ...graph.reference import numeric
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import Span
from . import traced
from .alone import argument_names, array_text, body_text, plain_function, signature_text
from .emit import emit_lines

__all__ = ["LIBRARIES", "emit_library"]


class ArrayLibrary(NamedTuple):
    """A library that has arrays, and its words.

    Parameters
    ----------
    title : str
        Its name, for people.
    imports : str
        Lines of Python.
    prefix : str
        What stands in place of ``np``.
    words : mapping of str to str
        What NumPy source says, and what the library says: another function, or an expression of the arguments
        ``_0``, ``_1`` and of keywords.
    special : str
        Functions that it has under the name that NumPy source has.
    begin : str
        The options of new arrays beside the arguments ``values``, as statements of Python that set ``like``.
    like : str
        Those of arrays beside ``x``, an expression.
    takes_numbers : bool
        Whether functions take numbers of Python beside arrays.
    """

    title: str
    imports: str
    prefix: str
    words: Mapping[str, str]
    special: str
    begin: str
    like: str
    takes_numbers: bool = False


_JAX = ArrayLibrary(
    "JAX",
    "import jax\nimport jax.numpy as jnp\nfrom jax import lax\nfrom jax.scipy import special\n",
    "jnp",
    {
        "np.take": "jnp.take(_0, jnp.asarray(_1), axis=axis)",
        "np.linalg.cholesky": "lax.linalg.cholesky(_0, symmetrize_input=False)",
        "np.linalg.svd": "jnp.linalg.svd(_0)",
        "lgamma": "special.gammaln(_0)",
        "polygamma": "special.polygamma(jnp.asarray(_0).astype(int), _1)",
        "betaln": "special.betaln(_0, _1)",
        "zeta": "special.zeta(_0, _1)",
        "si": "special.sici(_0)[0]",
        "ci": "special.sici(_0)[1]",
        "fresnels": "special.fresnel(_0)[0]",
        "fresnelc": "special.fresnel(_0)[1]",
        # JAX's own loses all digits of what vanishes above 0
        "special.log_ndtr": "jnp.where(_0 > 0, jnp.log1p(-0.5 * special.erfc(jnp.abs(_0) * 0.7071067811865476)), "
        "special.log_ndtr(_0))",
    },
    "expit xlogy erf erfc erfinv ndtr ndtri gamma digamma i0 i1 i0e i1e exp1 expi gammainc gammaincc betainc "
    "spence",
    "like = {'dtype': jnp.result_type(float, *values)}",
    "{'dtype': x.dtype}",
    takes_numbers=True,
)

_TORCH = ArrayLibrary(
    "PyTorch",
    "import torch\nfrom torch import special\n",
    "torch",
    {
        "np.power": "torch.pow",
        "np.mod": "torch.remainder",
        "np.rint": "torch.round",
        "np.cbrt": "torch.sign(_0) * torch.pow(torch.abs(_0), 1.0 / 3.0)",
        "np.concatenate": "torch.concat(_0, dim=axis)",
        "np.stack": "torch.stack(_0, dim=axis)",
        "np.max": "torch.amax(_0, dim=axis, keepdim=keepdims)",
        "np.min": "torch.amin(_0, dim=axis, keepdim=keepdims)",
        "np.sum": "torch.sum(_0, dim=axis, keepdim=keepdims)",
        "np.prod": "torch.prod(_0, dim=axis, keepdim=keepdims)",
        "np.cumsum": "torch.cumsum(_0, dim=axis)",
        "np.cumprod": "torch.cumprod(_0, dim=axis)",
        "np.flip": "torch.flip(_0, (axis,))",
        "np.sort": "torch.sort(_0, dim=axis)[0]",
        "np.argsort": "torch.argsort(_0, dim=axis, stable=True)",
        "np.take": "torch.index_select(_0, axis, torch.asarray(_1, device=_0.device))",
        "np.take_along_axis": "torch.take_along_dim(_0, _1, _2)",
        "np.transpose": "torch.permute",
        "np.sign": "torch.where(torch.isnan(_0), _0, torch.sign(_0))",
        "np.linalg.svd": "torch.linalg.svd(_0)",
        "np.linalg.slogdet": "torch.linalg.slogdet(_0)",
        "lgamma": "torch.lgamma(_0)",
        "zeta": "special.zeta(_0, _1)",
        # PyTorch's own is 0 below -9, and loses digits before
        "special.ndtr": "0.5 * special.erfc(_0 * -0.7071067811865476)",
        "special.j0": "special.bessel_j0",
        "special.j1": "special.bessel_j1",
        "special.y0": "special.bessel_y0",
        "special.y1": "special.bessel_y1",
        "special.k0": "special.modified_bessel_k0",
        "special.k1": "special.modified_bessel_k1",
        "special.k0e": "special.scaled_modified_bessel_k0",
        "special.k1e": "special.scaled_modified_bessel_k1",
    },
    "expit xlogy erf erfc erfcx erfinv log_ndtr ndtri digamma i0 i1 i0e i1e gammainc gammaincc",
    "tensors = [value for value in values if isinstance(value, torch.Tensor)]\n"
    "dtype = torch.float64 if not tensors else torch.get_default_dtype()\n"
    "floats = [value.dtype for value in tensors if value.dtype.is_floating_point]\n"
    "for k, one in enumerate(floats):\n"
    "    dtype = one if k == 0 else torch.promote_types(dtype, one)\n"
    "device = next((value.device for value in tensors if value.device.type != 'cpu'), None)\n"
    "like = {'dtype': dtype, 'device': device}",
    "{'dtype': x.dtype, 'device': x.device}",
)

_ARRAY_API = ArrayLibrary(
    "the Python array API",
    "",
    "xp",
    {
        "np.arcsin": "xp.asin",
        "np.arccos": "xp.acos",
        "np.arctan": "xp.atan",
        "np.arctan2": "xp.atan2",
        "np.arcsinh": "xp.asinh",
        "np.arccosh": "xp.acosh",
        "np.arctanh": "xp.atanh",
        "np.power": "xp.pow",
        "np.mod": "xp.remainder",
        "np.rint": "xp.round",
        "np.cbrt": "xp.sign(_0) * xp.pow(xp.abs(_0), xp.asarray(1.0 / 3.0, **like_of(_0)))",
        "np.exp2": "xp.pow(xp.asarray(2.0, **like_of(_0)), _0)",
        "np.concatenate": "xp.concat",
        "np.transpose": "xp.permute_dims",
        "np.cumsum": "xp.cumulative_sum(_0, axis=axis)",
        "np.cumprod": "xp.cumulative_prod(_0, axis=axis)",
        "np.flip": "xp.flip(_0, axis=axis)",
        "np.sort": "xp.sort(_0, axis=axis)",
        "np.tril": "xp.tril(_0, k=_1)",
        "np.triu": "xp.triu(_0, k=_1)",
        "np.take": "xp.take(_0, xp.asarray(_1, device=_0.device), axis=axis)",
        "np.take_along_axis": "xp.take_along_axis(_0, _1, axis=_2)",
        "np.einsum": "einsum",
        "np.linalg.svd": "xp.linalg.svd(_0)",
    },
    "",
    "arrays = [value for value in values if hasattr(value, '__array_namespace__')]\n"
    "xp = arrays[0].__array_namespace__() if arrays else numpy\n"
    "dtypes = [value.dtype for value in arrays if xp.isdtype(value.dtype, 'real floating')]\n"
    "like = {'dtype': xp.result_type(*dtypes) if dtypes else xp.float64, "
    "'device': arrays[0].device if arrays else None}",
    "{'dtype': x.dtype, 'device': x.device}",
)

#: The libraries by the names of :data:`symdiff.codegen.TARGETS`.
LIBRARIES: dict[str, ArrayLibrary] = {"jax": _JAX, "torch": _TORCH, "array_api": _ARRAY_API}

_HEAD = '''
def _arguments(given):
    """Return the arguments in one type, with the axes of the batch as one axis in front, these axes, and the type."""
    values = [value for _, value, _, _ in given]
    BEGIN
    arrays = []
    for name, value, axes, batched in given:
        array = np.asarray(value, **like)
        lead = array.ndim - axes
        if lead < 0 or (lead and not batched):
            more = " and those of a batch in front" if batched else ""
            raise ShapeError(f"{name} has shape {tuple(array.shape)}; expected {axes} axes{more}")
        arrays.append((array, tuple(array.shape[:lead])))
    batch = numpy.broadcast_shapes(*[lead for _, lead in arrays])
    return [_in_a_row(array, lead, batch) for array, lead in arrays], batch, like


def _in_a_row(array, lead, batch):
    """Return an array with one axis in front: of the batch's length, or of length 1."""
    sample = tuple(array.shape[len(lead):])
    if not lead:
        return array[None, ...]
    whole = np.reshape(array, (1,) * (len(batch) - len(lead)) + tuple(array.shape))
    return np.reshape(np.broadcast_to(whole, batch + sample), (math.prod(batch), *sample))


def _checked(name, array, sample):
    """Refuse an array whose sample has another shape."""
    if tuple(array.shape[1:]) != sample:
        raise ShapeError(f"{name} has shape {tuple(array.shape[1:])} for one sample; expected {sample}")


def _result(array, batch, summed):
    """Return a result with the axes of the batch in front, or summed over them."""
    sample = tuple(array.shape[1:])
    spread = np.broadcast_to(array, (math.prod(batch), *sample))
    return spread.sum(axis=0) if summed else np.reshape(spread, batch + sample)
'''
_ERROR = '''
class ShapeError(ValueError):
    """Arrays do not fit the formula."""
'''
_TURNS = '''
def turns(count, turn, state):
    """Run a loop over arrays that keep their shapes, of which some have one row for all samples before it."""
    shapes = None
    while shapes != [x.shape for x in state]:
        shapes = [x.shape for x in state]
        wider = [numpy.broadcast_shapes(x.shape, y.shape) for x, y in zip(state, jax.eval_shape(turn, 0, state))]
        state = tuple(np.broadcast_to(x, shape) for x, shape in zip(state, wider))

    def step(number, old):
        new = turn(number, old)
        return tuple(np.broadcast_to(x, one.shape) for x, one in zip(new, old))

    return lax.fori_loop(0, count, step, state)
'''
#: Functions that make arrays.
_CREATION = frozenset({"full", "zeros", "eye", "empty"})
#: Functions along an axis, which may be the second argument.
_OVER_AXIS = frozenset({"flip", "cumsum", "cumprod", "sort", "argsort"})
#: Which argument lists positions.
_LISTED = {"np.take": 1, "positions": 0}
#: Functions of NumPy's that may have a number for an argument.
_OF_NUMBERS = frozenset(row.numpy.removeprefix("np.") for row in FUNCTIONS.values() if row.numpy.startswith("np."))
_OF_NUMBERS |= {"square", "broadcast_to"}
#: Values of these keywords for a call without them.
_USUAL = {"keepdims": False, "axis": None}
#: Functions of :mod:`symdiff.graph.reference.numeric` that look at shapes alone.
_SHARED = {"sech", "sigmoid_slope", "one_minus_square", "lorentzian", "direction_sin", "inversion_x", "inversion_y"}
_SHARED |= {"span", "at", "positions", "nonempty"}
#: Scalar functions that source calls by a plain name.
_SCALAR = frozenset(row.numpy for row in FUNCTIONS.values() if row.numpy and "." not in row.numpy)


def emit_library(
    name: str,
    inputs: Sequence[Node],
    nodes: Sequence[Node],
    *,
    batched: Sequence[bool],
    reduce: bool = False,
    formula: Sequence[str] = (),
    results: Sequence[str] = (),
    spans: Sequence[Span] = (),
) -> str:
    """Print a formula as a Python module over a library, with one function, ``evaluate``.

    Parameters
    ----------
    name : str
        A key of :data:`LIBRARIES`.
    inputs, nodes, batched, reduce, formula, results, spans
        As :func:`~symdiff.codegen.numpy.alone.emit_alone` has them.

    Raises
    ------
    UnsupportedError
        For functions that the library lacks, and constants of very many numbers.
    """
    library = LIBRARIES[name]
    names = argument_names([str(node.name) for node in inputs], _taken())

    def has(text: str) -> bool:
        return bool(text) and _spoken(text, library)

    written = emit_lines(inputs, nodes, names, has)
    writer = written.writer
    if writer.functions:
        raise UnsupportedError("a function of Python (sd.external), which no source holds")
    if any(node.op in ("take", "put") for node in postorder(nodes)):
        raise UnsupportedError(f"elements at positions that a call brings have no form over {library.title}")
    fitting = [writer.place(one[:3], one.size) for one in spans]
    body = body_text(inputs, names, batched, reduce, written, fitting, guard="", more=", like")
    translator = _Translator(library, names)
    results = results or [f"result {number}" for number in range(len(nodes))]
    main = translator.translate(signature_text(inputs, names, batched, reduce, formula, results, nodes) + body)
    head = translator.translate(_HEAD.replace("BEGIN", library.begin.replace("\n", "\n    ")))
    functions = _functions(translator)
    title = f'"""A formula over {library.title}, written by symdiff. It needs {_needs(library)} alone."""'
    constants = [f"{own} = {array_text(values).replace('np.', 'numpy.')}" for own, values in writer.constants.items()]
    text = "\n\n\n".join([_ERROR.strip(), *constants, head, *functions, main]) + "\n"
    used = [line for line in library.imports.splitlines() if re.search(rf"\b{line.split()[-1]}\.", text)]
    return "\n".join([title, "", "import math", "", "import numpy", *used, "", "", text])


def _needs(library: ArrayLibrary) -> str:
    return f"{library.title} and NumPy" if library.imports else "a library of the standard, and NumPy,"


@cache
def _taken() -> frozenset[str]:
    words = "jax jnp lax torch xp numpy like special values arrays device dtype tensors floats placed"
    return frozenset({*words.split(), *dir(traced)})


def _spoken(text: str, library: ArrayLibrary) -> bool:
    """Tell whether a library has what NumPy source calls by a name."""
    if text in library.words or text.startswith("np."):
        return True
    short = text.removeprefix("special.")
    if text != short:
        return short in library.special.split()
    return short in _SHARED or short in _own()


@cache
def _own() -> Mapping[str, ast.FunctionDef]:
    """Return the functions that may be copied, by name: those of :mod:`.traced` before those that are shared."""
    found: dict[str, ast.FunctionDef] = {}
    for module in (numeric, traced):
        source = Path(str(module.__file__)).with_suffix(".py").read_text(encoding="utf-8")
        for part in ast.parse(source).body:
            if isinstance(part, ast.FunctionDef) and (module is traced or part.name in _SHARED):
                found[part.name] = part
    (turns,) = ast.parse(_TURNS).body
    assert isinstance(turns, ast.FunctionDef)
    found["turns"] = turns
    return found


def _functions(translator: _Translator) -> list[str]:
    """Return the functions that are called, in the library's words, behind those which they call."""
    done: dict[str, str] = {}
    while waiting := sorted(translator.called.difference(done)):
        for name in waiting:
            part = plain_function(_own()[name])
            if name == "like_of":
                part.body[-1] = ast.Return(_expression(translator.library.like))
            done[name] = translator.translate(ast.unparse(ast.fix_missing_locations(part)))
    return [done[name] for name in sorted(done)]


def _name_library(node: ast.FunctionDef) -> None:
    """Let a function begin with the library that its first array is of, where it calls any of it."""
    named = {one.ctx.__class__ for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == "xp"}
    if ast.Load not in named or ast.Store in named:
        return
    first = [one.arg for one in (*node.args.args, *([node.args.vararg] if node.args.vararg else []))]
    array = {"join": "parts[0]", "einsum": "arrays[0]", "_so_far": "x"}.get(node.name, first[0] if first else "")
    text = f"xp = {array}.__array_namespace__()" if array else "xp = numpy"
    node.body.insert(2 if node.name == "evaluate" else 1, ast.parse(text).body[0])


# ---------------------------------------------------------------------------- words


class _Put(ast.NodeTransformer):
    """Puts arguments in the place of ``_0``, ``_1`` and of keywords."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)


class _Translator(ast.NodeTransformer):
    """Puts NumPy source into a library's words, and notes which functions it calls."""

    def __init__(self, library: ArrayLibrary, arrays: Collection[str]) -> None:
        self.library = library
        self.arrays = arrays
        self.called: set[str] = set()

    def translate(self, text: str) -> str:
        """Return source in the library's words."""
        parts = self.visit(ast.parse(text)).body
        return "\n\n\n".join(ast.unparse(ast.fix_missing_locations(part)) for part in parts)

    # ------------------------------------------------------------------ statements

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Make one new array of zeros and what is written into them, which stand in two lines."""
        done: list[ast.stmt] = []
        for statement in body:
            before = done[-1] if done else None
            joined = _joined(before, statement) if before is not None else None
            if joined is None:
                done.append(statement)
            else:
                done[-1] = joined
        return done

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = self._block(node.body)
        self.generic_visit(node)
        if self.library.prefix == "xp":
            _name_library(node)
        return node

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        node.body = self._block(node.body)
        self.generic_visit(node)
        if self.library is not _JAX or not _is_variable(node.target):
            return node
        self.called.add("turns")
        return _as_fori_loop(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Leave away the early end of a loop whose steps change nothing any more, which a trace cannot see."""
        if ast.unparse(node.test).startswith("np.array_equal("):
            return None
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        (target,) = node.targets
        if self.library.prefix == "jnp" and isinstance(target, ast.Subscript) and _is_variable(target.value):
            name = ast.unparse(target.value)
            _name_positions(target)
            place = ast.Subscript(_expression(f"{name}.at"), target.slice, ast.Load())
            put = ast.Call(ast.Attribute(place, "set", ast.Load()), [node.value], [])
            node = ast.Assign([ast.Name(name, ast.Store())], put, lineno=node.lineno)
        self.generic_visit(node)
        return node

    # ------------------------------------------------------------------ expressions

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Leave a view of positions to NumPy."""
        self.called.update(_names(node) & _own().keys())
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if self.library is _TORCH and any(map(_is_backwards, places)):
            self.called.add("backwards")
            part = ast.unparse(ast.Subscript(_expression("x"), node.slice, ast.Load()))
            return _expression(f"backwards({ast.unparse(node.value)}, lambda x: {part})")
        is_new_axis = isinstance(node.slice, ast.Constant) and node.slice.value is None
        is_whole = any(isinstance(part, ast.Constant) and part.value is ... for part in places)
        is_read = isinstance(node.ctx, ast.Load) and (len(places) > 1 or is_new_axis)
        if self.library is _ARRAY_API and is_read and not is_whole:  # the standard wants a place for each axis
            node.slice = ast.Tuple([*places, ast.Constant(...)], ast.Load())
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in _own() and isinstance(node.ctx, ast.Load):
            self.called.add(node.id)
        if re.fullmatch("c[0-9]+", node.id) and isinstance(node.ctx, ast.Load):
            return _expression(f"{self.library.prefix}.asarray({node.id}, **like)")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        name = ast.unparse(node)
        word = self.library.words.get(name, "")
        if word and "(" not in word:
            return _expression(word)
        if name.startswith("np."):
            return _expression(f"{self.library.prefix}.{name.removeprefix('np.')}")
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = ast.unparse(node.func)
        own = self._simpler(name, node)
        if own is not None:
            found: ast.AST = self.visit(own)
            return found
        listed = node.args[_LISTED[name]] if name in _LISTED else None
        self.generic_visit(node)
        if listed is not None:
            node.args[_LISTED[name]] = listed  # positions are NumPy's
        short = name.removeprefix("np.")
        if name == "shifted_identity":
            return ast.Call(_expression(f"{self.library.prefix}.asarray"), [node], [_options()])
        if name.startswith("np.") and short in _CREATION:
            return self._creation(node)
        if short in _OVER_AXIS and len(node.args) == 2:
            node.keywords, node.args = [ast.keyword("axis", node.args[1])], node.args[:1]
        if not self.library.takes_numbers and (short in _OF_NUMBERS or name.startswith("special.") or name in _SCALAR):
            node.args = [self._number(arg) for arg in node.args]
        if name == "to_real" and len(node.args) == 1:
            node.args.append(ast.Name("like", ast.Load()))
        return self._said(name, node)

    def _simpler(self, name: str, node: ast.Call) -> ast.expr | None:
        """Return another call in NumPy's words that means the same, None for what is put into the library's words."""
        if name == "np.asarray" and any(one.arg == "dtype" and _says(one.value, "np.float64") for one in node.keywords):
            return node.args[0]
        if name == "np.array":
            options = [] if _is_condition(node.args[0]) else [_options()]
            return ast.Call(_expression("np.asarray"), node.args, options)
        if name == "len" and (_is_variable(node.args[0]) or ast.unparse(node.args[0]) in self.arrays):
            return _expression(f"{ast.unparse(node.args[0])}.shape[0]")
        if name == "np.prod" and self.library is _TORCH and "keepdims" not in {one.arg for one in node.keywords}:
            return ast.Call(_expression("product_of"), [node.args[0], node.keywords[0].value], [])
        if name == "np.einsum" and self.library is _ARRAY_API:
            return ast.Call(_expression("einsum"), node.args, [])
        if isinstance(node.func, ast.Attribute) and not re.fullmatch(r"(np|numpy|special)(\.\w+)+", name):
            return self._method(node)
        return None

    def _said(self, name: str, node: ast.Call) -> ast.AST:
        """Return a call in the library's words, whose arguments are in them already."""
        word = self.library.words.get(name, "")
        if "(" in word:
            given: dict[str, ast.expr] = {f"_{k}": arg for k, arg in enumerate(node.args)}
            given |= {key: ast.Constant(value) for key, value in _USUAL.items()}
            given |= {str(one.arg): one.value for one in node.keywords}
            if "like_of" in word:
                self.called.add("like_of")
            return _Put(given).visit(_expression(word))  # type: ignore[no-any-return]
        if name in self.library.words or name.startswith(("np.", "numpy.")):
            return node
        if (name.startswith("special.") or name in _SCALAR) and not _spoken(name, self.library):
            raise UnsupportedError(f"{name.removeprefix('special.')} is a function that {self.library.title} lacks")
        return node

    def _method(self, node: ast.Call) -> ast.expr | None:
        """Return a call of an array's method as that of a function."""
        assert isinstance(node.func, ast.Attribute)
        array, name = node.func.value, node.func.attr
        if name in ("transpose", "reshape"):
            return ast.Call(_expression(f"np.{name}"), [array, ast.Tuple(list(node.args), ast.Load())], [])
        if name == "sum":
            return ast.Call(_expression("np.sum"), [array], node.keywords)
        return None

    def _creation(self, node: ast.Call) -> ast.expr:
        """Return a call that makes an array with the options of arrays beside the arguments."""
        is_eye = ast.unparse(node.func).endswith("eye")
        shape, rest = node.args[0], node.args[1:]
        if isinstance(shape, ast.Constant) and not is_eye:
            shape = ast.Tuple([shape], ast.Load())
        kind = ast.unparse(rest[0]).rpartition(".")[2] if rest else ""
        if kind in ("bool_", "float64"):  # what np.zeros has behind the shape
            rest = []
        if kind == "bool_":
            falsity = ast.Call(_expression(f"{self.library.prefix}.zeros"), [shape], [_options()])
            return ast.Compare(falsity, [ast.NotEq()], [ast.Constant(0.0)])
        options = [] if rest and _is_condition(rest[0]) else [_options()]
        return ast.Call(node.func, [shape, *rest], options)

    def _number(self, arg: ast.expr) -> ast.expr:
        """Return a number as an array."""
        plain = arg.operand if isinstance(arg, ast.UnaryOp) else arg
        is_number = isinstance(plain, ast.Constant) and isinstance(plain.value, float)
        if is_number or ast.unparse(plain) in (f"{self.library.prefix}.nan", f"{self.library.prefix}.inf"):
            text = ast.unparse(arg)
            return _expression(f"{self.library.prefix}.asarray({text}, **like)")
        return arg


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _is_condition(node: ast.expr) -> bool:
    """Tell whether a number, or lists of them, are True or False."""
    return any(isinstance(one, ast.Constant) and isinstance(one.value, bool) for one in ast.walk(node))


def _options() -> ast.keyword:
    return ast.keyword(None, ast.Name("like", ast.Load()))


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _says(node: ast.AST | None, text: str) -> bool:
    return node is not None and ast.unparse(node) == text


def _is_variable(node: ast.expr) -> bool:
    """Tell whether an expression is a variable of the function."""
    return isinstance(node, ast.Name) and re.fullmatch("v[0-9]+", node.id) is not None


def _name_positions(target: ast.Subscript) -> None:
    """Put the positions in the place of a slice ``begin + step * size:...``, whose ends a trace does not know."""
    places = target.slice.elts if isinstance(target.slice, ast.Tuple) else []
    for k, part in enumerate(places):
        first = part.lower if isinstance(part, ast.Slice) else None
        product = first.right if isinstance(first, ast.BinOp) else None
        if first and isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult) and _is_variable(product.left):
            places[k] = _expression(f"{ast.unparse(first)} + numpy.arange({ast.unparse(product.right)})")


def _as_fori_loop(node: ast.For) -> list[ast.stmt]:
    """Return a loop as a function of what the steps carry on, for JAX to trace once."""
    body = [part for part in node.body if not isinstance(part, ast.Delete)]
    changed = set().union(*(_stored(part) for part in body))
    assigned: set[str] = set()
    carried: list[str] = []
    for part in body:
        carried += sorted((_read(part) & changed) - assigned)
        assigned |= _stored(part)
    last = body[-1]
    if isinstance(last, ast.Assign):  # what the next step gets
        carried += [one.id for one in ast.walk(last.targets[0]) if isinstance(one, ast.Name)]
    state = f"({', '.join(dict.fromkeys(carried))},)"
    number = ast.unparse(node.target)
    assert isinstance(node.iter, ast.Call)
    inner = node.iter.args[0]
    backwards = ast.unparse(node.iter.func) == "reversed"
    size = ast.unparse(inner.args[0]) if backwards and isinstance(inner, ast.Call) else ast.unparse(inner)
    text = f"def turn({number}, state):\n    {state} = state\n"
    text += f"    {number} = {size} - 1 - {number}\n" if backwards else ""
    (made,) = ast.parse(text + f"    return {state}").body
    assert isinstance(made, ast.FunctionDef)
    made.body[-1:-1] = body
    return [made, *ast.parse(f"{state} = turns({size}, turn, {state})").body]


def _stored(part: ast.stmt) -> set[str]:
    """Return the variables that a statement sets; what a function sets is its own."""
    if isinstance(part, ast.FunctionDef):
        return set()
    return {one.id for one in ast.walk(part) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _read(part: ast.stmt) -> set[str]:
    """Return the variables that a statement reads, a function those from outside."""
    own = set().union(*map(_stored, part.body)) if isinstance(part, ast.FunctionDef) else set()
    return {one.id for one in ast.walk(part) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)} - own


def _is_backwards(part: ast.expr) -> bool:
    """Tell whether a place runs along its axis from the end: a slice, or what ``span`` gives."""
    if isinstance(part, ast.Call) and _says(part.func, "span"):
        return ast.unparse(part.args[1]).startswith("-")
    return isinstance(part, ast.Slice) and part.step is not None and ast.unparse(part.step).startswith("-")


def _joined(first: ast.stmt, second: ast.stmt) -> ast.stmt | None:
    """Return zeros and what is written into them as one new array, None for other lines."""
    if not (isinstance(first, ast.Assign) and ast.unparse(first.value).startswith("np.zeros(")):
        return None
    name = ast.unparse(first.targets[0])
    assert isinstance(first.value, ast.Call)
    shape = first.value.args[0]
    if not isinstance(shape, ast.Tuple):
        return None
    if isinstance(second, ast.Assign) and isinstance(second.targets[0], ast.Subscript):
        view, value = ast.unparse(second.targets[0]), second.value
    elif isinstance(second, ast.Expr) and ast.unparse(second.value).startswith("np.add.at("):
        assert isinstance(second.value, ast.Call)
        place, value = second.value.args[1], second.value.args[2]
        assert isinstance(place, ast.Subscript)
        view = ast.unparse(ast.Subscript(_expression(name), place.slice, ast.Load()))
    else:
        return None
    if not re.search(rf"\b{name}\b", view):
        return None
    view = re.sub(rf"\b{name}\b", "z", view).replace("np.", "numpy.").replace("(z.at[...])", "z")
    if isinstance(value, ast.Constant | ast.UnaryOp) and not any(isinstance(one, ast.Name) for one in ast.walk(value)):
        value = _expression(f"np.asarray({ast.unparse(value)}, **like)")
    sizes = ", ".join(ast.unparse(part) for part in shape.elts[1:])
    text = f"{name} = placed({ast.unparse(value)}, lambda z: {view}, ({sizes}{',' if sizes else ''}))"
    return ast.parse(text).body[0]

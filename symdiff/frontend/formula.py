"""The three front ends as one: text, SymPy and symbols, read into symbolic arrays.

A :class:`Formula` is what every public function starts from: outputs in the structure the
user gave them, the inputs in order, and a way to read further expressions (variables of
a derivative, a seed) in the same terms.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, ParseError, SymdiffError
from ..graph import REAL, Node, inputs_of, reshape, substitute, walk_sizes
from ..graph import input as make_input
from ..graph.dump import record_text
from ..ground.advice import OPTIONS, close_to
from ..ground.guard import described, users
from ..ground.names import is_name
from .array import Array, asarray
from .functions.closing import refuse_strays
from .numpy.operands import as_node
from .outputs import is_structure, leaves, transform
from .provenance import join, named_inputs, of_inputs
from .shapes import another, check_names, listed, own_shapes, two_of, unknown_name
from .symbols import check_name, sparse_in, symbols_of
from .sympy import Inputs, from_sympy, holds_sympy, is_sympy, listed_symbols, symbols_in

if TYPE_CHECKING:
    from .text.parse import Parsed


@dataclass(frozen=True)
class Formula:
    """A formula read by any front end.

    Parameters
    ----------
    value : Array, or list, tuple or dict of them
        The outputs.
    inputs : dict of str to Array
        In order: as shapes were given, then of first use, those that vanished from a derivative among them.
    read : callable
        Reads another expression, or several in a tuple or list, in terms of the same inputs.
    options : sequence of str
        Keywords of the function that was called, for which a shape may have been meant.
    unused : set of str
        Names with a shape that nothing mentioned: reading an expression that does takes them out.
    groups : dict of str to structure
        Parameters of a Python function that are structures of inputs, and not one input.
    registry : Inputs, optional
        What stands behind the names of a formula's inputs that came as SymPy.
    """

    value: Any
    inputs: dict[str, Array] = field(default_factory=dict)
    read: Callable[[Any], Any] = as_node
    options: Sequence[str] = ()
    unused: set[str] = field(default_factory=set)
    groups: Mapping[str, Any] = field(default_factory=dict)
    registry: Inputs | None = None

    def __repr__(self) -> str:
        return record_text(self)

    def variables(self, wrt: Any) -> Any:
        """Read what to differentiate with respect to.

        Raises
        ------
        ArgumentError
            If it is unknown, has the name of an input and another shape, or is what other inputs are functions
            of, as in SymPy ``q(t)`` is of ``t``.
        """
        wrt = by_name(wrt)
        try:
            by = self.read(wrt)
        except ParseError:
            for one in leaves(wrt):
                self._refuse_unknown(one)
            raise
        variables = [as_node(one) for one in leaves(by) if isinstance(one, Array | float)]
        if any(node.is_constant for node in variables) and any(isinstance(one, str) for one in leaves(wrt)):
            raise ArgumentError(f"{wrt!r:.60} is a number here; expected inputs, which names are by a shape: e=()")
        for node in inputs_of(variables):
            own = self.inputs.get(str(node.name))
            if own is not None and own.node is not node:
                raise ArgumentError(another(own.node, node))
        if self.registry is not None:
            for one in leaves(by):
                self.registry.refuse_partial(as_node(one))
        return by

    def _refuse_unknown(self, name: Any) -> None:
        """Refuse a name that the formula does not have: a shape, which the parser asks for, would not help."""
        if isinstance(name, str) and is_name(name):
            try:
                self.read(name)
            except ParseError:
                raise ArgumentError(
                    f"{name!r} is no input of the formula, and no definition in it{close_to(name, self.inputs)}; "
                    f"differentiate with respect to one of its inputs: {listed(list(self.inputs))}; for zeros, "
                    f"declare it, {name}=(), and pass disconnected='zero'"
                ) from None

    def refuse_unused(self, what: str = "a shape") -> None:
        """Refuse a shape that nothing mentions: more likely its name, or that of an option, is misspelt.

        Raises
        ------
        ArgumentError
            With the names that are close.
        """
        for name in self.inputs:
            if name in self.unused:
                raise unknown_name(name, self.options, [n for n in self.inputs if n not in self.unused], what)


def _is_parameter(value: object) -> bool:
    """Tell whether a value is an input as a kernel tells of it."""
    return isinstance(value, tuple) and hasattr(value, "assumptions")


def by_name(value: Any) -> Any:
    """Return an input as a kernel tells of it by its name, also in lists and tuples; anything else as it is."""
    if _is_parameter(value):
        return value.name
    return type(value)(map(by_name, value)) if type(value) in (list, tuple) else value


def _is_sympy(value: object) -> bool:
    return is_sympy(value) or holds_sympy(value)


def read_formula(
    formula: Any,
    shapes: Mapping[str, Any] | None = None,
    options: Sequence[str] = (),
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Formula:
    """Read text, SymPy, symbols, or a Python function over symbols.

    Parameters
    ----------
    formula : str, SymPy expression or matrix, Array, callable, or list, tuple or dict of them
        Several texts have their inputs in common: a name is the same input in all.
    shapes : mapping of str to shape, optional
        Shapes of the inputs of text, or of a function's parameters. Text without any has
        scalars for inputs.
    options : sequence of str, optional
        Keywords besides names of inputs, for messages.
    functions : mapping of str to callable, optional
        What text may call besides the functions of the language.

    Returns
    -------
    Formula

    Raises
    ------
    ArgumentError
        If something is none of these, or shapes are given for a formula that carries its own.
    ParseError, ShapeError, LimitError, UnsupportedError
        If the formula is not sound.

    Notes
    -----
    Inputs come in the order of the shapes given, else of first use in the formula as it was written: in
    text from left to right, in symbols operand by operand, in SymPy in the order in which it keeps its
    terms (``expr.args``; it sorts them, alike in every process).
    """
    read = _read(formula, dict(shapes or {}), options, functions)
    check_names({name: one for name, one in read.inputs.items() if name not in read.unused})
    return replace(read, groups={**sparse_in(read.inputs), **read.groups})


def _read(
    formula: Any, given: dict[str, Any], options: Sequence[str], functions: Mapping[str, Callable[..., Any]] | None
) -> Formula:
    if callable(formula) and not isinstance(formula, Array) and not is_sympy(formula):
        return _trace(formula, given, options)
    parts = [formula] if _is_sympy(formula) else leaves(formula)
    if any(isinstance(part, str) for part in parts):
        return _read_text(formula, given, options, functions)
    kind = "SymPy expressions" if any(map(_is_sympy, parts)) else "symbols"
    read = _read_sympy(formula) if kind != "symbols" else _read_symbols(formula)
    if kind == "symbols" and given.keys() <= read.inputs.keys():
        from .text.parse import declare

        given = {name: given[name] for name in _differing(declare(given), read.inputs)}
    if given:
        raise own_shapes(given, read.inputs, options, kind)
    return read


def _map(value: Any, read: Callable[[Any], Any]) -> Any:
    return transform(value, read, is_sympy)


def inputs_in(value: Any) -> dict[str, Array]:
    """Return the inputs in order of first use; one that vanished makes way for another of its name."""
    outputs = leaves(value)
    used = inputs_of([output.node for output in outputs])
    refuse_strays(used)
    found = named_inputs(used, join(output.provenance for output in outputs))
    return {name: Array(node) for name, node in found.items()}


def _differing(inputs: Mapping[str, Array], symbols: Mapping[str, Array]) -> list[str]:
    """Return the names of which inputs are not the symbols."""
    return [name for name, one in inputs.items() if name in symbols and one.node is not symbols[name].node]


def _read_text(
    formula: Any, shapes: dict[str, Any], options: Sequence[str], functions: Mapping[str, Callable[..., Any]] | None
) -> Formula:
    from .text.parse import declare, parse_within
    from .text.vocabulary import with_functions

    vocabulary = with_functions(functions)

    # symbols and SymPy beside texts, such as derivatives of them, bring inputs of their own
    formula = _with_columns(_sympy_read(formula, registry := Inputs()), registry, shapes)
    own = inputs_in([asarray(part) for part in leaves(formula) if not isinstance(part, str)])
    try:
        inputs = declare(shapes)
        differ = _differing(inputs, own)
        if differ:
            raise own_shapes({name: shapes[name] for name in differ}, own, options, "symbols")
    except SymdiffError:
        _refuse_misspelt(formula, shapes, options)
        raise
    unused = inputs.keys() - own
    inputs |= own
    measured, defined = set[str](), dict[str, Array]()

    def parse(text: str, known: dict[str, Array], undeclared: str) -> Parsed:
        parsed = parse_within(text, known, undeclared=undeclared, functions=vocabulary)
        unused.difference_update(parsed.mentioned)
        measured.update(parsed.measured)
        return parsed

    def read_output(text: Any) -> Any:
        if not isinstance(text, str):
            return asarray(text)
        parsed = parse(text, inputs, "distinct" if shapes or own else "scalar")
        defined.update(parsed.names)
        return parsed.result

    def read(part: Any) -> Any:
        known = {**inputs, **defined}

        def one(leaf: Any) -> Any:
            name = getattr(leaf, "name", None) if is_sympy(leaf) else leaf  # a symbol of SymPy's by its name
            return parse(name, known, "error").result if isinstance(name, str) else leaf

        return _map(part, one)

    try:
        value = _map(formula, read_output)
    except ParseError:
        _refuse_misspelt(formula, shapes, options)
        raise
    # what gives a letter that the text asks for is not mentioned in vain: eye(n) over x="n"
    letters = measured.difference(walk_sizes([inputs[name].node for name in inputs.keys() - unused]))
    giving = [name for name in unused - OPTIONS.keys() if letters.intersection(walk_sizes([inputs[name].node]))]
    unused.difference_update(giving)
    for name in defined:
        if name in inputs:
            raise ArgumentError(f"{name!r} is defined in one text and an input of another; define it in both")
    return Formula(_remembering(value, inputs), inputs, read, options, unused)


def _sympy_read(value: Any, registry: Inputs) -> Any:
    """Return a structure with arrays in place of its SymPy expressions."""

    def read_one(part: Any) -> Any:
        if not _is_sympy(part):
            return part
        node = from_sympy(part, registry)
        return Array(node, of_inputs(registry.nodes(), registry.remembered()))

    return _map(value, read_one)


def _with_columns(value: Any, registry: Inputs, shapes: Mapping[str, Any]) -> Any:
    """Return arrays read from SymPy over the vectors that text declares: SymPy has columns for them."""
    from .text.parse import declare

    columns = {str(node.name): node for node in registry.nodes() if node.ndim == 2 and node.shape[1] == 1}
    wanted = declare({name: shapes[name] for name in columns if name in shapes})
    vectors = {
        columns[name]: one.node
        for name, one in wanted.items()
        if one.shape == columns[name].shape[:1] and one.node.dtype is REAL
    }
    known = {column: reshape(vector, column.shape) for column, vector in vectors.items()}

    def over_vectors(part: Any) -> Any:
        if not known or not isinstance(part, Array):
            return part
        inputs = [vectors.get(node, node) for node in registry.nodes()]
        return Array(substitute([part.node], known)[0], of_inputs(inputs, registry.remembered()))

    return _map(value, over_vectors)


def _refuse_misspelt(formula: Any, shapes: Mapping[str, Any], options: Sequence[str]) -> None:
    """Refuse a shape whose name the text does not have, if it is close to an option's, or is no shape."""
    from ..ground.grammar import mentioned
    from .text.parse import declare

    names = mentioned([part for part in leaves(formula) if isinstance(part, str)])
    for name in shapes if options else ():
        if names is not None and name not in names:
            unknown = unknown_name(name, options, [n for n in shapes if n in names], "a shape")
            if name in OPTIONS or close_to(name, options):
                raise unknown from None
            try:
                declare({name: shapes[name]})
            except SymdiffError as error:
                raise ArgumentError(f"{unknown}. As a shape: {error}") from None


def _remembering(value: Any, inputs: Mapping[str, Array]) -> Any:
    """Return outputs that know the order of the inputs they were read with."""
    record = of_inputs(one.node for one in inputs.values())
    return _map(value, lambda output: Array(output.node, record.joined(output.provenance)))


def _read_symbols(formula: Any) -> Formula:
    value = _map(formula, asarray)
    inputs = inputs_in(value)
    return Formula(value, inputs, _symbols_reader(inputs))


def _symbols_reader(inputs: Mapping[str, Array]) -> Callable[[Any], Any]:
    """Return a reader beside a formula of symbols, which may be a derivative of a SymPy expression."""

    def read(part: Any) -> Any:
        if isinstance(part, str):
            if part in inputs:
                return inputs[part]
            raise ArgumentError(
                f"{part!r:.60} as text beside a formula of symbols; give the symbol itself, or the name of an input: "
                f"{', '.join(inputs) or 'none'}"
            )
        return one(part) if is_sympy(part) else _map(part, one) if is_structure(part) else part

    def one(leaf: Any) -> Any:
        if not is_sympy(leaf):
            return read(leaf) if isinstance(leaf, str) else leaf
        registry = Inputs()
        node = from_sympy(leaf, registry)
        for own in inputs_of([node]):
            if f"{own.name}_1" in inputs:
                raise ArgumentError(f"several inputs were called {own.name!r} in SymPy; expected different names")
        return Array(node, of_inputs(registry.nodes(), registry.remembered()))

    return read


def _read_sympy(formula: Any) -> Formula:
    registry = Inputs()
    value = _map(_sympy_read(formula, registry), asarray)
    inputs = inputs_in(value)

    def read(part: Any) -> Any:
        def one(leaf: Any) -> Any:
            if isinstance(leaf, str):
                if leaf not in inputs:
                    raise ArgumentError(f"{leaf!r:.60} is not an input; inputs: {', '.join(inputs) or 'none'}")
                return inputs[leaf]
            return leaf

        return _map(_sympy_read(part, registry), one)

    return Formula(value, inputs, read, registry=registry)


def _trace(function: Callable[..., Any], shapes: dict[str, Any], options: Sequence[str]) -> Formula:
    """Call a Python function with symbols of the shapes given, a kernel with those of its inputs."""
    known = getattr(function, "inputs", ()) if hasattr(function, "stats") else ()
    if set(shapes) <= {one.name for one in known}:
        own = [make_input(one.name, one.shape, one.dtype, one.assumptions) for one in known]
        shapes = {**{str(node.name): Array(node) for node in own}, **shapes}
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise ArgumentError(f"{function!r:.60} has no parameters symdiff can read; call it with symbols") from None
    wanted = [p.name for p in parameters if p.default is p.empty or p.name in shapes]
    missing, strange = [n for n in wanted if n not in shapes], [n for n in shapes if n not in wanted]
    if missing or strange:
        if strange and options and not missing:
            raise unknown_name(strange[0], options, wanted, "a shape", "the function has no parameter")
        close = close_to(strange[0], [*options, *missing]) if strange else ""
        what = "kernel, whose formula is kernel(*symbols)," if hasattr(function, "stats") else "function"
        raise ArgumentError(
            f"the {what} takes {', '.join(wanted) or 'nothing'}; shapes came for {', '.join(shapes) or 'none'}"
            f"{close}. Give one for each, e.g. {(missing or ['x'])[0]}=(3, 3)"
        )
    given = {check_name(name): symbols_of(name, shape) for name, shape in shapes.items()}
    symbols = {str(one.node.name): one for one in leaves(given)}
    if len(symbols) < len(leaves(given)):
        raise ArgumentError("two parts of the function's parameters get one name; expected other keys, or other names")
    value = _remembering(_map(users(function)(**given), asarray), symbols)
    used = inputs_in([*symbols.values(), *leaves(value)])  # symbols that the function takes from outside come last
    groups = {name: own for name, own in given.items() if is_structure(own)}

    def read(part: Any) -> Any:
        def one(leaf: Any) -> Any:
            if not isinstance(leaf, str):
                return leaf
            if leaf in groups:
                return groups[leaf]
            from .text.parse import parse_known

            return parse_known(leaf, used)

        return _map(part, one)

    return Formula(value, used, read, options, groups=groups)


def order_inputs(formula: Formula, inputs: Sequence[Any] | None) -> dict[str, Node]:
    """Return the inputs in the order of the kernel's arguments.

    Parameters
    ----------
    formula : Formula
    inputs : sequence of Array, SymPy symbol or str, optional
        The order wanted; must hold every input that the formula depends on, and may hold others. By default
        that of the formula's inputs.

    Raises
    ------
    ArgumentError
        If one is missing, comes twice, or is not an input.
    """
    if inputs is None:
        return {name: a.node for name, a in formula.inputs.items()}
    if isinstance(inputs, Mapping):
        raise ArgumentError(
            f"inputs= is a dict of {', '.join(map(str, inputs))}; expected names in an order, inputs=['x', 'y']; "
            "shapes come by name, x=3, or in shapes={...}"
        )
    inputs = by_name(listed_symbols(inputs))
    if isinstance(inputs, str | Array) or is_sympy(inputs):
        inputs = symbols_in(inputs) or [inputs]

    def read(wanted: Any) -> list[Node]:
        group = formula.groups.get(wanted) if isinstance(wanted, str) else None
        try:
            return [as_node(one) for one in leaves(formula.read(wanted) if group is None else group, is_sympy)]
        except ParseError as error:
            raise ArgumentError(f"inputs= holds {wanted!r:.60}, which is not an input: {error}") from None

    ordered: dict[str, Node] = {}
    for node in (node for one in leaves(inputs, is_sympy) for node in read(one)):
        if not node.is_input or not isinstance(node.name, str):
            raise ArgumentError("inputs= holds something that is not an input; expected symbols, or names with shapes")
        if node.name in ordered:
            raise ArgumentError(f"inputs= names {node.name!r} twice")
        ordered[node.name] = node
    needed = inputs_of(output.node for output in leaves(formula.value))
    for node in needed:
        same = ordered.get(str(node.name))
        if same is not None and same is not node:
            raise ArgumentError(two_of(node, same))
    missing = [str(node.name) for node in needed if str(node.name) not in ordered]
    if missing:
        raise ArgumentError(f"the formula depends on {', '.join(missing)}, which inputs= lacks; add it there")
    return ordered


def order_names(formula: Formula, wanted: Sequence[Any]) -> list[str]:
    """Return the names of some of the inputs."""
    wanted = by_name(wanted)
    several = [wanted] if isinstance(wanted, str | Array) else leaves(wanted)
    found = [
        part
        for one in several
        for part in ([one] if isinstance(one, str) and one not in formula.groups else leaves(formula.read(one)))
    ]
    for one in found:
        if not isinstance(one, str | Array):
            raise ArgumentError(
                f"batch= holds {one!r:.40} of type {type(one).__name__}; expected inputs, or names of them: batch=['x']"
            )
    wanted_names = [one if isinstance(one, str) else str(one.node.name) for one in found]
    formula.unused.difference_update(wanted_names)
    return wanted_names


def merge_shapes(shapes: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """Join the two ways of giving shapes; an input in both is refused."""
    if not isinstance(shapes or {}, Mapping):
        raise ArgumentError(f"shapes={described(shapes)}; expected a dict of names and shapes, {{'x': 3, 'A': (3, 3)}}")
    given = dict(shapes or {})
    for name, shape in named.items():
        if name in given:
            raise ArgumentError(f"the shape of {name!r} comes twice, in shapes= and by keyword")
        given[name] = shape
    return given

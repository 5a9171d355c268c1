"""Write docs/functions.md, the table of docs/export.md and the types of ``compile``: ``python docs/generate.py``.

They follow from symdiff's tables and the options of ``compile``. A test compares them with what this makes.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from symdiff.calculus.rules import LAWS
from symdiff.codegen import TARGETS, print_files
from symdiff.compiler import compile
from symdiff.frontend.numpy.library import LIBRARY, MODULES, Entry
from symdiff.frontend.numpy.operands import names_of
from symdiff.frontend.text.vocabulary import DERIVATIVES, TEXT_FUNCTIONS
from symdiff.graph import BOOL, Node, elementwise, input
from symdiff.graph.scalars.functions import ALIASES, FUNCTIONS, Function, Partial, where
from symdiff.ground.advice import REFUSED
from symdiff.libraries.stats.table import DISTRIBUTIONS
from symdiff.libraries.xp import ABSENT, CHAPTERS, linalg
from symdiff.printing import text
from symdiff.rewrite import RULES, simplify

TYPES = Path(__file__).resolve().parents[1] / "symdiff" / "runtime" / "typed.pyi"
PAGE, EXPORT = (Path(__file__).with_name(name) for name in ("functions.md", "export.md"))

HEAD = """# Functions

This page is made from symdiff's tables by `python docs/generate.py`; edit those, not this. First come the functions
that people write, by subject and alphabet: [scalars](#functions-of-numbers), [special functions](#special-functions),
[arrays](#array-operations), [distributions](#distributions), the [array API](#array-api). Behind them stand
[differentials](#differentials-of-array-operations), [rewrites](#rewrites), what
[remains as it was written](#what-remains-as-it-was-written), and the functions that
[derivatives are made of](#what-derivatives-are-made-of).
"""

NAMES = """## Names

Formula text calls all functions of this page by their bare names. In Python, NumPy's functions take symbols as they
are, `np.median(x)`; symdiff's modules hold these, and `sd.function(name)` gives any operation by its name.
"""

SCALAR = """## Functions of numbers

Applied element by element, with broadcasting. Partial derivatives are formulas of the same functions, so they can be
differentiated again. Arguments are called x, or by the names that are shown with a function, in NumPy's and SciPy's
order. A DLMF number is a section of the [Digital Library of Mathematical Functions](https://dlmf.nist.gov). *Tested on*
is where the tests draw arguments from, to third order, besides the ends of the domain.
"""

KINKS = """**At kinks and ties** first derivatives are composed by the chain rule from those of single kinks: `abs`
has the slope 0 at 0, which is the mean of both sides, and elements that tie in `maximum`, `max`, `cummax`, `sort` and
quantiles share equally, the mean over all orders of the tie. So a single kink has the mean of its one-sided slopes; two
that meet, one within the other, have what the chain rule makes of two means. `where` takes its branch, and so does
`leaky_relu`, whose slope at 0 is 1; constant pieces have the derivative 0, `interp` takes the piece that begins at a
point. A formula of a norm that has no derivative at 0 is nan there.

Second and further derivatives are those of both sides, and their mean. Where kinks meet in a product, or elements of
one array that are multiples of one another (`sum(abs(x - x[::-1]))**2`), all are taken on one side along a direction
of the inputs, and then all on the other; elements that tie are told apart in the same way, in two opposite orders. So a
formula that is smooth through its kinks has its true derivatives: those of `sum(sort(x)**2)` are those of `x @ x`,
those of `max(x) * min(x)` of two numbers are those of their product, and those of `abs(x) * abs(sin(x))` are those of
`x * sin(x)`. Elsewhere they are a convention: `max(x)**2` and `maximum(x[0], x[1])**2` have the second derivative
diag(1, 1) at a tie of two. Of three or more that tie, the first and the last are taken.

Kinks that are none are removed before: `abs(x @ x)`, `maximum(x**2, 0)`, `sqrt((1 - cos(x))**2)` and
`abs(exp(x) - 1 - x)` are what is never negative, by the ranges, parities, monotony and tangents of functions in the
table, and `norm(abs(x))` is `norm(x)`. Second derivatives that divide by a length, as those of `norm(x) * norm(sin(x))`
and `x[0]**2 * norm(x)`, are their limits where the length is 0, if they have one from all sides; so are third
ones, with seven digits where they are no functions of the length alone.
`symdiff.check` lists the kinks that a point lies on.
"""

ARRAYS = """## Array operations

With NumPy's meaning. Text may call all of them, except those marked: these take what text has no way to write, and are
NumPy's functions on symbols.
"""

MADE_OF = """## What derivatives are made of

Derivatives of other functions are shown with these, and text that has them is read. Nobody needs to write one.
"""

#: Names that nobody writes: they stand in derivatives.
INTERNAL = re.compile(
    "_by_|_derivative$|_moment$|_far$|^(wofz|voigt)_(real|imag)|_differential|^isotropic|^simple_"
    "|^(grid_gradient|arrange|restore|eigenvectors)$"
)
#: Subjects of array operations, with the parts of the package that their functions are in, and names.
SUBJECTS = {
    "Element by element": ("scalars", "clip", "select", "where", "round", "imag", "divmod", "airy", "sici", "fresnel"),
    "Sums, means and order": ("reductions", "statistics", "sequences"),
    "Linear algebra": ("linalg", "spectra", "operations"),
    "Shapes and creation": (
        "shaping", "pieces", "broadcast_to", "matrix_transpose", "zeros", "ones", "zeros_like",
        "ones_like", "full_like",
    ),
    "Positions, choices and lookups": (
        "", "add_at", "one_hot", "poly", "polyadd", "polyder", "polyfit", "polyint", "polymul", "polysub", "take_at",
    ),
}

DENSITIES = """## Distributions

`sd.stats.norm.logpdf(x, loc, scale)` of symbols is a formula, of numbers a number; text writes
`norm_logpdf(x, loc, scale)`. Names, parameters and their order are those of `scipy.stats`, and parameters broadcast.
Outside of its support a log density is -inf, and its derivatives are 0; at an end of it the value is SciPy's, and the
derivatives are 0 where the density has none. Parameters outside of their domain are not looked for: the value is what
the formula gives there. The distribution functions and quantiles of t, gamma, chi2, invgamma, beta and gennorm
have no derivative with respect to a shape; one is refused by name. `ppf` and `isf` take a probability q, and are nan
where it is none. Letters are books:
JKB and JKK the *univariate distributions* of Johnson, Kotz and others, KBJ
the multivariate ones, by chapter.
"""

STANDARD = """## Array API

`sd.xp` has the functions of the Python array API standard, with its arguments; [array API](array_api.md) says how it
is used and where it differs.
"""

DIFFERENTIALS = """## Differentials of array operations

One rule for each; reverse mode is its transpose. Everything else (products, sums, slices, reshapes, joins) is linear in
each argument, and so its own differential. `sd.steps` tells by which of them a derivative comes about. MN is Magnus and
Neudecker, Matrix Differential Calculus (2019); MC Petersen and Pedersen, The Matrix Cookbook (2012); Giles is Giles,
Collected matrix derivative results for forward and reverse mode (2008).
"""

REWRITES = """## Rewrites

Made from the leaves up, until none fits. Those for stability come before differentiation as well, and `kernel.rewrites`
names the ones that were made.
"""

REMAINING = """## What remains as it was written

These forms are computed as they stand, so a nan or an inf can appear where the mathematics is finite. `symdiff.check`
computes such a point in 120 digits and names the operation. Second slopes at kinks within loops
are products of mean slopes there, which is another number than the mean of both sides.

`yv(v, x)` is nan where `abs(v) > 1e4` and `x > 1e9`: a whole order takes seconds there.

`softmax` of a row of -inf alone is 0, where SciPy has nan: the slope of `logsumexp` by what is impossible is 0.

A formula that is shown has the values that are computed at all finite inputs, up to rounding. Where an input is nan or
infinite they may differ from it, and from NumPy's: the gradient of `sum(softmax(x))` is shown as zeros and is nan for a
nan, `t - 2*t` is -t at infinity, too, and the zeros of `pad`, `tril`, `triu`, `diag` and `eye` stay 0 in native code
beside a nan or an infinity, which `backend="numpy"` multiplies by 0.
"""

#: Forms that are not rewritten, where they go wrong, and what to write.
FORMS = (
    ("differences of poles, `1/tanh(x) - 1/x`, `1/x - 1/(exp(x) - 1)`", "near 0", "one quotient"),
    ("other functions above and below, `gamma(x) / gamma(x - 1)`, `prod(v) / prod(2*v)`", "overflow", "logarithms"),
    ("differences of large exponentials, `cosh(x) - sinh(x)`", "overflow", "`exp(-x)`"),
    ("roots of sums of exponentials, `sqrt(1 + exp(x))`", "overflow", "`exp(softplus(x) / 2)`"),
    ("several sums of exponentials, coefficients of unknown sign, exponents of several inputs", "overflow", "one sum"),
    ("sums of squares and a number, `sqrt(x**2 + 1)`", "above 1e154", "`hypot(x, 1)`"),
    ("a number over a length, `1 / norm(x)`, in native code; norms over long axes", "beyond 1e±154", "scaled x"),
    ("relative entropies of shares, `rel_entr(a, sigmoid(x))`", "beyond ±700", "`entr`, `bernoulli.logpmf`"),
    ("`log(sinh(x) / x)`, `log1p(exp(x)) / exp(x)`", "beyond ±700", "a difference of logarithms"),
    ("slopes of `1 / (1 + sinh(x)**2)`", "beyond ±350", "`1 / cosh(x)**2`"),
    ("functions of what overflows, `arcsinh(exp(x))`, `log1p(cosh(x)**2)`", "overflow", "logarithms"),
    ("powers of numbers, `2**x / (1 + 2**x)`", "beyond 1e308", "`sigmoid(log(2) * x)`"),
    ("powers that overflow times what vanishes, `x**2 * exp(-x)`", "beyond 1e154", "`exp(2*log(x) - x)`"),
    ("a function of a power over it, `sin(x**2) / x**2`", "above 1e154", "a variable for `x**2`"),
    ("logarithms of what is nearly 1, `log(sin(x) / x)`", "near 0, digits", "the first terms of its series"),
    ("powers and reciprocals that cancel, `x**3 / x**2`, `(1/(1 + x) - 1) / x`", "at 0", "`x`, `-1 / (1 + x)`"),
    ("logarithms over x, `log(cosh(x)) / x**2`, `log((1 + x) / (1 - x)) / x`", "at 0", "the first terms of its series"),
    ("quotients of rests, `(cosh(x) - 1) / sinh(x)`, `(1 - x / tan(x)) / x**2`", "at 0", "`tanh(x / 2)`, its series"),
    ("functions of two arguments over one, `arctan2(x, 1) / x`", "at 0", "`arctan(x) / x`"),
    ("roots of what vanishes, `sqrt(log(1 + exp(x)))`", "below -700", "`exp(x / 2)`"),
    ("exponentials that cancel, `log(sinh(x) + cosh(x))`", "overflow", "`x`"),
    ("densities at infinity, `gamma.logpdf(inf, 1)`, slopes of `gammainc(a, inf)`", "at infinity", "a finite place"),
    ("second slopes of `betainc(a, b, x)`", "x = 0, x = 1", "the product that its slope is"),
    ("`nbinom` of counts above 1e8, `vonmises` of kappa above 1e8", "digits", "`poisson`, `norm`"),
    ("`log(1 + tanh(x)) / tanh(x)`, `(sqrt(1 + tanh(x)) - 1) / x`", "near 0", "the first terms of its series"),
    ("differences over logarithms, `(a - b) / log(a / b)`", "a near b", "`(a - b) / log1p((a - b) / b)`"),
    ("two roots, `(sqrt(1 + x) - sqrt(1 - x)) / x`", "near 0", "each less 1, over x"),
    ("powers that are not whole, `((1 + x)**1.5 - 1) / x`", "near 0", "`expm1(1.5 * log1p(x)) / x`"),
    ("slopes of `cosh(k*x) / cosh(k)`", "near 0, digits beyond 1e-16", "`sinh` in the slope"),
    ("three exponentials, `(exp(x) + exp(2*x) - 2) / x`", "near 0", "each less 1, over x"),
    ("rotations by rows of one array, `sin(r) * w / r` with `r = norm(w, axis=1)`", "at 0", "a batch of vectors"),
    ("others over what they vanish with, `jv(3, x) / x**3`, `fresnels(x) / x**3`", "near 0, slopes", "its series"),
    ("`log(expm1(x) + y)`, and other sums of expm1 and what is no number", "above 709", "`softplus(x)` and a rest"),
    ("sums of hyperbolic functions of different arguments, `log(cosh(x) + cosh(2*x))`", "near 0, slopes", "a product"),
    ("slopes of `logsumexp` of formulas of one number, twice", "where one share is 1", "the differences of exponents"),
    ("quotients of what levels off, `x / tanh(x)`, `tanh(x) / erf(x)`", "beyond 10, slopes", "each by itself"),
    ("roots of products of exponentials, `sqrt(y * exp(x))`, second slopes", "below 1e-154", "`sqrt(y) * exp(x / 2)`"),
    ("`nbinom.logpmf(0, n, p)`", "p near 1, digits", "`n * log(p)`"),
    ("inverses between eigenvectors, `inv(V[:, :2].T @ B @ V[:, :2])`", "equal eigenvalues among them, slopes",
     "with P = `V[:, :2] @ V[:, :2].T`: `P @ inv(P @ B @ P + eye(n) - P) @ P`"),
    ("slopes of `norm(x, p)`, p other than 2", "at 0", "`sum(abs(x)**p)`"),
    ("`log(a**x)`, a of any sign", "overflow", "`x * log(a)`, or declare a positive"),
    ("slopes of `binom(n, k)` where it is 0", "k or n - k = -1, -2, ...", "products of numbers"),
    ("sizes of what vanishes twice in other ways, `abs((x - y)*sin(y - x) + (x - y)**4)`", "second slopes there",
     "no `abs`"),
    ("sizes times choices, `abs(x) * where(x < 0, -x, x)`", "second slopes at 0", "`abs(x)` for both"),
    ("lengths of a number times a vector, `norm(x*a)*sinh(x)`", "second slopes at 0", "`abs(x) * norm(a)`"),
    ("`abs`, `maximum` and norms within loops", "second slopes at their kinks", "the turns written out"),
    ("a written 0 within a length, `norm(maximum(x, 0) + 0*x)`", "second slopes where it is 0", "no 0"),
)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def _code(shown: str) -> str:
    return f"`{shown}`"


def _symbols(row: Function) -> list[Node]:
    bools = [row.takes is BOOL or (row.name == "where" and i == 0) for i in range(row.arity)]
    return [input(name, (), BOOL if is_bool else "real") for name, is_bool in zip(row.arguments, bools, strict=True)]


def _partial(row: Function, i: int) -> str:
    rule = row.partials[i]
    if isinstance(rule, Partial):
        return rule.value
    args = _symbols(row)
    if row.orders:
        known = _OF_ORDERS[row.name]
        return _code(known if isinstance(known, str) else known[i - 1])
    whole = elementwise(row.name, tuple(args), row.gives)
    partial = rule(*args, whole)
    assert partial is not None  # of arguments that are no numbers
    support = row.supports[i] if row.supports else None
    condition = support(*args, whole) if support is not None else None
    (shown,) = simplify([partial if condition is None else where(condition, partial, 0.0)])
    return _code(text(shown).replace("\n", "; "))


#: Derivatives of functions whose first argument is an order, a number: by the others, or by the last one alone.
_OF_ORDERS: dict[str, str | tuple[str, ...]] = {
    "zeta_by_s": ("zeta_by_s(n + 1, s, q)", "-s * zeta_by_s(n, s + 1, q) - n * zeta_by_s(n - 1, s + 1, q)"),
    "wofz_real": ("wofz_real(n + 1, x, y)", "-wofz_imag(n + 1, x, y)"),
    "wofz_imag": ("wofz_imag(n + 1, x, y)", "wofz_real(n + 1, x, y)"),
    "voigt_real": ("voigt_real(n + 1, x, s, g)", "s * voigt_real(n + 2, x, s, g)", "-voigt_imag(n + 1, x, s, g)"),
    "voigt_imag": ("voigt_imag(n + 1, x, s, g)", "s * voigt_imag(n + 2, x, s, g)", "voigt_real(n + 1, x, s, g)"),
    "polygamma": "polygamma(n + 1, x)",
    "spherical_jn": "(n * j(n - 1, x) - (n + 1) * j(n + 1, x)) / (2 * n + 1)",
    "log_ndtr_derivative": "log_ndtr_derivative(n + 1, x)",
    "expn": "-expn(n - 1, x)",
    "i_moment": "-sign(x) * i_moment(n + 1, x)",
    "ive_derivative": "ive_derivative(n + 1, v, x)",
    "k_moment": "-k_moment(n + 1, v, x)",
    "ellipk_derivative": "-ellipk_derivative(n + 1, p)",
    "ellipe_derivative": "-ellipe_derivative(n + 1, p)",
}


def _domain(row: Function) -> str:
    return ", ".join(f"[{low:g}, {high:g}]" for low, high in dict.fromkeys(row.domain))


def _source(row: Function) -> str:
    return f"DLMF {row.source}" if row.source[:1].isdigit() else row.source


def scalar_rows(special: bool, internal: bool = False) -> Iterable[Sequence[str]]:
    """Return a line for each row of the table of functions, elementary or special, by alphabet."""
    others: dict[str, list[str]] = {}
    for alias, target in ALIASES.items():
        if alias != target:
            others.setdefault(target, []).append(alias)
    for row in sorted(FUNCTIONS.values(), key=lambda row: row.name):
        if row.name == "to_real" or row.written is not None:
            continue  # nobody meets these by name
        if bool(INTERNAL.search(row.name)) != internal or (_is_special(row) != special and not internal):
            continue
        arguments = f"({', '.join(row.arguments)})" if row.arity > 1 else ""
        names = [row.name + arguments, *others.get(row.name, [])]
        partials = [_partial(row, i) for i in range(row.arity)]
        yield (", ".join(map(_code, names)), "; ".join(partials), _domain(row), _source(row))


def _is_special(row: Function) -> bool:
    """Tell whether a function is none of the elementary ones, which chapters 1 and 4 of DLMF are about."""
    chapter = row.source.partition(".")[0]
    return row.name == "binom" or row.source == "4.13.4" or (chapter.isdigit() and chapter not in ("1", "4"))


def _subject(entry: Entry) -> str:
    """Return the subject of an operation: the one that has its name, or the first whose files have its function."""
    by_name = [title for title, own in SUBJECTS.items() if entry.name in own]
    if by_name:
        return by_name[0]
    function = entry.call
    while isinstance(function, partial):
        function = function.func
    parts = function.__module__.split(".")
    return next(title for title, own in SUBJECTS.items() if not own[0] or not {*own}.isdisjoint(parts))


def _arguments(entry: Entry) -> str:
    most = "any number" if entry.most is None else str(entry.most)
    more = f"{entry.least} to {most}" if entry.most else f"{entry.least} or more"
    count = most if entry.most == entry.least else more
    names = names_of(entry) if entry.most != 1 else ()
    return f"{count}: {', '.join(map(_code, names))}" if names else count


#: Operations that take the symmetric part of a matrix.
SYMMETRIC = ("eigvalsh", "eigh", "eigenvectors", "simple_eigenvectors", "isotropic")


def array_rows(subject: str, internal: bool = False) -> Iterable[Sequence[str]]:
    """Return a line for each operation of a subject that is not a row of the table of functions, by alphabet."""
    names: dict[str, list[str]] = {}
    for name, entry in LIBRARY.items():
        if entry.name not in FUNCTIONS or entry.name in ("where",):
            names.setdefault(entry.name, []).append(name)
    for own, several in sorted(names.items()):
        entry = LIBRARY[own]
        if bool(INTERNAL.search(own)) != internal or (_subject(entry) != subject and not internal):
            continue
        marked = [] if entry.in_text else ["not in text"]
        if own in SYMMETRIC:
            marked.append("of the symmetric part (A + Aᵀ) / 2, where NumPy reads the lower triangle")
        keywords = ", ".join(map(_code, entry.keywords))
        yield (", ".join(map(_code, several)), _arguments(entry), keywords, "; ".join(marked))


def density_rows() -> Iterable[Sequence[str]]:
    """Return a line for each distribution."""
    for row in DISTRIBUTIONS.values():
        defaults = [f"{name}={'None' if value is None else f'{value:g}'}" for name, value in row.defaults]
        given = ", ".join(map(_code, [*row.shapes, *defaults]))
        yield (_code(row.name), given, ", ".join(map(_code, row.all_functions)), row.source)


def standard_rows() -> Iterable[Sequence[str]]:
    """Return a line for each chapter of the array API standard."""
    chapters = {**CHAPTERS, "`linalg`": linalg.__all__}
    for chapter, names in chapters.items():
        yield (chapter, ", ".join(_code(name) for name in sorted(names) if not name.startswith("_")))


def _named(module: str) -> str:
    return f"**`{module}`**: {', '.join(sorted(MODULES[module]))}.\n"


def make_page() -> str:
    """Return the page."""
    scalars = ("function", "partial derivatives", "tested on", "source")
    arrays = ("operation", "arguments", "keywords", "")
    parts = [
        HEAD,
        NAMES,
        *map(_named, MODULES),
        SCALAR,
        _table(scalars, scalar_rows(special=False)),
        "## Special functions\n",
        _table(scalars, scalar_rows(special=True)),
        ARRAYS,
        *(f"### {title}\n\n{_table(arrays, array_rows(title))}" for title in SUBJECTS),
        "### Derivatives, and what is refused\n",
        "Derivatives are operations of text, too: " + ", ".join(map(_code, DERIVATIVES)) + ".\n",
        f"Text may call {len(TEXT_FUNCTIONS)} names in all, and the functions of distributions below.\n",
        "What a symbol cannot answer, and what to write instead:\n",
        _table(("asked for", "answer"), ((_code(name), answer) for name, answer in REFUSED.items())),
        DENSITIES,
        _table(("distribution", "parameters", "functions", "source"), density_rows()),
        STANDARD,
        _table(("chapter", "functions"), standard_rows()),
        "What it lacks, and what to write instead:\n",
        _table(("asked for", "answer"), ((_code(name), answer) for name, answer in ABSENT.items())),
        f"## Kinks and ties\n\n{KINKS}",
        DIFFERENTIALS,
        _table(("operation", "rule", "equation", "source"), ((_code(op), *law) for op, law in LAWS.items())),
        REWRITES,
        _table(("kind", "finds", "puts"), ((r.kind, _code(r.pattern), _code(r.result)) for r in RULES)),
        REMAINING,
        _table(("form", "where", "write"), FORMS),
        MADE_OF,
        _table(scalars, scalar_rows(special=True, internal=True)),
        _table(arrays, array_rows("", internal=True)),
    ]
    return "\n".join(parts)


def targets_table() -> str:
    """Return the table of targets in docs/export.md."""
    request = compile("x + 1")._request("name")
    rows = ((_code(f'"{name}"'), ", ".join(map(_code, print_files(request, name))), row.needs, row.description)
            for name, row in TARGETS.items())
    return _table(("target", "files", "needs", "source"), rows)


def make_export_page() -> str:
    """Return docs/export.md with its table of targets made anew."""
    before, begin, rest = EXPORT.read_text(encoding="utf-8").partition("<!-- targets -->\n\n")
    _, end, after = rest.partition("\n<!-- end -->")
    return before + begin + targets_table() + end + after


#: What :func:`symdiff.compile` gives a type checker: for a formula and an option, each row with what it stands for.
RESULTS = [
    ("One", "sparse: None = None", "Numbers"),
    *(("One", f'sparse: Literal["{name}"]', f"{name}_array") for name in ("csr", "csc", "coo", "bsr")),
    ("One", 'sparse: Literal["values"]', "Numbers"),
    ("dict[str, Array] | dict[str, str] | FormulaDict[Array]", "sparse: None = None", "dict[str, Numbers]"),
    ("list[Array] | list[str]", "sparse: None = None", "list[Numbers]"),
    ("tuple[Array | str, ...]", "sparse: None = None", "tuple[Numbers, ...]"),
    ("tuple[Array, tuple[Array, ...]]", "sparse: None = None", "tuple[Numbers, tuple[Numbers, ...]]"),
    ("tuple[tuple[Array, ...], ...]", "sparse: None = None", "tuple[tuple[Numbers, ...], ...]"),
    ("Any", "full_output: Literal[False] = False", ""),
    ("Any", "full_output: Literal[True]", "tuple[Any, dict[str, tuple[Numbers, ...]]]"),
]


def make_types() -> str:
    """Return symdiff/runtime/typed.pyi, whose variants of ``compile`` have the options of that function."""
    head, begin, _ = TYPES.read_text(encoding="utf-8").partition("\n@overload\ndef compile(")
    variants = []
    for formula, changed, result in RESULTS:
        name = changed.partition(":")[0]
        own = {"formula": f"formula: {formula}", "full_output": "full_output: Literal[False] = False", name: changed}
        rows = [own.get(p.name, _option(p)) for p in inspect.signature(compile).parameters.values()]
        rows[2:2], rows[1:1] = ["*"], ["/"]
        gives = f"TypedKernel[{result}]" if result else "Kernel"
        variants.append("".join(f"    {row},\n" for row in rows) + f") -> {gives}: ...\n")
    return head + "".join(f"{begin}\n{variant}".removeprefix("\n" * bool(k)) for k, variant in enumerate(variants))


def _option(p: inspect.Parameter) -> str:
    """Return a parameter as a stub has it."""
    kind = p.annotation.replace("'", '"')
    if p.kind is p.VAR_KEYWORD:
        return f"**{p.name}: {kind}"
    default = json.dumps(p.default) if isinstance(p.default, str) else repr(p.default)
    return f"{p.name}: {kind} = {default}"


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
    TYPES.write_text(make_types(), encoding="utf-8")
    EXPORT.write_text(make_export_page(), encoding="utf-8")

"""Equations by subject: each page is read as a mathematician reads a table, one line an identity.

An equation holds wherever its left side has a value; where it says that a letter is of a kind, for such letters.
Equations of the kinds *algebra*, *arrays*, *stability* and *form* hold of values, and are used before differentiation
too. Those of the kind *derived* may have a value where the left side has none, and are used in derivatives alone;
those of the kind *shown* may shrink the range besides, and are used where a derivative is shown.
``tests/rewrite/test_equations.py`` compares both sides in many digits without a line written for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..graph.scalars.arithmetic import ARITHMETIC, PRODUCTS
from ..graph.scalars.functions import FUNCTIONS, Function
from .equations import Identity
from .rewriter import NUMBERS

#: Inverses, determinants and transposes of each other.
OF_MATRICES = (
    Identity("log(det(A)) -> logdet(A)", "stability"),
    Identity("log(abs(det(A))) -> logabsdet(A)", "stability"),
    Identity("logdet(cholesky(S)) -> logdet(S) / 2", "stability", S="definite"),
    Identity("logabsdet(cholesky(S)) -> logdet(S) / 2", "stability", S="definite"),
    Identity("inv(inv(A)) -> A", "algebra"),
    Identity("det(A.T) -> det(A)", "algebra"),
    Identity("logdet(A.T) -> logdet(A)", "algebra"),
    Identity("logabsdet(A.T) -> logabsdet(A)", "algebra"),
    Identity("solve(S.T, B) -> solve(S, B)", "arrays", S="symmetric"),
    Identity("abs(eigvalsh(S)) -> eigvalsh(S)", "differentiated", S="semidefinite"),
    Identity("inv(Q) -> Q.T", "values", Q="orthogonal"),
)

#: Conditions and choices: what is decided already is left out.
CHOICES = (
    Identity("where(c, a, a) -> a", "algebra"),
    Identity("where(True, a, b) -> a", "algebra"),
    Identity("where(False, a, b) -> b", "algebra"),
    Identity("where(c, where(c, a, b), d) -> where(c, a, d)", "algebra"),
    Identity("where(c, a, where(c, b, d)) -> where(c, a, d)", "algebra"),
    Identity("where(~c, a, b) -> where(c, b, a)", "algebra"),
    Identity("~(~c) -> c", "algebra"),
    Identity("c & c -> c", "algebra"),
    Identity("c | c -> c", "algebra"),
    Identity("c & True -> c", "algebra"),
    Identity("c & False -> False", "algebra"),
    Identity("c | True -> True", "algebra"),
    Identity("c | False -> c", "algebra"),
    Identity("-x == 0 -> x == 0", "algebra"),
    Identity("-x != 0 -> x != 0", "algebra"),
    Identity("maximum(x, -x) -> abs(x)", "form"),
    Identity("minimum(x, -x) -> -abs(x)", "form"),
    Identity("x * sign(x) -> abs(x)", "form"),
    Identity("sign(x) * abs(x) -> x", "form"),
    Identity("x**2 * sign(x) -> x * abs(x)", "algebra"),
    Identity("maximum(x, y) * minimum(x, y) -> x * y", "form"),
    Identity("maximum(x, y) + minimum(x, y) -> x + y", "form"),
    Identity("maximum(x, y) - minimum(x, y) -> abs(x - y)", "form"),
    Identity("maximum(x, 0) + maximum(-x, 0) -> abs(x)", "form"),
    Identity("maximum(x, 0) - maximum(-x, 0) -> x", "form"),
)

#: Powers and roots, of what is known to be positive where that is said.
POWERS = (
    Identity("log(sqrt(x)) -> log(x) / 2", "stability"),
    Identity("sqrt(x)**q -> x**(q / 2)", "differentiated", q="even"),
    Identity("arccos(x)**2 -> arccos_square(x)", "differentiated"),
    Identity("arccosh(x)**2 -> arccosh_square(x)", "differentiated"),
    Identity("log(s**p) -> p * log(s)", "stability", s="positive"),
    Identity("sqrt(s**p) -> s**(p / 2)", "stability", s="positive", p="number"),
    Identity("(s**p)**q -> s**(p * q)", "stability", s="positive", p="number", q="number"),
    Identity("sqrt(x**q) -> x**(q / 2)", "stability", q="odd"),
    Identity("power_log(1, s, p) -> s**p * log(s)", "derived", s="positive"),
    Identity("sqrt(s)**q -> s**(q / 2)", "stability", s="positive", q="number"),
    Identity("sqrt(x)**2 -> x", "derived"),
    Identity("x**0.5 -> sqrt(x)", "shown"),
    Identity("x**-0.5 -> 1 / sqrt(x)", "shown"),
    Identity("(a * sqrt(x))**2 -> x * a**2", "shown"),
    Identity("(a / sqrt(x))**2 -> a**2 / x", "shown"),
    Identity("(a / (b * sqrt(x)))**2 -> a**2 / (x * b**2)", "shown"),
    Identity("(x**p)**2 -> x**(2 * p)", "derived"),
    Identity("x * power_log(1, x, p) -> power_log(1, x, p + 1)", "shown"),
    Identity("hypot(x, y)**2 -> x**2 + y**2", "stability"),
    Identity("one_minus_square(sqrt(x)) -> 1 - x", "derived"),
    Identity("one_minus_square(1 - x) -> x * (2 - x)", "stability"),
    Identity("one_minus_square(x - 1) -> x * (2 - x)", "stability"),
    Identity("one_minus_square(x) -> 1 - x**2", "shown"),
    Identity("hypot(x, sqrt(y)) -> sqrt(x**2 + y)", "shown"),
    Identity("sqrt(x - 1) * sqrt(x + 1) -> sqrt(x**2 - 1)", "shown"),
    Identity("(1 - x) * (1 + x) -> 1 - x**2", "shown"),
)

#: Exponentials, logarithms and steps: forms that neither overflow nor cancel.
LOGARITHMS = (
    # Logarithms of exponentials and of steps. DLMF 4.6, 7.2
    Identity("log(1 + exp(x)) -> softplus(x)", "stability"),
    Identity("log1p(exp(x)) -> softplus(x)", "stability"),
    Identity("log1p(-sigmoid(x)) -> log_sigmoid(-x)", "stability"),
    Identity("log1p(-ndtr(x)) -> log_ndtr(-x)", "stability"),
    Identity("log(1 + x) -> log1p(x)", "stability"),
    Identity("log(sigmoid(x) - sigmoid(y)) -> log_sigmoid(x) + log_sigmoid(-y) + log1mexp(x - y)", "stability"),
    Identity("log(ndtr(x) - ndtr(y)) -> log_ndtr_between(x, y)", "stability"),
    Identity("log(erf(x) - erf(y)) -> log(2) + log_ndtr_between(sqrt(2) * x, sqrt(2) * y)", "stability"),
    Identity("log(erfc(x) - erfc(y)) -> log(2) + log_ndtr_between(sqrt(2) * y, sqrt(2) * x)", "stability"),
    Identity("log(erfc_ratio(x, y)) -> log_erfc(x) - log_erfc(y)", "stability"),
    Identity("log(ndtr_ratio(x, y)) -> log_ndtr(x) - log_ndtr(y)", "stability"),
    Identity("exp(logaddexp(x, y)) -> exp(x) + exp(y)", "stability"),
    Identity("exp(softplus(x)) -> 1 + exp(x)", "stability"),
    Identity("exp(-softplus(x)) -> sigmoid(-x)", "stability"),
    Identity("expm1(softplus(x)) -> exp(x)", "stability"),
    Identity("softplus(x) + log_sigmoid(x) -> x", "stability"),
    Identity("softplus(log(x)) -> log1p(x)", "differentiated"),
    Identity("softplus(x + log(-expm1(-x))) -> x", "differentiated"),
    Identity("softplus(logit(x)) -> -log1p(-x)", "differentiated"),
    Identity("log_sigmoid(logit(x)) -> log(x)", "differentiated"),
    Identity("sigmoid(log(x)) -> x / (1 + x)", "differentiated"),
    Identity("cosh(log(x)) -> (x + 1 / x) / 2", "differentiated"),
    Identity("sinh(log(x)) -> (x - 1 / x) / 2", "differentiated"),
    Identity("exp(log1p(x)) -> 1 + x", "differentiated"),
    Identity("log(sinh_remainder_1(0, x)) -> log_sinh_quotient(x)", "stability"),
    Identity("log(csch_quotient(0, x)) -> -log_sinh_quotient(x)", "stability"),
    Identity("log(exp_remainder_1(0, x)) -> log_exp_quotient(x)", "stability"),
    Identity("log(bernoulli_quotient(0, x)) -> -log_exp_quotient(x)", "stability"),
    Identity("xlogy(a, exp(x)) -> a * x", "stability"),
    Identity("xlogy(a, sigmoid(x)) -> xlog_sigmoid(a, x)", "stability"),
    Identity("xlog1py(a, -sigmoid(x)) -> xlog_sigmoid(a, -x)", "stability"),
    Identity("entr(sigmoid(x)) -> -xlog_sigmoid(sigmoid(x), x)", "stability"),

    # Sums of a number and one function. DLMF 4.28.8, 4.35, 7.2.2
    Identity("exp(x) - 1 -> expm1(x)", "stability"),
    Identity("1 - sigmoid(x) -> sigmoid(-x)", "stability"),
    Identity("2 * sigmoid(x) - 1 -> tanh(x / 2)", "stability"),
    Identity("sigmoid(x) - sigmoid(-x) -> tanh(x / 2)", "stability"),
    Identity("1 + tanh(x) -> 2 * sigmoid(2 * x)", "stability"),
    Identity("1 - tanh(x) -> 2 * sigmoid(-2 * x)", "stability"),
    Identity("1 - tanh(x)**2 -> sech(x)**2", "stability"),
    Identity("1 - sech(x)**2 -> tanh(x)**2", "stability"),
    Identity("1 - ndtr(x) -> ndtr(-x)", "stability"),
    Identity("1 + erf(x) -> erfc(-x)", "stability"),
    Identity("1 - erf(x) -> erfc(x)", "stability"),

    Identity("poch(x, 1) -> x", "stability"),

    # Squares that make up 1, near those of which one is 0. DLMF 4.21.12, 4.35.11
    Identity("1 - cos(x)**2 -> sin(x)**2", "stability"),
    Identity("1 - sin(x)**2 -> cos(x)**2", "stability"),
    Identity("cosh(x)**2 - 1 -> sinh(x)**2", "stability"),
    Identity("1 + sinh(x)**2 -> cosh(x)**2", "stability"),

    # Functions of the inverses of others. DLMF 4.16, 4.30
    Identity("cos(arcsin(x)) -> sqrt(one_minus_square(x))", "shown"),
    Identity("sin(arccos(x)) -> sqrt(one_minus_square(x))", "shown"),
    Identity("tan(arcsin(x)) -> x / sqrt(one_minus_square(x))", "shown"),
    Identity("sin(arctan(x)) -> x / hypot(1, x)", "shown"),
    Identity("cos(arctan(x)) -> 1 / hypot(1, x)", "shown"),
    Identity("sinh(arccosh(x)) -> sqrt(x - 1) * sqrt(x + 1)", "shown"),
    Identity("tanh(arccosh(x)) -> sqrt(x - 1) * sqrt(x + 1) / x", "shown"),
    Identity("cosh(arcsinh(x)) -> hypot(1, x)", "shown"),
    Identity("tanh(arcsinh(x)) -> x / hypot(1, x)", "shown"),
    Identity("sinh(arctanh(x)) -> x / sqrt(one_minus_square(x))", "shown"),
    Identity("cosh(arctanh(x)) -> 1 / sqrt(one_minus_square(x))", "shown"),

    # Slopes of arctan(exp(x)) and arctan(sinh(x)): 1 / (1 + exp(x)**2), 1 / (1 + sinh(x)**2). DLMF 4.35.1
    Identity("lorentzian(exp(x)) -> sigmoid(-2 * x)", "stability"),
    Identity("lorentzian(sinh(x)) -> sech(x)**2", "stability"),

    # Slopes of arcsin and arctanh of these: 1 - x**2. DLMF 4.21.12, 4.35.11
    Identity("one_minus_square(tanh(x)) -> sech(x)**2", "stability"),
    Identity("one_minus_square(sech(x)) -> tanh(x)**2", "stability"),
    Identity("one_minus_square(sin(x)) -> cos(x)**2", "stability"),
    Identity("one_minus_square(cos(x)) -> sin(x)**2", "stability"),

    # Products of a function and its cofactor. DLMF 4.28.4
    Identity("tanh(x) * cosh(x) -> sinh(x)", "form"),

    # Steps by one: the recurrence of the digamma function. DLMF 5.5.2
    Identity("digamma(x + 1) - digamma(x) -> 1 / x", "derived"),

    # Sums of two functions. DLMF 4.35.1
    Identity("cosh(x)**2 - sinh(x)**2 -> 1", "stability", x="real"),
    Identity("softplus(x) - softplus(-x) -> x", "stability"),
    Identity("(1 + tan(x)**2) / tan(x) -> 2 / sin(2 * x)", "shown"),
    Identity("gamma_density(0, s, x) -> x**(s - 1) * exp(-x) / gamma(s)", "shown", s="positive"),
    Identity("beta_density(s, t, x) -> x**(s - 1) * (1 - x)**(t - 1) / beta(s, t)", "shown",
             s="positive", t="positive"),
    Identity("i_moment(1, s) / i0e(s) -> 1 - i_ratio(s)", "shown", s="positive"),
    Identity("sin(x) * cos(y) + cos(x) * sin(y) -> sin(x + y)", "shown"),
    Identity("sin(x) * cos(y) - cos(x) * sin(y) -> sin(x - y)", "shown"),
    Identity("cos(x) * cos(y) - sin(x) * sin(y) -> cos(x + y)", "shown"),
    Identity("cos(x) * cos(y) + sin(x) * sin(y) -> cos(x - y)", "shown"),
    Identity("cos(x)**2 - sin(x)**2 -> cos(2 * x)", "shown"),
    Identity("exp(x) + exp(-x) -> 2 * cosh(x)", "shown"),
    Identity("exp(x) - exp(-x) -> 2 * sinh(x)", "shown"),
    Identity("cosh(x) * sech(x)**2 -> sech(x)", "shown"),
    Identity("sinh(x) * sech(x) -> tanh(x)", "shown"),
    Identity("sech(x) + tanh(x) * sinh(x) -> cosh(x)", "shown"),
    Identity("sigmoid(x) + sigmoid(-x) -> 1", "derived"),
    Identity("logaddexp(x, x) -> x + log(2)", "stability"),
)

_LETTERS = "xyzw"
#: Numbers of which books print quarters.
_UNITS = (1.0, math.pi, math.log(2.0))


def _of_inverse(row: Function) -> Identity:
    inner = FUNCTIONS[row.inverse]
    parameters = "".join(f"{letter}, " for letter in "ab"[: row.arity - 1])
    kind = "stability" if inner.total else "differentiated"
    text, ops = f"{row.name}({parameters}{inner.name}({parameters}x)) -> x", (row.name, inner.name)
    return Identity(text, kind, source=inner.source, ops=ops)


def _of_logarithm(row: Function) -> Iterator[Identity]:
    letters = ", ".join(_LETTERS[: row.arity])
    plain, logarithm = f"{row.name}({letters})", f"{row.logarithm}({letters})"
    yield Identity(f"log({plain}) -> {logarithm}", "stability", source=row.source, ops=("log", row.name))
    if row.range.low >= 0.0 and not row.range.has_low:
        yield Identity(f"exp({logarithm}) -> {plain}", "stability", source=row.source, ops=("exp", row.logarithm))


def _of_parity(row: Function) -> Iterator[Identity]:
    for place, parity in enumerate(row.parity):
        if parity:
            letters = list(_LETTERS[: row.arity])
            plain = f"{row.name}({', '.join(letters)})"
            letters[place] = f"-{letters[place]}"
            sign = "-" if parity == "odd" else ""
            text = f"{row.name}({', '.join(letters)}) -> {sign}{plain}"
            yield Identity(text, "algebra", source=row.source, ops=(row.name, *sorted(PRODUCTS)))


def _of_values(row: Function) -> Iterator[Identity]:
    known = [(0.0, row.at_zero[0])] if row.at_zero else []
    for argument, value in (*known, *row.exact):
        if not any(math.isclose(4.0 * value / unit, round(4.0 * value / unit), rel_tol=1e-15) for unit in _UNITS):
            continue  # no number that books print
        text = f"{row.name}({argument:.17g}) -> {value:.17g}"
        yield Identity(text, "algebra", source=row.source, ops=(row.name, *NUMBERS))


#: Equations that follow from the table of scalar functions. ``tan(arctan(x))`` is x wherever it has a value, and has
#: one everywhere. ``sin(arcsin(x))`` has none beyond 1, where x has one: in its place x is only differentiated.
OF_THE_TABLE = tuple(
    identity
    for row in FUNCTIONS.values()
    if row.name not in ARITHMETIC
    for identity in (
        *([_of_inverse(row)] if row.inverse else []),
        *(_of_logarithm(row) if row.logarithm else []),
        *_of_parity(row),
        *_of_values(row),
    )
)

#: Functions of a whole order, which are even or odd as it is. DLMF 10.11.1, 10.34.1, 10.47.14, 7.10.3
OF_ORDERS = tuple(
    Identity(f"{name}(n, -x) -> {sign}{name}(n, x)", "algebra", ops=(name, *sorted(PRODUCTS)), n=kind)
    for name in ("jv", "iv", "ive", "spherical_jn", "dawsn_derivative")
    for kind, sign in zip(("odd", "even") if name == "dawsn_derivative" else ("even", "odd"), ("", "-"), strict=True)
)

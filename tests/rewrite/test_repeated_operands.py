"""Formulas in which one array stands several times: in products along different axes, and in terms that cancel."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import symdiff as sd

SIZES = {"n": 3, "m": 2}
SHAPES = {"x": "n", "y": "n", "z": "m", "X": "nm", "S": "nn"}


def _inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=[sizes[axis] for axis in axes]) for name, axes in SHAPES.items()}


def _letters() -> dict[str, tuple[str, ...]]:
    return {name: tuple(axes) for name, axes in SHAPES.items()}


def _product(rng: np.random.Generator) -> tuple[str, list[str]]:
    """Draw a product of few arrays, whose indices run along axes of one length each."""
    names = [str(rng.choice(list(SHAPES))) for _ in range(2)]
    names += [names[0]] if rng.random() < 0.5 else []
    indices = {"n": "ijk", "m": "pq"}
    terms = ["".join(str(rng.choice(list(indices[axis]))) for axis in SHAPES[name]) for name in names]
    used = sorted(set("".join(terms)))
    out = "".join(str(label) for label in rng.permutation(used)[: rng.integers(0, 2)])
    return f"{','.join(terms)}->{out}", names


@pytest.mark.parametrize("seed", range(60))
def test_products_of_one_array_along_different_axes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spec, names = _product(rng)
    text = f"einsum('{spec}', {', '.join(names)})"
    kernel = sd.compile(text, backend="interpreter", **_letters(), inputs=list(SHAPES))
    for sizes in (SIZES, {"n": 1, "m": 4}, {"n": 70, "m": 3}):
        data = _inputs(sizes, seed)
        right = np.einsum(spec, *(data[name] for name in names), optimize=True)
        np.testing.assert_allclose(kernel(**data), right, rtol=1e-9, atol=1e-9, err_msg=spec)


def _sum(rng: np.random.Generator) -> str:
    """Draw a sum in which terms cancel that are longer than the others."""
    gone = str(rng.choice(["x[:, None]", "z[None, :]", "X", "y[:, None]", "exp(z)"]))
    left = [str(rng.choice(["x[:, None]", "z", "sin(y)[:, None]", "z[None, :] ** 2"])) for _ in range(2)]
    terms = [f"+ {gone}", f"- {gone}", *(f"{rng.choice(['+', '-'])} {term}" for term in left[: rng.integers(1, 3)])]
    return " ".join(str(term) for term in rng.permutation(terms)).lstrip("+ ")


REDUCTIONS = ("sum({})", "sum({}, axis=0)", "sum({}, axis=1)", "mean({})", "prod({}, axis=1)", "logsumexp({}, axis=0)")


@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("seed", range(20))
def test_terms_that_cancel_keep_the_axes_of_a_sum(seed: int, backend: str) -> None:
    rng = np.random.default_rng(seed)
    inner = _sum(rng)
    text = str(rng.choice(REDUCTIONS)).format(f"broadcast_to({inner}, (n, m))" if seed % 2 else f"({inner} + 0 * X)")
    text = text.replace("(n, m)", "(3, 2)")
    shapes = {name: tuple(SIZES[axis] for axis in axes) for name, axes in SHAPES.items() if _has(text, name)}
    data = {name: array for name, array in _inputs(SIZES, seed).items() if name in shapes}
    f = sd.compile(text, backend=backend, shapes=shapes)
    for name in shapes:
        slope = sd.compile(sd.jacobian(text, name, shapes=shapes, disconnected="zero"), backend=backend)
        along = np.random.default_rng(1).normal(size=data[name].shape)
        ends = [f(inputs={**data, name: data[name] + side * 1e-6 * along}) for side in (1, -1)]
        got = np.tensordot(slope(inputs=data), along, along.ndim)
        np.testing.assert_allclose(got, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-6, err_msg=text)


def _has(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("text", ["x - x + y", "x + y - x", "2 * x + y - x - x", "exp(x) + y - exp(x)", "y - (x - x)"])
def test_terms_that_a_person_wrote_are_not_cancelled(text: str, backend: str) -> None:
    """What is nan or infinite is seen in the value; of derivatives, terms that cancel go."""
    f = sd.compile(text, backend=backend)
    assert np.isnan(f(x=np.nan, y=1.0))
    assert np.isnan(f(x=np.inf, y=1.0))
    assert sd.compile(sd.gradient(text, "y"), backend=backend)(x=np.inf, y=1.0) == 1.0


def test_what_is_shown_does_not_depend_on_what_was_compiled_before() -> None:
    text = "log(cosh(x * y)) * y + a - log(cosh(x * y))"
    shown = str(sd.gradient(text, "y", x=(), y=(), a=()))
    sd.compile(text.replace("a", "b"), backend="interpreter", x=(), y=(), b=())
    sd.compile(text, backend="interpreter", x=(), y=(), a=())
    assert str(sd.gradient(text, "y", x=(), y=(), a=())) == shown


_ONES = ("({} @ {})", "({} * {})", "({} - {})", "inv({0} @ {0}.T + eye(1))", "adjugate({})", "cumsum({0}, axis=0)")


def _at(rng: np.random.Generator, depth: int) -> str:
    if depth == 0:
        return str(rng.choice(["A", "A.T", "diag(x)", "outer(x, x)", "outer(x, y)"]))
    a, b = _at(rng, depth - 1), _at(rng, int(rng.integers(0, depth)))
    return str(rng.choice([*_ONES, "kron({1}, ones((1, 1)))", "solve({} + 9 * eye(1), {})"])).format(a, b)


@pytest.mark.parametrize("seed", range(40))
def test_derivatives_of_arrays_of_one_element_are_printed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inner = _at(rng, int(rng.integers(1, 4)))
    text = str(rng.choice(["sum({})", "trace({})", "det({})", "x @ {} @ y", "logsumexp({})"])).format(inner)
    all_shapes = {"A": sd.symmetric(1) if seed % 2 else (1, 1), "x": 1, "y": 1}
    shapes = {name: shape for name, shape in all_shapes.items() if _has(text, name)}
    for wrt in shapes:
        slope = sd.gradient(text, wrt, disconnected="zero", shapes=shapes)
        assert str(slope)
        assert str(sd.jacobian(slope, wrt, disconnected="zero"))


_NUMBERS = ("sum(eye(m))", "trace(eye(m))", "sum(x[:, None, None] + D, axis=(1, 2))[0]", "sum(diagonal(eye(m)))")
_LOOPS = '''
import numpy as np
import symdiff as sd
rng = np.random.default_rng({seed})
numbers = {numbers}
for _ in range(6):
    a, b = rng.choice(numbers, 2)
    inner = str(rng.choice(["0.3 + {{a}} * x", "{{b}} + {{a}} * x", "trace(x[:, None, None] + D, axis1=1, axis2=2)"]))
    outer = str(rng.choice(["w @ unit({{}})", "norm({{}}) * sum(w)", "w @ softmax({{}})", "sum(({{}})**2 * w)"]))
    text = outer.format(inner.format(a=a, b=b)) + " + 0 * sum(D) + 0 * sum(w)"
    shapes = dict(x="n", w="n", D=("m", "m"))
    hessian = sd.hessian(text, "x", shapes=shapes)
    assert str(hessian)
    x, w, D = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(2, 2))
    slope, bend = sd.compile(sd.gradient(text, "x", shapes=shapes)), sd.compile(hessian)
    along = rng.normal(size=3)
    ends = [slope(x=x + side * 1e-6 * along, w=w, D=D) for side in (1, -1)]
    np.testing.assert_allclose(bend(x=x, w=w, D=D) @ along, (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-6)
'''


@pytest.mark.rows(1)
@pytest.mark.parametrize("seed", range(4))
def test_rules_that_take_turns_end(seed: int) -> None:
    """Sizes that are sums of identities stand before sums: one rule moved repetitions in, and another one out."""
    script = _LOOPS.format(seed=seed, numbers=_NUMBERS)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]


_STRUCTURE = {"eye(n)": "nn", "eye(m)": "mm", "diag(x)": "nn", "x": "n", "X": "nm", "eye(n)[0]": "n", "S": "nn"}


@pytest.mark.parametrize("seed", range(40))
def test_products_with_identities_that_are_summed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [str(rng.choice(["eye(m)", "eye(n)", "diag(x)"])), *(str(name) for name in rng.choice([*_STRUCTURE], 2))]
    indices = {"n": "ijk", "m": "pq"}
    terms = ["".join(str(rng.choice(list(indices[axis]))) for axis in _STRUCTURE[name]) for name in names]
    used = sorted(set("".join(terms)))
    out = "".join(str(label) for label in rng.permutation(used)[: rng.integers(0, 3)])
    text = f"einsum('{','.join(terms)}->{out}', {', '.join(names)})"
    try:
        kernel = sd.compile(text, backend="interpreter", **_letters(), inputs=list(SHAPES))
    except sd.UnsupportedError:  # a few have no plan, and say so
        kernel = sd.compile(text, backend="numpy", **_letters(), inputs=list(SHAPES))
    data = _inputs(SIZES, seed)
    known = {"eye(n)": np.eye(3), "eye(m)": np.eye(2), "diag(x)": np.diag(data["x"]), "eye(n)[0]": np.eye(3)[0], **data}
    right = np.einsum(f"{','.join(terms)}->{out}", *(known[name] for name in names))
    np.testing.assert_allclose(kernel(**data), right, rtol=1e-12, atol=1e-12, err_msg=text)


def _associated(words: list[str], rng: np.random.Generator) -> str:
    """Write a product of matrices with brackets at random."""
    words = list(words)
    while len(words) > 1:
        i = int(rng.integers(len(words) - 1))
        words[i : i + 2] = [f"({words[i]} @ {words[i + 1]})"]
    return words[0]


def _number_of(words: list[str], rng: np.random.Generator) -> str:
    """Write a product of vectors and matrices, from one of both ends or as the sum of its elements' products."""
    words = [*words] if rng.random() < 0.5 else [f"{word}.T" if word.isupper() else word for word in reversed(words)]
    if rng.random() < 0.3:
        return f"sum({words[0]} * {_associated(words[1:], rng)})"
    return _associated(words, rng)


@pytest.mark.rows(10)
@pytest.mark.parametrize("seed", range(60))
def test_products_that_are_equal_are_one_however_they_are_written(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = ["x", *(str(name) for name in rng.choice(["A", "B", "S"], int(rng.integers(1, 4)))), "y"]
    first, second, plain = _number_of(words, rng), _number_of(words, rng), " @ ".join(words)
    kinds = {"x": "n", "y": "n", "A": ("n", "n"), "B": ("n", "n"), "S": sd.symmetric("n")}
    shapes = {name: kinds[name] for name in words}
    point = {name: rng.normal(size=3 if name in "xy" else (3, 3)) for name in kinds}
    point["S"] = point["S"] + point["S"].T
    for wrt in shapes:
        assert str(sd.gradient(f"({first}) / ({second})", wrt, shapes=shapes)).startswith("zeros("), (first, second)
        for form in ("sqrt(1 + ({0})**2) / ({1})", "({0}) * ({1})**2", "({0}) / (3 + ({1})**2)"):
            found = sd.gradient(form.format(first, second), wrt, shapes=shapes)
            one = sd.gradient(form.format(plain, plain), wrt, shapes=shapes)
            assert len(str(found)) <= 1.2 * len(str(one)) + 12, (str(found), str(one))
            values = [sd.compile(g)(**{str(part): point[str(part)] for part in g.inputs}) for g in (found, one)]
            np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-12)

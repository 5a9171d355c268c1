"""Functions of numbers in formulas: values, derivatives by each kind of rule, batches, plans and refusals."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import struve

import symdiff as sd
from symdiff.graph import postorder

x, v, M = sd.scalar("x"), sd.vector("v", 3), sd.matrix("M", 2, 3)


def number(value: Any) -> Any:
    """Return numbers, and fail of symbols as compiled code does."""
    return np.asarray(value, dtype=float)


def model(A: Any, b: Any) -> Any:
    return np.tanh(A @ b)


def slopes(A: Any, b: Any) -> tuple[Any, Any]:
    s = 1 - np.tanh(A @ b) ** 2
    return np.einsum("i,ij,k->ijk", s, np.eye(len(s)), b), s[:, None] * A


#: The rules of ``model``: formulas of symbols, and functions that take numbers alone.
FORMULAS: dict[str, Callable[..., Any]] = {
    "vjp": lambda args, c: (
        np.outer(c * (1 - np.tanh(args[0] @ args[1]) ** 2), args[1]),
        args[0].T @ (c * (1 - np.tanh(args[0] @ args[1]) ** 2)),
    ),
    "jvp": lambda args, t: (1 - np.tanh(args[0] @ args[1]) ** 2) * (t[0] @ args[1] + args[0] @ t[1]),
}
RULES: dict[tuple[str, bool], Callable[..., Any]] = {
    **{(form, True): rule for form, rule in FORMULAS.items()},
    ("jacobian", False): lambda args: slopes(number(args[0]), number(args[1])),
    ("vjp", False): lambda args, c: FORMULAS["vjp"]((number(args[0]), number(args[1])), number(c)),
    ("jvp", False): lambda args, t: FORMULAS["jvp"](tuple(map(number, args)), tuple(map(number, t))),
}
POINT = {"M": np.array([[0.3, -0.2, 0.5], [0.1, 0.4, -0.6]]), "v": np.array([0.7, -0.3, 0.2])}


def opaque(form: str, symbolic: bool) -> Any:
    return sd.external(lambda A, b: model(number(A), number(b)), 2, **{form: RULES[form, symbolic]}, name="model")


def at(f: Any, **more: Any) -> Any:
    k = sd.compile(f)
    point = {**POINT, **more}
    return k(**{one.name: point[one.name] for one in k.inputs})


@pytest.mark.parametrize(("form", "symbolic"), RULES)
def test_derivatives_are_those_of_the_formula(form: str, symbolic: bool) -> None:
    f = opaque(form, symbolic)(M, v)
    own = model(M, v)
    s = np.array([0.5, -1.5])
    cases: list[tuple[Any, Any]] = [
        (f, own),
        (sd.jacobian(f, M), sd.jacobian(own, M)),
        (sd.jacobian(f, v), sd.jacobian(own, v)),
        (sd.gradient(f @ f + v @ v, v), sd.gradient(own @ own + v @ v, v)),
        (sd.vjp(f, M, s), sd.vjp(own, M, s)),
        (sd.jvp(f, (M, v), (np.ones((2, 3)), [1, 0, 2])), sd.jvp(own, (M, v), (np.ones((2, 3)), [1, 0, 2]))),
        (sd.gradient(np.sum(np.exp(f[::-1]) * M[:, 0]), M), sd.gradient(np.sum(np.exp(own[::-1]) * M[:, 0]), M)),
    ]
    for found, expected in cases:
        np.testing.assert_allclose(at(found), at(expected), rtol=1e-13, atol=1e-14)
    calls = [node for node in postorder([sd.jacobian(f, v).node]) if node.op == "external"]
    assert bool([node for node in calls if node.payload.name != "model"]) is not symbolic


@pytest.mark.parametrize("form", FORMULAS)
def test_a_rule_that_is_a_formula_has_derivatives_of_any_order(form: str) -> None:
    f, own = opaque(form, True)(M, v), model(M, v)
    np.testing.assert_allclose(at(sd.hessian(f @ f, v)), at(sd.hessian(own @ own, v)), rtol=1e-12, atol=1e-13)
    found, expected = (sd.jacobian(sd.hessian(one[0] * one[1], v), M) for one in (f, own))
    np.testing.assert_allclose(at(found), at(expected), rtol=1e-11, atol=1e-12)


@pytest.mark.rows(1)
@pytest.mark.parametrize("form", ["jacobian", "vjp", "jvp"])
def test_a_rule_of_numbers_is_linear_and_has_no_further_derivative(form: str) -> None:
    f = opaque(form, False)(M, v)
    with pytest.raises(sd.NotDifferentiableError, match=rf"model_{form} is a function of numbers without a derivative"):
        sd.hessian(f @ f, v)
    s = sd.vector("s", 2)
    back = sd.vjp(f, v, s)
    expected = at(sd.jacobian(model(M, v), v))
    np.testing.assert_allclose(at(sd.jacobian(back, s), s=np.ones(2)), expected.T, rtol=1e-13)
    np.testing.assert_allclose(at(sd.gradient(back @ v, s), s=np.ones(2)), expected @ POINT["v"], rtol=1e-13)


def test_without_a_rule_it_is_refused_by_name() -> None:
    f = sd.external(math.exp)
    assert sd.compile(f(x) * 2)(1.0) == 2 * math.e
    with pytest.raises(sd.NotDifferentiableError, match=r"exp is a function of numbers without a derivative.*vjp="):
        sd.gradient(f(x) * x, x)
    assert str(sd.gradient(sd.stop_gradient(f(x)) * x, x)) == "stop_gradient(exp(x))"
    assert sd.gradient(f(x) * v[0], v).shape == (3,)


BATCHES = [(), (1,), (4,), (2, 3), (0,)]


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("lead", BATCHES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches_are_their_samples(batched: bool, lead: tuple[int, ...], dtype: Any) -> None:
    seen: list[tuple[int, ...]] = []

    def norm(w: Any) -> Any:
        seen.append(np.shape(w))
        w[...] = number(w)  # what comes is the function's own
        return np.sqrt((w * w).sum(axis=-1))

    def back(args: Any, c: Any) -> Any:
        w, c = number(args[0]), number(c)
        return (w / np.sqrt((w * w).sum(axis=-1))[..., None] * c[..., None],)

    f = sd.external(norm, vjp=back, batched=batched)
    k = sd.compile({"value": f(v) + x, "slope": sd.gradient(f(v) * x, v)}, [v, x])
    rng = np.random.default_rng(1)
    w, y = rng.normal(size=(*lead, 3)).astype(dtype), rng.normal(size=lead).astype(dtype)
    found = k(w, y)
    norms = np.sqrt((w.astype(float) ** 2).sum(axis=-1))
    tolerance = 1e-13 if dtype is np.float64 else 1e-6
    np.testing.assert_allclose(found["value"], norms + y, rtol=tolerance)
    np.testing.assert_allclose(found["slope"], w / norms[..., None] * y[..., None], rtol=tolerance)
    assert found["slope"].dtype == dtype
    if batched and math.prod(lead) > 1:
        assert len(seen) < math.prod(lead)
    one = k(w, 2.0) if lead != () else k(w, y)
    assert one["value"].shape == lead


def test_what_is_around_it_is_a_plan() -> None:
    W = sd.matrix("W", 300, 2)
    f = opaque("vjp", False)
    loss = np.sum(np.log(1 + (W @ f(M, v)) ** 2))
    k = sd.compile([loss, sd.gradient(loss, (M, v))], [W, M, v])
    own = np.sum(np.log(1 + (W @ model(M, v)) ** 2))
    expected = sd.compile([own, sd.gradient(own, (M, v))], [W, M, v])
    w = np.random.default_rng(0).normal(size=(300, 2))
    for found, wanted in zip(k(w, *POINT.values())[1], expected(w, *POINT.values())[1], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11)
    assert "no native form" in str(k.plan)
    assert "fused" in str(k.plan)
    data = sd.compile(loss, [W, M, v], batch=[W], reduce="sum")(np.stack([w, 2 * w]), *POINT.values())
    assert data == pytest.approx(sum(sd.compile(own, [W, M, v])(c * w, *POINT.values()) for c in (1, 2)), rel=1e-12)


def test_letters_loops_text_and_other_uses() -> None:
    n = sd.vector("n_", "n")
    total = sd.external(np.cumsum, lambda a: a, vjp=lambda args, c: (np.cumsum(number(c)[::-1])[::-1],))
    k = sd.compile(sd.gradient(total(n) @ total(n), n))
    np.testing.assert_allclose(k([1.0, 2.0, 3.0]), [20, 18, 12])
    np.testing.assert_allclose(k([1.0, 2.0]), [8, 6])
    add = sd.external(lambda a: a + 1, jacobian=lambda args: (1.0,), name="add")
    assert sd.compile(sd.iterate(lambda c: add(c) * 2, x, 3))(1.0) == 22
    assert sd.compile(sd.gradient(sd.iterate(lambda c: add(c) * 2, x, 3), x))(1.0) == 8
    assert sd.compile(sd.sum_over("k", 4, lambda k: add(k * x)))([1.0, 2.0]).tolist() == [10, 16]
    h0 = sd.external(lambda t: struve(0, t), jacobian=lambda args: (2 / np.pi - struve(1, args[0]),), name="H0")
    assert str(sd.gradient("x * H0(x)", "x", functions={"H0": h0})) == "H0(x) + x * H0_jacobian(x)"
    step = 1e-6
    slope = sd.compile("gradient(H0(x), x)", functions={"H0": h0})(0.7)
    assert slope == pytest.approx((struve(0, 0.7 + step) - struve(0, 0.7 - step)) / (2 * step), rel=1e-8)
    f = sd.objective(opaque("vjp", False)(M, v) @ np.ones(2), v)
    np.testing.assert_allclose(f.jac(POINT["v"], POINT["M"]), slopes(*POINT.values())[1].sum(axis=0), rtol=1e-13)
    k = sd.compile(sd.jacobian(h0(x) * v, v), sparse="csr")
    np.testing.assert_allclose(k(0.7, POINT["v"]).toarray(), struve(0, 0.7) * np.eye(3))


def shifted(a: Any) -> Any:
    return number(a) + 1


def doubled(a: Any) -> Any:
    return number(a) * 2


def test_equal_names_are_not_equal_functions() -> None:
    one, other = (sd.external(f, name="q")(x) for f in (shifted, doubled))
    assert one.node is not other.node
    assert [float(sd.compile(f)(3.0)) for f in (one, other)] == [4.0, 6.0]
    assert sd.external(shifted, name="q")(x).node is one.node


def test_kernels_are_pickled_by_the_name_of_the_function() -> None:
    k = pickle.loads(pickle.dumps(sd.compile(sd.external(shifted)(x) * x)))
    assert k(3.0) == 12.0
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(sd.compile(sd.external(lambda a: a)(x)))


@pytest.mark.exhaustive
@given(st.lists(st.floats(-2, 2), min_size=3, max_size=3), st.sampled_from(sorted(RULES)))
@settings(max_examples=25)
def test_check_follows_rules(numbers: list[float], rule: tuple[str, bool]) -> None:
    report = sd.check(opaque(*rule)(M, v) @ np.ones(2), at={"v": numbers})
    assert not any(finding.wrong for finding in report.findings), report


def test_check_reports_a_wrong_rule_and_survives_failures() -> None:
    wrong = sd.external(lambda a: float(np.sin(a)), vjp=lambda args, c: (2 * number(c) * np.cos(args[0]),), name="off")
    assert "the rule of off is not the derivative" in str(sd.check(wrong(x)))
    logarithm = sd.external(math.log, vjp=lambda args, c: (c / args[0],), name="ln")
    assert not any(finding.wrong for finding in sd.check(logarithm(x), at={"x": 0.5}).findings)


def boom(*args: Any) -> Any:
    raise LookupError("the user's own")


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: sd.external(3), sd.ArgumentError, "external of type int; expected a function"),
        (lambda: sd.external(boom, jacobian=boom, vjp=boom), sd.ArgumentError, "2 derivatives; expected one of"),
        (lambda: sd.external(boom, vjp=3), sd.ArgumentError, "vjp= is of type int"),
        (lambda: sd.external(boom, batched=1), sd.ArgumentError, "batched=1; expected True or False"),
        (lambda: sd.external(boom, shape="n!"), sd.ShapeError, "is not a name"),
        (lambda: sd.external(boom, name=""), sd.ArgumentError, "name=''; expected a text"),
        (lambda: sd.external(math.exp)(x, x), sd.ArgumentError, "came with 2 arguments, which its function does not"),
        (sd.external(math.exp), sd.ArgumentError, "exp without arguments"),
        (lambda: sd.external(math.exp)(a=x), sd.ArgumentError, "exp with a=; it takes arrays by position only"),
        (lambda: sd.external(math.exp)("x"), sd.DtypeError, "text"),
        (lambda: at(sd.external(lambda a: a[:2], 3, name="f")(v)), sd.ShapeError, r"f gave a value of shape \(2,\)"),
        (lambda: at(sd.external(lambda a: 1j, name="f")(v)), sd.DtypeError, "f gave complex"),
        (lambda: at(sd.external(lambda a: None, name="f")(v)), sd.DtypeError, "f gave NoneType"),
        (lambda: at(sd.external(boom)(v)), LookupError, "the user's own"),
        (lambda: sd.external(math.exp)(x).sympy, sd.UnsupportedError, "which SymPy has no form for"),
        (lambda: sd.compile(sd.external(math.exp)(x), backend="native"), sd.UnsupportedError, "external"),
        (lambda: sd.compile(sd.external(math.exp)(x), reproducible=True), sd.UnsupportedError, "reproducible=True"),
        (lambda: sd.compile(sd.external(math.exp)(x)).source("c"), sd.UnsupportedError, "external"),
        (
            lambda: at(sd.gradient(sd.external(lambda a: float(a[0]), vjp=lambda args, c: (boom(), 1))(v), v)),
            LookupError,
            "own",
        ),
        (
            lambda: at(
                sd.gradient(
                    sd.external(lambda A, b: float(b[0]), vjp=lambda args, c: number(args[0]), name="f")(M, v), v
                )
            ),
            sd.ShapeError,
            "f_vjp gave 1 arrays; expected 2",
        ),
    ],
)
def test_refusals(make: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_source_stands_by_and_is_not_exported(tmp_path: Path) -> None:
    k = sd.compile(sd.external(math.exp, name="evil'name")(x) * x)
    assert "a function of Python" in k.source()
    assert "evil" not in k.source()
    with pytest.raises(sd.UnsupportedError, match=r"sd\.external"):
        sd.export(k, tmp_path, "f", target="numpy")

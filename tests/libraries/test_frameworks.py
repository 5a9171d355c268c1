"""Kernels as functions of JAX, PyTorch, Numba and SciPy's compiled code.

JAX, PyTorch and Numba are extras: each test says which one it lacks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, ndimage

import symdiff as sd
from symdiff.frontend.outputs import unpack
from symdiff.libraries.signature import check_one_sample, symbols_of, template_of_results

#: Its own rules of forward mode are deprecated scripts.
of_torch = pytest.mark.filterwarnings("ignore:.torch.jit")

FORMULAS = [
    ("sum(sin(A @ x)) * exp(y)", {"A": (3, 2), "x": 2, "y": ()}),
    ("softmax(A @ x) * y", {"A": (3, 2), "x": 2, "y": ()}),
    ("log(det(A.T @ A + y**2 * eye(2))) + x @ x", {"A": (3, 2), "x": 2, "y": ()}),
]


def point(shapes: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(5)
    return [np.asarray(rng.normal(size=shape)) for shape in shapes.values()]


@pytest.mark.parametrize(("text", "shapes"), FORMULAS)
def test_jax_differentiates_kernels_to_second_order(text: str, shapes: dict[str, Any]) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    kernel = sd.compile(text, shapes=shapes)
    function = kernel.jax()
    args = point(shapes)
    np.testing.assert_array_equal(function(*args), kernel(*args))
    np.testing.assert_array_equal(jax.jit(function)(*args), kernel(*args))
    for number, name in enumerate(shapes):
        slope = sd.compile(f"jacobian({text}, {name})", shapes=shapes)(*args)
        np.testing.assert_allclose(jax.jacrev(function, number)(*args), slope, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(jax.jacfwd(function, number)(*args), slope, rtol=1e-12, atol=1e-14)
        first = sd.jacobian(text, name, shapes=shapes)
        second = sd.compile(sd.jacobian(first, "x", disconnected="zero"), list(shapes))(*args)
        twice = jax.jit(jax.jacfwd(jax.jacrev(function, number), 1))(*args)
        np.testing.assert_allclose(twice, second, rtol=1e-11, atol=1e-13)
    batch = np.random.default_rng(6).normal(size=(7, 2))
    mapped = jax.vmap(function, (None, 0, None))(args[0], batch, args[2])
    np.testing.assert_array_equal(mapped, kernel(args[0], batch, args[2]))


def several(jax: Any) -> tuple[Any, Any]:
    """Return a kernel of several results as JAX's function, and the same as JAX has it."""
    kernel = sd.compile({"a": "softmax(A @ x) * y", "b": "sum(sin(x) * exp(y)) + sum(A**2)"}, A=(3, 2), x=2, y=())

    def own(A: Any, x: Any, y: Any) -> Any:
        return {"a": jax.nn.softmax(A @ x) * y, "b": jax.numpy.sum(jax.numpy.sin(x) * jax.numpy.exp(y)) + (A**2).sum()}

    return kernel.jax(), own


def test_jax_mixes_modes_batches_and_loops() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(8)
    A, x, y = rng.normal(size=(3, 2)), rng.normal(size=2), 1.3
    X, Y = rng.normal(size=(4, 5, 2)), rng.normal(size=5)

    def asked(f: Any) -> Any:
        def total(A: Any, x: Any, y: Any) -> Any:
            found = f(A, x, y)
            return jax.nn.logsumexp(found["a"] ** 2) + found["b"]

        def step(x: Any, _: Any) -> Any:
            return x - 0.01 * jax.grad(total, 1)(A, x, y), f(A, x, y)["b"]

        def batch(h: Any) -> Any:  # axes of A and y are shared, those of x and y nested
            return jax.vmap(jax.vmap(h, (None, 0, 0)), (None, 0, None))

        slopes = jax.grad(lambda A, X, Y: (batch(total)(A, X, Y) ** 2).sum(), (0, 1, 2))
        yield jax.jit(jax.jacfwd(jax.jacrev(jax.jacrev(total, 1), 2), 0))(A, x, y)
        yield jax.jacrev(jax.jacfwd(jax.jacfwd(total, 1), 1), 1)(A, x, y)
        yield batch(f)(A, X, Y)
        yield batch(jax.grad(total, (0, 1, 2)))(A, X, Y)
        yield slopes(A, X, Y)
        yield jax.hessian(lambda A: slopes(A, X, Y)[0].sum())(A)
        yield jax.vmap(f, (2, 1, None))(rng.normal(size=(3, 2, 6)) * 0 + A[..., None], np.stack([x] * 6, 1), y)
        yield jax.jit(lambda x: jax.lax.scan(step, x, None, length=5))(x)
        yield jax.linearize(lambda x: f(A, x, y), x)[1](np.ones(2))
        yield jax.jvp(jax.grad(jax.checkpoint(total), 1), (A, x, y), (A * 0, np.ones(2), 0.0))

    for found, wanted in zip(*map(asked, several(jax)), strict=True):
        for one, other in zip(*map(jax.tree.leaves, (found, wanted)), strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def test_jax_needs_no_jacobian_for_a_gradient() -> None:
    """Of 200,000 numbers: the matrix would have 320 GB."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    f = sd.compile("exp(-x**2) * sin(3*x)", x="n", backend="numpy").jax()
    x = np.linspace(-2.0, 2.0, 200_000)
    e = np.exp(-(x**2))
    slope = jax.grad(lambda x: f(x).sum())(x)
    np.testing.assert_allclose(slope, e * (3 * np.cos(3 * x) - 2 * x * np.sin(3 * x)), rtol=1e-12, atol=1e-14)
    curved = jax.jvp(jax.grad(lambda x: f(x).sum()), (x,), (np.ones_like(x),))[1]
    second = e * ((4 * x**2 - 11) * np.sin(3 * x) - 12 * x * np.cos(3 * x))
    np.testing.assert_allclose(curved, second, rtol=1e-11, atol=1e-12)


def test_jax_without_x64_is_float32() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", False)
    try:
        result = sd.compile("sin(x)", x=3).jax()(np.ones(3))
        assert result.dtype == np.float32
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize(("text", "shapes"), FORMULAS)
def test_torch_differentiates_kernels_twice(text: str, shapes: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    kernel = sd.compile(text, shapes=shapes)
    function = kernel.torch()
    args = [torch.tensor(array, requires_grad=True) for array in point(shapes)]
    np.testing.assert_array_equal(function(*args).detach(), kernel(*(arg.detach().numpy() for arg in args)))
    assert torch.autograd.gradcheck(function, args)
    assert torch.autograd.gradgradcheck(function, args)
    rows = torch.tensor(np.random.default_rng(7).normal(size=(4, 2)), requires_grad=True)
    assert torch.autograd.gradcheck(function, (args[0], rows, args[2]))  # derivatives of what is shared are added


KINDS = ["lower", "symmetric", "skew", "diagonal", "positive_definite"]
DECLARED: list[dict[str, Any]] = [{kind: True} for kind in KINDS]


def declared_kernel(facts: dict[str, Any]) -> tuple[sd.Kernel, list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """A kernel of a declared matrix, a point, and the derivative with respect to the matrix, by symdiff's kernels."""
    A, x = sd.matrix("A", 3, 3, **facts), sd.vector("x", 3)
    f = x @ A @ A @ x + (A * np.arange(9.0).reshape(3, 3)).sum()
    G, x0 = np.random.default_rng(11).normal(size=(3, 3)), np.array([0.3, -1.2, 0.8])
    made = {
        "symmetric": G + G.T,
        "skew": G - G.T,
        "diagonal": np.diag(np.diag(G)),
        "lower": np.tril(G),
        "positive_definite": G @ G.T,
    }
    at = made[next(iter(facts))]
    return sd.compile(f, [A, x]), [at, x0], sd.compile(sd.gradient(f, A), [A, x])(at, x0)


@pytest.mark.parametrize("facts", DECLARED, ids=lambda facts: next(iter(facts)))
def test_declared_inputs_stay_declared(facts: dict[str, Any]) -> None:
    kernel, args, slope = declared_kernel(facts)
    A, x = symbols_of(kernel)
    assert [one.node for one in (A, x)] == [sd.matrix("A", 3, 3, **facts).node, sd.vector("x", 3).node]
    assert template_of_results(kernel) == "output"
    again = sd.compile(sd.gradient(kernel(A, x), A), [A, x])
    np.testing.assert_array_equal(again(*args), slope)


@pytest.mark.parametrize("facts", DECLARED, ids=lambda facts: next(iter(facts)))
def test_jax_differentiates_by_declared_inputs(facts: dict[str, Any]) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    kernel, args, slope = declared_kernel(facts)
    np.testing.assert_allclose(jax.grad(kernel.jax())(*args), slope, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("facts", DECLARED, ids=lambda facts: next(iter(facts)))
def test_torch_differentiates_by_declared_inputs(facts: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    kernel, args, slope = declared_kernel(facts)
    tensors = [torch.tensor(arg, requires_grad=True) for arg in args]
    kernel.torch()(*tensors).backward()
    np.testing.assert_allclose(tensors[0].grad, slope, rtol=1e-12, atol=1e-13)


def ratings() -> tuple[sd.Kernel, Any, Any]:
    """Return a kernel that takes positions, a point, and what it is of NumPy's, JAX's or PyTorch's arrays."""
    kernel = sd.compile("(u[i] @ w[j] - r)**2", u=(4, 3), w=(5, 3), i=int, j=int, r=())
    assert [one.node.dtype for one in symbols_of(kernel)] == ["real", "real", "int", "int", "real"]
    rng = np.random.default_rng(0)
    point = (rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), np.array([0, 1, 3]), np.array([4, 4, 1]), np.ones(3))
    return kernel, point, lambda u, w, i, j, r: (u[i] @ w[j] - r) ** 2


def test_jax_takes_positions() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    kernel, point, own = ratings()
    u, w, *rest = map(jax.numpy.asarray, point)
    axes = (None, None, 0, 0, 0)
    totals = [lambda *given, f=f: jax.vmap(f, axes)(*given).sum() for f in (kernel.jax(), own)]
    for transform in (lambda f: f, lambda f: jax.jit(jax.grad(f, (0, 1))), jax.hessian):
        found, expected = (transform(f)(u, w, *rest) for f in totals)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def test_torch_takes_positions() -> None:
    torch = pytest.importorskip("torch")
    kernel, point, _ = ratings()
    slopes = []
    for f in (kernel.torch(), lambda u, w, i, j, r: ((u[i] * w[j]).sum(-1) - r) ** 2):
        u, w, *rest = (torch.tensor(one, requires_grad=one.dtype.kind == "f") for one in point)
        f(u, w, *rest).sum().backward()
        slopes.append((u.grad, w.grad))
    for found, expected in zip(*slopes, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_sums_over_the_batch_are_refused_by_name() -> None:
    with pytest.raises(sd.UnsupportedError, match="reduce="):
        check_one_sample(sd.compile("sum(x)", x=2, reduce="sum"), "JAX", "jax.vmap takes its place")


def test_numba_calls_kernels_in_compiled_code() -> None:
    numba = pytest.importorskip("numba")
    shapes = FORMULAS[0][1]
    kernel = sd.compile(f"gradient({FORMULAS[0][0]}, A)", shapes=shapes, backend="native")
    function, number = kernel.numba(), sd.compile(FORMULAS[0][0], shapes=shapes, backend="native").numba()

    @numba.njit  # type: ignore[untyped-decorator]
    def total(a: Any, rows: Any, y: Any) -> Any:
        result = np.zeros((3, 2))
        for k in range(len(rows)):
            result += function(a, rows[k], y) * number(a, rows[k], 1.0)
        return result

    a, _, y = point(shapes)
    rows = np.random.default_rng(8).normal(size=(9, 2))
    expected = sum(kernel(a, row, y) * sd.compile(FORMULAS[0][0], shapes=shapes)(a, row, 1.0) for row in rows)
    np.testing.assert_allclose(total(np.asfortranarray(a), rows, float(y)), expected, rtol=1e-13)
    with pytest.raises(ValueError, match="another shape"):
        total(a[:2].copy(), rows, float(y))


#: Kernels whose native code Numba calls, and kernels that it calls as Python does.
SEVERAL: list[tuple[Any, dict[str, Any]]] = [
    ({"value": "x@A@x", "slope": "gradient(x@A@x, x)", "curve": "hessian(x@A@x, x)"}, {"A": (2, 2), "x": 2}),
    (("A[0]", ["x[1]", "outer(x, x)"]), {"A": (2, 2), "x": 2}),
    (("sum(exp(-x**2))", "gradient(sum(exp(-x**2)), x)"), {"x": "n"}),
    ("x * A", {"x": (), "A": ("n", "m")}),
    ("solve(A, x)", {"A": ("n", "n"), "x": "n"}),
    (("logdet(S)", "gradient(logdet(S), S)"), {"S": sd.positive_definite(2)}),
    (("sum(sin(X) @ v)", "gradient(sum(sin(X) @ v), X)"), {"X": (60, 50), "v": 50}),
    (["log(x)", "x[0]"], {"x": 2}),
]


@pytest.mark.parametrize(("formula", "shapes"), SEVERAL)
def test_numba_takes_several_results_and_letters(formula: Any, shapes: dict[str, Any]) -> None:
    numba = pytest.importorskip("numba")
    kernel = sd.compile(formula, shapes=shapes)
    function = kernel.numba()

    @numba.njit  # type: ignore[untyped-decorator]
    def twice(*args: Any) -> Any:
        function(*args)
        return function(*args)

    rng = np.random.default_rng(4)
    lengths = {"n": 5, "m": 3}
    args: list[Any] = [
        rng.uniform(0.5, 1.5, [lengths.get(str(size), size) for size in p.shape]) if p.shape else 0.5
        for p in kernel.inputs
    ]
    args = [one + one.T + 3 * np.eye(2) if p.name == "S" else one for p, one in zip(kernel.inputs, args, strict=True)]
    found = twice(*args)
    expected = unpack(template_of_results(kernel), kernel(*args))
    found = list(found) if len(expected) > 1 else [found]
    assert [np.shape(one) for one in found] == [np.shape(one) for one in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
        if "A" not in shapes and "X" not in shapes:  # elementwise
            np.testing.assert_array_equal(one, other)
    turned = [np.asfortranarray(one) if np.ndim(one) else 0.5 for one in args]
    np.testing.assert_array_equal(twice(*turned)[0], twice(*args)[0])
    with pytest.raises(ValueError, match="another number of arguments"):
        function(*args, 1.0)
    with pytest.raises(ValueError, match="another shape"):
        function(*args[:-1], np.ones((2, 2, 2)))


def test_numba_refuses_by_name() -> None:
    pytest.importorskip("numba")
    inverse = sd.compile("inv(A)", A=("n", "n")).numba()
    with pytest.raises(sd.SingularMatrixError):
        inverse(np.zeros((3, 3)))
    with pytest.raises(sd.ShapeError, match="they must be equal"):
        sd.compile("x @ y", x="n", y="n").numba()(np.ones(2), np.ones(3))
    with pytest.raises(sd.UnsupportedError, match="add in a loop"):
        sd.compile("x", x=(), reduce="sum").numba()
    with pytest.raises(sd.UnsupportedError, match="batch_axis=-1"):
        sd.compile("x", x=2, batch_axis=-1).numba()
    with pytest.raises(sd.UnsupportedError, match="no structures as arguments"):
        sd.compile(sd.scalar("a") * 2, [{"a": sd.scalar("a")}]).numba()
    kernel = sd.compile("x @ S @ x", S=sd.symmetric(2), x=2)
    for call in (kernel, kernel.numba()):  # what is declared is looked at
        with pytest.raises(sd.SymdiffError, match="S is declared symmetric, and is not"):
            call(np.array([[0.0, 1.0], [2.0, 0.0]]), np.ones(2))
    taken = sd.compile("T[i] * 2", T=4, i=int).numba()
    assert taken(np.arange(4.0), 2) == 4.0


def test_scipy_integrates_and_filters_by_kernels() -> None:
    kernel = sd.compile("exp(-a*x**2) * cos(b*x)", x=(), a=(), b=())
    integrand = kernel.low_level()
    value, _ = integrate.quad(integrand, 0, np.inf, args=(0.7, 1.3))
    np.testing.assert_allclose(value, np.sqrt(np.pi / 0.7) / 2 * np.exp(-(1.3**2) / 2.8), rtol=1e-10)
    product = sd.compile("x * y**2", x=(), y=()).low_level()
    np.testing.assert_allclose(integrate.nquad(product, [[0, 1], [0, 3]])[0], 4.5, rtol=1e-12)
    image = np.random.default_rng(9).normal(size=(20, 30))
    edges = sd.compile("norm(v[1:] - v[:-1])", v=9).low_level("filter")
    expected = ndimage.generic_filter(image, lambda v: np.linalg.norm(np.diff(v)), size=3)
    np.testing.assert_allclose(ndimage.generic_filter(image, edges, size=3), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: sd.compile("x", x=2).low_level(), sd.UnsupportedError, "expected one number as result"),
        (lambda: sd.compile("sum(x)", x=2).low_level(), sd.UnsupportedError, "expected numbers as its inputs"),
        (lambda: sd.compile("x*y", x=(), y=()).low_level("filter"), sd.UnsupportedError, "expected one vector"),
        (lambda: sd.compile("x", x=()).low_level("quad"), sd.ArgumentError, "'integrand' or 'filter'"),
        (lambda: sd.compile("x", x=(), reduce="sum").low_level(), sd.UnsupportedError, "has no address"),
    ],
)
def test_kernels_that_do_not_fit_are_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("library", ["jax", "torch", "numba"])
def test_a_library_that_is_not_there_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(sd.UnsupportedError, match=f"{library} is not installed here"):
        getattr(sd.compile("x", x=()), library)()


def test_a_kernel_called_inside_of_jax_says_what_to_call() -> None:
    jax = pytest.importorskip("jax")
    kernel = sd.compile("x @ x", x=3)
    for act in (jax.grad, jax.jit):
        with pytest.raises(sd.DtypeError, match=r"x is a .*Tracer of jax.*call k.jax\(\)"):
            act(lambda x: kernel(x))(np.ones(3))  # noqa: PLW0108 (JAX reads the signature of what it is given)
    assert jax.grad(kernel.jax())(np.ones(3)).tolist() == [2, 2, 2]


def test_a_kernel_called_with_a_tensor_that_is_followed_says_what_to_call() -> None:
    torch = pytest.importorskip("torch")
    kernel = sd.compile("x @ x", x=3)
    tensor = torch.ones(3, dtype=torch.float64, requires_grad=True)
    with pytest.raises(sd.DtypeError, match=r"x is a Tensor of torch.*call k.torch\(\)"):
        kernel(tensor)
    kernel.torch()(tensor).backward()
    assert tensor.grad.tolist() == [2, 2, 2]


@of_torch
@pytest.mark.parametrize(("text", "shapes"), FORMULAS)
def test_transforms_of_torch_are_those_of_its_own_functions(text: str, shapes: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    from torch.func import hessian, jacfwd, jacrev, vmap

    written = {
        FORMULAS[0][0]: lambda A, x, y: torch.sum(torch.sin(A @ x)) * torch.exp(y),
        FORMULAS[1][0]: lambda A, x, y: torch.softmax(A @ x, 0) * y,
        FORMULAS[2][0]: lambda A, x, y: torch.logdet(A.T @ A + y**2 * torch.eye(2, dtype=A.dtype)) + x @ x,
    }[text]
    own = sd.compile(text, shapes=shapes).torch()
    A, x, y = (torch.tensor(array) for array in point(shapes))
    rows, numbers = torch.tensor(np.random.default_rng(8).normal(size=(2, 5, 2))), torch.tensor([0.5, 1.5])
    which = (0, 1, 2)
    transforms: dict[str, Any] = {
        "jacrev": lambda f: jacrev(f, which)(A, x, y),
        "jacfwd": lambda f: jacfwd(f, which)(A, x, y),
        "hessian": lambda f: hessian(f, which)(A, x, y),
        "vmap": lambda f: vmap(f, (None, 0, None))(A, rows[0], y),
        "vmap along the last axis": lambda f: vmap(f, (None, 1, None))(A, rows[0].T, y),
        "vmap of vmap": lambda f: vmap(vmap(f, (None, 0, None)), (None, 0, 0))(A, rows, numbers),
        "vmap of jacrev": lambda f: vmap(jacrev(f, which), (None, 0, None))(A, rows[0], y),
        "vmap of jacfwd": lambda f: vmap(jacfwd(f, 1), (None, 0, None))(A, rows[0], y),
        "jacrev of vmap": lambda f: jacrev(vmap(f, (None, 0, None)), which)(A, rows[0], y),
        "hessian of vmap": lambda f: hessian(vmap(f, (None, 0, None)), 2)(A, rows[0], y),
    }

    def flat(value: Any) -> list[Any]:
        return [value] if isinstance(value, torch.Tensor) else [leaf for part in value for leaf in flat(part)]

    for name, transform in transforms.items():
        for got, wanted in zip(flat(transform(own)), flat(transform(written)), strict=True):
            torch.testing.assert_close(got, wanted, msg=name)


def test_axes_of_a_batch_lie_behind_what_torch_maps() -> None:
    torch = pytest.importorskip("torch")
    own = sd.compile({"y": "tanh(W @ x)", "n": "x @ x"}, W=("m", "n"), x="n").torch()
    rng = np.random.default_rng(9)
    W, x = torch.tensor(rng.normal(size=(4, 3, 2))), torch.tensor(rng.normal(size=(5, 2)))
    mapped = torch.func.vmap(own, (0, None))(W, x)
    assert mapped["y"].shape == (4, 5, 3)
    torch.testing.assert_close(mapped["y"], torch.stack([own(one, x)["y"] for one in W]), rtol=0, atol=0)
    torch.testing.assert_close(mapped["n"], (x * x).sum(1).expand(4, 5))


@of_torch
def test_torch_differentiates_forward() -> None:
    torch = pytest.importorskip("torch")
    own = sd.compile("exp(x) @ A @ y", A=(2, 3), x=2, y=3).torch()
    args = [torch.tensor(array, requires_grad=True) for array in point({"A": (2, 3), "x": 2, "y": 3})]
    assert torch.autograd.gradcheck(own, args, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(own, args, check_fwd_over_rev=True)

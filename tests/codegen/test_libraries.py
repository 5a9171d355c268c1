"""Source for JAX, PyTorch and the Array API: it computes what the kernel does, in double precision.

JAX and PyTorch are extras; without them the source runs over NumPy, which is a library of the standard.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import symdiff as sd
from symdiff import Array
from symdiff.errors import UnsupportedError
from symdiff.frontend.numpy.library import LIBRARY
from symdiff.graph.scalars.functions import FUNCTIONS, Partial
from tests.graph.test_functions import REALS
from tests.support.library_calls import CALLS
from tests.support.rule_tables import inputs_of
from tests.support.strategies import Formula, formulas, sample
from tests.tools.test_export import FORMULAS, case_of, filters, near

Evaluate = Callable[..., Any]


def loaded(text: str) -> Evaluate:
    """Return the function of a module's source."""
    space: dict[str, Any] = {}
    exec(compile(text, "<source>", "exec"), space)  # noqa: S102 - it is what is tested
    evaluate: Evaluate = space["evaluate"]
    return evaluate


def numpy_arrays(kernel: Any) -> Evaluate:
    return loaded(kernel.source("array_api"))


def strict_arrays(kernel: Any) -> Evaluate:
    strict = importlib.import_module("array_api_strict")
    function = loaded(kernel.source("array_api"))
    return lambda *args: function(*[strict.asarray(arg) for arg in args])


def jax_arrays(kernel: Any) -> Evaluate:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    function: Evaluate = jax.jit(loaded(kernel.source("jax")))
    return function


def torch_arrays(kernel: Any) -> Evaluate:
    torch = importlib.import_module("torch")
    function = loaded(kernel.source("torch"))
    return lambda *args: function(*[torch.asarray(np.array(arg)) for arg in args])


WAYS = {"numpy": numpy_arrays, "array_api_strict": strict_arrays, "jax": jax_arrays, "torch": torch_arrays}


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest) -> Callable[[Any], Evaluate]:
    pytest.importorskip(request.param)
    return WAYS[request.param]


def results(found: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(one) for one in (found if isinstance(found, tuple | list) else [found])]


def compare(kernel: Any, way: Callable[[Any], Evaluate], args: Sequence[Any], tolerance: float = 1e-11) -> None:
    """Compare the source with the kernel, which is refused only for a function that the library lacks."""
    try:
        function = way(kernel)
    except UnsupportedError as error:
        if not re.search("lacks|have no form over|positions among", str(error)):
            raise
        pytest.skip(str(error))
    with np.errstate(all="ignore"):
        found = results(function(*args))
    for got, want in zip(found, results(kernel(*args)), strict=True):
        assert got.dtype == np.float64
        assert got.shape == want.shape
        near(got, want, tolerance)


@pytest.mark.parametrize("number", range(len(FORMULAS)), ids=[text for text, _ in FORMULAS])
def test_source_is_the_kernel(number: int, way: Callable[[Any], Evaluate]) -> None:
    case = case_of(FORMULAS[number][0], {"n": 4, "m": 6}, seed=number, **FORMULAS[number][1])
    compare(case.kernel, way, case.arrays)
    compare(case.kernel, way, [array[0] for array in case.arrays])


@pytest.mark.parametrize("number", range(len(CALLS)), ids=[f"{call.name}-{i}" for i, call in enumerate(CALLS)])
def test_every_entry_of_the_library_and_its_gradient(number: int, way: Callable[[Any], Evaluate]) -> None:
    if way is numpy_arrays and number % 4:
        pytest.skip("NumPy has the same functions under both names; a part of them is enough")
    call = CALLS[number]
    symbols = list(inputs_of(call.values).values())
    out = call.symbolic(*symbols)
    if out.dtype == bool:
        out = sd.where(out, 1.0, 2.0)
    outputs = [out]
    with suppress(sd.NotDifferentiableError, sd.DtypeError):  # of steps, and by positions
        outputs += [sd.gradient(sd.sum(out * out), x, disconnected="zero") for x in symbols]
    compare(sd.compile(outputs, symbols, backend="numpy"), way, call.values, 1e-9)


def test_loops(way: Callable[[Any], Evaluate]) -> None:
    for number, formula in enumerate(filters()):
        case = case_of(formula, {"n": 7}, seed=number)
        compare(case.kernel, way, case.arrays)


@pytest.mark.parametrize("name", [name for name in REALS if name in LIBRARY])
def test_every_scalar_function(name: str, way: Callable[[Any], Evaluate]) -> None:
    row = FUNCTIONS[name]
    rng = np.random.default_rng(8)
    free = [k for k, (low, high) in enumerate(row.domain) if low != high and row.partials[k] is not Partial.NONE]
    symbols = [sd.vector(f"x{k}", 6) for k in free]
    args = [sd.asarray(low + 0.5 * (high - low)) for low, high in row.domain]
    for k, symbol in zip(free, symbols, strict=True):
        args[k] = symbol
    out = sd.function(name)(*args)
    slopes = [k for k in free if not isinstance(row.partials[k], Partial)]
    outputs = [out, *(sd.gradient(sd.sum(out), f"x{k}") for k in slopes)]
    kernel = sd.compile(outputs, symbols, backend="numpy")
    compare(kernel, way, [rng.uniform(*row.domain[k], 6) for k in free], 1e-11)


@pytest.mark.parametrize("text", ["ndtr(x)", "log_ndtr(x)", "erf(x)", "erfc(x)", "gradient(log_ndtr(x), x)"])
def test_tails_keep_their_digits(text: str, way: Callable[[Any], Evaluate]) -> None:
    kernel = sd.compile(text, backend="interpreter")
    try:
        function = way(kernel)
    except UnsupportedError:
        return
    x = np.random.default_rng(len(text)).uniform(-36.0, 36.0, 200)
    if text == "erfc(x)":
        x = x[x < 26.0]
    got = np.array([np.asarray(function(one)) for one in x])
    np.testing.assert_allclose(got, kernel(x), rtol=2e-11, atol=1e-307)


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=60, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@given(formulas(symbolic=True))
def test_random_formulas(formula: Formula) -> None:
    inputs = [Array(node) for node in formula.inputs]
    kernel = sd.compile([Array(root) for root in formula.roots], inputs, backend="numpy")
    args = sample(formula.inputs, (3,) * len(inputs), 1)
    try:
        function = numpy_arrays(kernel)
    except UnsupportedError:
        return
    with np.errstate(all="ignore"):
        for got, want in zip(results(function(*args)), results(kernel(*args)), strict=True):
            near(got, want, 1e-9)


def test_solutions_and_loops_that_end_early(way: Callable[[Any], Evaluate]) -> None:
    a = sd.vector("a", 3)
    solution = sd.root(lambda x: x**3 - a, "x", start=np.ones(3))
    kernel = sd.compile([solution, sd.gradient(sd.sum(solution), a)], [a])
    compare(kernel, way, [np.array([1.0, 2.0, 9.0])])

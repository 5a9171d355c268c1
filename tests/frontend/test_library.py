"""Every entry of the library means what NumPy means, at any size, and is differentiated to third order."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff import Array
from symdiff.errors import ParseError, SymdiffError
from symdiff.frontend.numpy.library import LIBRARY
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS
from tests.support.calculus import check_calculus, numbers
from tests.support.library_calls import CALLS, Call, identify, is_composed
from tests.support.rule_tables import (
    inputs_of,
    real,
)

SCALAR_ENTRIES = {name for name in LIBRARY if name in FUNCTIONS} - {"where"}


def test_every_entry_of_the_library_is_called() -> None:
    called = {id(LIBRARY[call.name]) for call in CALLS}
    missing = {name for name, entry in LIBRARY.items() if id(entry) not in called} - SCALAR_ENTRIES
    # those of the folder have tests of their own, which see that each is called
    missing = {name for name in missing if not is_composed(LIBRARY[name])}
    assert not {name for name in missing if LIBRARY[name].name not in SCALAR_ENTRIES}


@pytest.mark.parametrize("name", [name for name, entry in LIBRARY.items() if (entry.most or 0) > 1])
def test_arguments_are_told_by_their_names(name: str) -> None:
    entry, shown = LIBRARY[name], inspect.signature(sd.function(name))
    if any(p.kind is p.VAR_POSITIONAL for p in shown.parameters.values()):
        return
    names = list(shown.parameters)[: entry.most]
    assert len(names) == entry.most
    assert len({*names}) == len(names)
    if entry.in_text:
        with pytest.raises(ParseError) as told:
            sd.parse(f"{name}({', '.join('x' * (len(names) + 1))})")
        assert f"expected {name}({', '.join(names)})" in str(told.value)


def test_order_of_arguments_is_scipys() -> None:
    known = {"huber": "delta r", "jv": "v x", "gammainc": "a x", "stdtr": "df x", "binom": "n k", "spherical_jn": "n x"}
    for name, names in known.items():
        assert " ".join(inspect.signature(getattr(sd.special, name)).parameters) == names
    assert "jv(v, x)" in str(sd.special.jv.__doc__)


@pytest.mark.rows(1000)
@pytest.mark.parametrize("call", CALLS, ids=[f"{call.name}-{i}" for i, call in enumerate(CALLS)])
def test_entry_means_what_numpy_means(call: Call) -> None:
    symbols = list(inputs_of(call.values).values())
    out = call.symbolic(*symbols)
    point = {f"x{i}": v for i, v in enumerate(call.values)}
    want = np.asarray(call.numpy(*call.values))
    assert out.shape == want.shape
    got = evaluate([out.node], point, [s.node for s in symbols])[0]
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)
    assert (out.dtype == bool) == (want.dtype == bool)
    kernel = sd.compile(out, symbols, backend="numpy")
    stacked = kernel(*(np.stack([numbers(x, v)] * 2) for x, v in zip(symbols, call.values, strict=True)))
    np.testing.assert_allclose(stacked, np.stack([want, want]), rtol=1e-12, atol=1e-13)


DIFFERENTIABLE = [
    call
    for call in CALLS
    if call.name not in ("greater", "greater_equal", "isnan", "isinf", "isfinite", "any", "all", "stop_gradient")
    and call.name != "matrix_rank"
    and not call.name.endswith("_differential2")
]


@pytest.mark.parametrize("call", DIFFERENTIABLE, ids=identify)
def test_entry_to_third_order(call: Call) -> None:
    symbols = inputs_of(call.values)
    out = call.symbolic(*symbols.values())
    f = out + 0.25 * out * out
    values = dict(zip(symbols, call.values, strict=True))
    order = 2 if call.name in ("expm", "logm", "sqrtm", "funm", "polar", "expm_frechet") else 3
    if call.name.startswith("isotropic_"):
        order = 2
    if call.name.endswith("m_differential"):  # which are derivatives of these
        order = 1
    check_calculus(f, real(symbols), values, blocks=int(f.size) <= 6, tolerance=1e-9, order=order)


@pytest.mark.parametrize("call", [c for c in CALLS if hasattr(np, c.name) or hasattr(np.linalg, c.name)], ids=identify)
def test_numpys_own_function_on_symbols(call: Call) -> None:
    """``np.f(symbol)`` and ``sd.f(symbol)`` are one formula."""
    symbols = [sd.array(f"x{i}", np.shape(v)) for i, v in enumerate(call.values)]
    mine, theirs = call.symbolic(*symbols), call.numpy(*symbols)
    if isinstance(theirs, Array):
        point = {f"x{i}": v for i, v in enumerate(call.values)}
        got = evaluate([mine.node, theirs.node], point, [s.node for s in symbols])
        np.testing.assert_array_equal(*got)


# ---------------------------------------------------------------------------- library sizes
# Functions of the library on arrays whose sizes are letters: at every size what they give where sizes are numbers.


#: Forms of a call, and the axes of their inputs.
FORMS = {
    "{f}(x)": {"x": 1},
    "{f}(x, y)": {"x": 1, "y": 1},
    "{f}(A)": {"A": 2},
    "{f}(A, x)": {"A": 2, "x": 1},
    "{f}(A, axis=1)": {"A": 2},
}
#: Too small for a plan with letters, large enough for one, and of several vectors.
SIZES = (0, 3, 17)
#: Functions whose results lose axes of one element, which letters are not taken for.
BY_NUMBER = {"corrcoef", "squeeze"}
NAMES = [name for name, entry in LIBRARY.items() if entry.in_text]


def compiled(text: str, axes: dict[str, int], size: int | str) -> Any:
    """Return a kernel, or None where such a formula is refused."""
    try:
        return sd.compile(text, [*axes], shapes={k: (size,) * n for k, n in axes.items()}, backend="interpreter")
    except SymdiffError:
        return None


def called(kernel: Any, arguments: list[Any]) -> Any:
    """Return a value, or None where the call is refused."""
    try:
        return kernel(*arguments)
    except sd.InternalError:
        raise
    except SymdiffError:
        return None


@pytest.mark.parametrize("name", NAMES)
def test_letters_give_what_numbers_give(name: str) -> None:
    rng = np.random.default_rng(5)
    for form, axes in FORMS.items():
        value = form.format(f=name)
        for text in (value, f"gradient(sum({value} * {value}), {next(iter(axes))})"):
            letters = compiled(text, axes, "n")
            for n in SIZES if letters else ():
                numbers = compiled(text, axes, n)
                for batch in ((), (3,), (0,)):
                    arguments = [rng.uniform(0.1, 0.9, (*batch, *(n,) * count)) for count in axes.values()]
                    if batch == (3,):  # the last is shared among the samples
                        arguments[1:] = [argument[0] for argument in arguments[1:]]
                    found = called(letters, arguments)
                    wanted = None if numbers is None else called(numbers, arguments)
                    assert n == 0 or (found is None) == (wanted is None)
                    if found is not None and wanted is not None and (n or name not in BY_NUMBER):
                        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9)

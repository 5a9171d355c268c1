"""Every entry of the library means what NumPy means, and is differentiated to third order in both modes."""

from __future__ import annotations

import numpy as np
import pytest
from calculus import check_calculus, numbers
from library_calls import CALLS, Call, identify, is_composed
from rule_tables import (
    inputs_of,
    real,
)

import symdiff as sd
from symdiff import Array
from symdiff.frontend.numpy.library import LIBRARY
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS

SCALAR_ENTRIES = {name for name in LIBRARY if name in FUNCTIONS} - {"where"}


def test_every_entry_of_the_library_is_called() -> None:
    called = {id(LIBRARY[call.name]) for call in CALLS}
    missing = {name for name, entry in LIBRARY.items() if id(entry) not in called} - SCALAR_ENTRIES
    missing = {name for name in missing if not is_composed(LIBRARY[name])}
    assert not {name for name in missing if LIBRARY[name].name not in SCALAR_ENTRIES}


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

"""Functions of the library on arrays whose sizes are letters: at every size what they give where sizes are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import SymdiffError
from symdiff.frontend.numpy.library import LIBRARY

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

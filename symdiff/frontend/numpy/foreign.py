"""What other libraries bring: arrays with a mask, which would be lost, and functions of SciPy that ask for numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

from ...ground.advice import REFUSED
from ...ground.stages import later

__all__ = ["is_masked", "told_of_scipy"]


def is_masked(value: object) -> bool:
    """Tell whether a value is an array with a mask; where nobody has imported ``numpy.ma``, none is.

    Importing it takes 10 ms, a third of what a formula that is known may take to its first value.
    """
    kind = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return kind is not None and isinstance(value, kind)


#: What SciPy's functions are here whose defaults are others than NumPy's.
_OF_SCIPY = {
    "cholesky": "sd.cholesky(A) for the lower factor, sd.cholesky(A, upper=True) for SciPy's upper one",
    "qr": "sd.qr(A), as numpy.linalg.qr,",
    **{name: f"sd.{name}(x, axis=-1), axis=None for all elements," for name in ("softmax", "log_softmax")},
}


def told_of_scipy(public_name: Callable[[str], str | None]) -> str | None:
    """Return what to write in place of the function of SciPy that asks for numbers, None where there is none.

    Parameters
    ----------
    public_name : callable
        How users write an operation of a name, None where there is none.

    Notes
    -----
    SciPy's functions that are written in Python pass their arguments to ``np.asarray`` and do not say who they are.
    """
    distributions = later.stats.named_functions()
    frame: FrameType | None = sys._getframe(1)
    found = None
    for _ in range(40):
        if frame is None:
            break
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("scipy.stats."):
            own = frame.f_locals.get("self")
            kind = getattr(own, "name", None) or type(own).__name__.removesuffix("_gen")
            name = frame.f_code.co_name
            if f"{kind}_{name}" in distributions:
                found = f"scipy.stats.{kind}.{name} computes with numbers; write sd.stats.{kind}.{name}(...) of symbols"
        elif module.startswith("scipy."):
            # a wrapper that goes over batches knows the function as f
            name = getattr(frame.f_locals.get("f"), "__name__", frame.f_code.co_name)
            known = public_name(name)
            if known:
                form = _OF_SCIPY.get(name, f"{known}(...)")
                found = f"a function of SciPy, {name}, computes with numbers; write {form} of symbols"
            elif name in REFUSED:
                found = f"a function of SciPy, {name}, computes with numbers, and symdiff has none: {REFUSED[name]}"
        frame = frame.f_back
    return found

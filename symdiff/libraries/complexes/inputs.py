"""Complex inputs, and the gradient with respect to one."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentError
from ...frontend.array import asarray
from ...frontend.derivatives import gradient
from ...frontend.symbols import array
from ...graph.traversal import inputs_of
from ...ground.guard import guarded
from .array import ComplexArray


@guarded
def complex_array(name: str, *shape: Any) -> ComplexArray:
    """Return a complex input: the pair of the real inputs ``name_re`` and ``name_im``.

    Parameters
    ----------
    name : str
    *shape : int or str
        Sizes, as :func:`array` takes them.

    Examples
    --------
    >>> import symdiff as sd
    >>> z = sd.complex_array("z", "n")
    >>> abs(z)
    hypot(z_re, z_im)
    """
    return ComplexArray(array(f"{name}_re", shape), array(f"{name}_im", shape))


@guarded
def wirtinger(f: Any, z: ComplexArray) -> ComplexArray:
    """Return the gradient of a real scalar with respect to a complex input, ∂f/∂Re z + i ∂f/∂Im z.

    This is 2 ∂f/∂conj(z), the direction in which f grows fastest, and PyTorch's convention; ``jax.grad`` returns the
    conjugate. Its parts are ∂f/∂Re z and ∂f/∂Im z. Source: Kreutz-Delgado 2009, The Complex Gradient Operator.

    Parameters
    ----------
    f : Array
        A real scalar, such as ``abs(z @ a)``.
    z : ComplexArray
        An input, as :func:`complex_array` gives it.

    Raises
    ------
    ArgumentError
        If f is complex, or z is not.

    Examples
    --------
    >>> import symdiff as sd
    >>> z = sd.complex_array("z")
    >>> wirtinger(z.real**2 + z.imag**2, z)
    ComplexArray(2 * z_re, 2 * z_im)
    """
    if isinstance(f, ComplexArray):
        raise ArgumentError("a complex result; expected a real one: f.real, f.imag or abs(f)")
    if not isinstance(z, ComplexArray):
        raise ArgumentError(f"z came as {type(z).__name__}; expected sd.complex_array('z', ...)")
    known = inputs_of([asarray(f).node])
    some = any(part.node in known for part in z.parts)  # f may depend on one of the parts
    return ComplexArray(*gradient(f, list(z.parts), disconnected="zero" if some else "error"))

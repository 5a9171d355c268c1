"""Signature of a kernel for ``help``, notebooks and editors."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter as Argument
from inspect import Signature

from ..graph.sizes import show
from ..ground.names import is_name
from .calls.arguments import Parameter
from .options import Options

__all__ = ["call_signature"]


def call_signature(inputs: Sequence[Parameter], options: Options) -> Signature:
    """Return the arguments of a call, each with the shape of one sample for its annotation.

    Examples
    --------
    >>> import inspect
    >>> import symdiff as sd
    >>> str(inspect.signature(sd.compile("A @ x", A=(2, 3), x=3)))
    "(A: '(2, 3)', x: '(3,)', *, out=None, inputs=None)"
    """
    if options.groups is not None:
        names = [(group.name, "") for group in options.groups.groups]
    else:
        names = [(p.name, show(p.shape)) for p in inputs]
    is_plain = all(name and is_name(name) and name not in ("out", "inputs") for name, _ in names)
    kind = Argument.POSITIONAL_OR_KEYWORD if is_plain else Argument.POSITIONAL_ONLY
    if not is_plain:  # Python or a call uses these names itself
        names = [(f"argument_{k}", told) for k, (_, told) in enumerate(names)]
    own = [Argument(str(name), kind, annotation=told or Argument.empty) for name, told in names]
    more = [Argument(name, Argument.KEYWORD_ONLY, default=None) for name in ("out", "inputs")]
    return Signature([*own, *more])

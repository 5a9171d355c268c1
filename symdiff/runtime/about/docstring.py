"""What ``help`` says about a kernel: its own signature, formula and arguments, in the place of its class's."""

from __future__ import annotations

from typing import Any, TypeVar

from ...graph.sizes import show

__all__ = ["described"]

#: Lines, and characters of a line, of a formula that are shown.
_LINES, _WIDE = 20, 400
_Class = TypeVar("_Class", bound=type)


class _OwnText:
    """The ``__doc__`` of a class and of its instances: the class keeps its text, an instance writes one when asked."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, instance: Any, owner: type) -> str | None:
        return self.text if instance is None else _docstring(instance)


def described(kernel: _Class) -> _Class:
    """Give the instances of a class of kernels docstrings of their own.

    Parameters
    ----------
    kernel : type
        Has a docstring, which stays the class's.

    Examples
    --------
    >>> import symdiff as sd
    >>> told = sd.compile("A @ x", A=(2, 3), x=3).__doc__.splitlines()
    >>> print(told[0], told[2], told[6], sep=" | ")
    (A: (2, 3), x: (3,)) -> (2,) | The formula A @ x, compiled. | A : array of shape (2, 3), or (..., 2, 3) for a batch
    """
    kernel.__doc__ = _OwnText(kernel.__doc__)  # type: ignore[assignment]  # Python asks a descriptor
    return kernel


def _docstring(kernel: Any) -> str:
    arguments = [f"{p.name} : {_argument(kernel, p)}" for p in kernel.inputs]
    if kernel.options.groups is not None:
        arguments.insert(0, "Leaves of the structures in the signature:")
    lines = [
        kernel.signature,
        "",
        *_formula(kernel),
        "",
        "Parameters",
        "----------",
        *arguments,
        "out : array of the result's shape to write to, optional",
        "inputs : dict of the arguments by name, in the place of all others, optional",
        "",
        "What every kernel can do is in help(symdiff.Kernel).",
    ]
    return "\n".join(lines)


def _formula(kernel: Any) -> list[str]:
    texts = [line for text in kernel._origin.texts() for line in text.split("\n")]
    if len(texts) == 1 and len(texts[0]) <= _WIDE:
        return [f"The formula {texts[0]}, compiled."]
    kept = [f"    {line if len(line) <= _WIDE else line[:_WIDE] + ' ...'}" for line in texts[:_LINES]]
    return ["The formulas, compiled:", "", *kept, *(["    ..."] if len(texts) > _LINES else [])]


def _argument(kernel: Any, parameter: Any) -> str:
    if not parameter.shape:
        sample, own = "number", ""
    else:
        sample, own = f"array of shape {show(parameter.shape)}", show(parameter.shape)[1:-1].rstrip(",")
    options = kernel.options
    if options.batch is not None and parameter.name not in options.batch:
        return sample
    rows = f"({own}, ...)" if options.batch_axis else f"(..., {own})"
    return f"{sample}, or {rows if own else 'an array of any shape'} for a batch"

"""Kernels as functions of PyTorch that automatic differentiation goes through, both ways and any number of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..errors import ArgumentError, DtypeError
from ..frontend.outputs import leaves, pack
from ..runtime.kernel import Kernel
from .signature import check_one_sample, pulled, pushed, template_of_results

__all__ = ["wrap"]


def wrap(kernel: Kernel) -> Callable[..., Any]:
    """Return a kernel as a function of tensors.

    Parameters
    ----------
    kernel : Kernel
        Without ``reduce`` and with batch axes in front.

    Returns
    -------
    callable
        Takes tensors on the CPU, of whole numbers for positions, for one sample or a batch of any axes, and returns
        tensors in the kernel's structure.
        The gradient is the kernel's vjp, summed over axes along which an input was shared; forward mode is its jvp.

    Raises
    ------
    UnsupportedError
        For a kernel that sums over its batch, has batch axes behind, or takes structures.
    """
    check_one_sample(kernel, "PyTorch", "tensor.sum takes the place of the first")
    function = _Kernel(kernel)
    template = template_of_results(kernel)

    def run(*tensors: Any) -> Any:
        return pack(template, iter(function(tensors)))

    run.__name__ = run.__qualname__ = "kernel"
    run.__doc__ = f"{kernel.signature}, of tensors."
    return run


class _Kernel:
    """A kernel of tensors, and the one of its vjp once that is asked for."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.ranks = [len(p.shape) for p in kernel.inputs]
        self.vjp: dict[int, _Kernel] = {}
        self.jvp: dict[tuple[int, ...], _Kernel] = {}

    def __call__(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        if len(tensors) != len(self.kernel.inputs):
            wanted = len(self.kernel.inputs)
            raise ArgumentError(f"{len(tensors)} arguments; expected {wanted}: {self.kernel.signature}")
        given = [one if isinstance(one, torch.Tensor) else torch.as_tensor(one) for one in tensors]
        for p, tensor in zip(self.kernel.inputs, given, strict=True):
            if tensor.device.type != "cpu":
                raise DtypeError(f"{p.name} is on the device {tensor.device}; expected a tensor on the CPU (x.cpu())")
            if tensor.is_complex():
                raise DtypeError(f"{p.name} is a tensor of {tensor.dtype}; expected real numbers")
        results: tuple[Any, ...] = _Step.apply(self, *given)
        return results

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        """Return the results of the kernel, without derivatives."""
        arrays = [tensor.detach().numpy() for tensor in tensors]
        return [torch.from_numpy(np.array(result)) for result in leaves(self.kernel(*arrays))]

    def slope(self, number: int) -> _Kernel:
        """Return the kernel of the vjp by one input, with a cotangent for each output behind the inputs."""
        if number not in self.vjp:
            self.vjp[number] = _Kernel(pulled(self.kernel, number))
        return self.vjp[number]

    def push(self, numbers: tuple[int, ...]) -> _Kernel:
        """Return the kernel of the jvp by some inputs, with a tangent for each of these behind the inputs."""
        if numbers not in self.jvp:
            self.jvp[numbers] = _Kernel(pushed(self.kernel, numbers))
        return self.jvp[numbers]


class _Step(torch.autograd.Function):
    """One call of a kernel in PyTorch's graph of calls, which the transforms of ``torch.func`` take apart."""

    @staticmethod
    def forward(own: _Kernel, *tensors: Any) -> tuple[Any, ...]:
        return tuple(own.run(tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        ctx.own, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        own, tensors = ctx.own, ctx.saved_tensors
        results: list[Any] = [None]
        for number, tensor in enumerate(tensors):
            if not ctx.needs_input_grad[number + 1]:
                results.append(None)
                continue
            (slope,) = own.slope(number)((*tensors, *cotangents))
            # along axes of the batch that the input does not have, or shares, its derivatives are added
            extra = slope.ndim - tensor.ndim
            slope = slope.sum(tuple(range(extra))) if extra else slope
            shared = [k for k, (n, m) in enumerate(zip(slope.shape, tensor.shape, strict=True)) if m == 1 and n > 1]
            results.append(slope.sum(shared, keepdim=True) if shared else slope)
        return tuple(results)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> tuple[Any, ...]:
        """Return the derivatives in the direction of the tangents that inputs have."""
        numbers = tuple(number for number, one in enumerate(tangents) if one is not None)
        own: _Kernel = ctx.own
        return own.push(numbers)((*ctx.saved_tensors, *(tangents[number] for number in numbers)))

    @staticmethod
    def vmap(_: Any, in_dims: tuple[Any, ...], own: _Kernel, *tensors: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """Call the kernel once: the mapped axis is one more of its batch, in front of all others."""
        mapped = in_dims[1:]
        leads = [t.ndim - rank - (dim is not None) for t, rank, dim in zip(tensors, own.ranks, mapped, strict=True)]
        moved = []
        for tensor, dim, lead in zip(tensors, mapped, leads, strict=True):
            if dim is None:
                moved.append(tensor)
                continue
            front = tensor.movedim(dim, 0)
            moved.append(front.reshape(front.shape[:1] + (1,) * (max(leads) - lead) + front.shape[1:]))
        results = own(moved)
        return results, (0,) * len(results)

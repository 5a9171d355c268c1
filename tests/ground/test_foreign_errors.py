"""Errors of NumPy, Python and of users' objects leave as symdiff's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd

x, s = sd.vector("x", 2), sd.scalar("s")
KERNELS = {name: sd.compile(s**2, s, backend=name) for name in ("numpy", "interpreter")}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
@pytest.mark.parametrize("axes", [33, 40, 64])
def test_a_batch_of_many_axes(kernel: sd.Kernel, axes: int) -> None:
    with pytest.raises(sd.LimitError, match=f"s has {axes} batch axes; expected 32 at most"):
        kernel(np.ones((1,) * axes))
    assert np.shape(kernel(np.ones((1,) * 32))) == (1,) * 32


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
@pytest.mark.parametrize("shape", [(2**40,), (2**20, 2**20), (2**45, 1)])
def test_a_batch_that_no_memory_holds(kernel: sd.Kernel, shape: tuple[int, ...]) -> None:
    with pytest.raises(sd.LimitError, match="takes more memory than there is"):
        kernel(np.broadcast_to(np.float64(2.0), shape))


def broken(error: type[Exception], *methods: str) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise error("of the user's")

    body: dict[str, Any] = {"__hash__": object.__hash__}
    for name in methods:
        own = eval(f"lambda *a, **k: fail(*a, **k)", {"fail": fail, "__name__": "a_users_module"})  # noqa: F541, S307
        own.__code__ = own.__code__.replace(co_name=name)
        body[name] = own
    return type("Strange", (), body)()


CALLS: list[Callable[[Any], Any]] = [
    lambda b: sd.gradient(s**2, b),
    lambda b: sd.gradient(b, s),
    sd.compile,
    lambda b: sd.compile(s, s, backend=b),
    lambda b: sd.compile(s, s, threads=b),
    lambda b: sd.compile(s, s, batch=b),
    lambda b: sd.compile(s, s, reduce=b),
    sd.parse,
    lambda b: sd.parse("x", dialect=b),
    lambda b: sd.gradient("x", "x", budget=b),
    lambda b: sd.gradient("x", "x", shapes=b),
    lambda b: sd.gradient("x", "x", x=b),
    sd.scalar,
    lambda b: sd.vector("x", b),
    lambda b: sd.array("x", (b,)),
    sd.asarray,
    lambda b: s + b,
    lambda b: x[b],
    lambda b: sd.check(s**2, at=b),
    lambda b: sd.check(s**2, at={s: b}),
    lambda b: sd.derivative(s, s, b),
    lambda b: sd.vjp(s, s, b),
    lambda b: sd.name(b, s),
    lambda b: sd.export(b, "x", "y"),
    lambda b: sd.steps(s**2, b),
    KERNELS["numpy"],
    KERNELS["interpreter"],
    lambda b: KERNELS["numpy"](inputs={"s": b}),
    lambda b: KERNELS["interpreter"](1.0, out=b),
    KERNELS["interpreter"].source,
]


#: Special methods that raise together.
METHODS = [
    ("__repr__", "__str__"),
    ("__eq__", "__ne__"),
    ("__hash__",),
    ("__bool__", "__len__"),
    ("__getattr__",),
    ("__repr__", "__str__", "__eq__", "__hash__", "__bool__", "__len__", "__getattr__"),
]


@pytest.mark.parametrize("methods", METHODS)
@pytest.mark.parametrize("error", [RuntimeError, ValueError, KeyError, ZeroDivisionError])
def test_objects_whose_methods_raise_are_no_defect_of_symdiff(error: type[Exception], methods: tuple[str, ...]) -> None:
    for call in CALLS:
        try:
            call(broken(error, *methods))
        except sd.InternalError as found:
            pytest.fail(f"{found}")
        except sd.SymdiffError:
            pass
        else:
            continue


def test_a_defect_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from symdiff.ground.guard import guarded

    @guarded
    def third(items: list[int]) -> int:
        return {}[items]  # type: ignore[index]

    with pytest.raises(sd.SymdiffError):
        third([1])

    @guarded
    def first(items: list[int]) -> int:
        return items[0]

    with pytest.raises(sd.InternalError):
        first([])


def test_functions_of_other_libraries_refuse_symbols_in_symdiffs_words() -> None:
    with pytest.raises(sd.SymbolError, match="JAX on a symbol"):
        x.__jax_array__()
    with pytest.raises(sd.SymbolError, match=r"torch\.sin on a symbol"):
        type(x).__torch_function__(np.sin, (), (x,))


def test_jax_and_torch_themselves() -> None:
    for name in ("jax.numpy", "torch"):
        library = pytest.importorskip(name)
        with pytest.raises(sd.SymbolError):
            library.sin(s)


class _Longer(list[Any]):
    """A list that says that it is longer than it is."""

    def __len__(self) -> int:
        return 3


@pytest.mark.parametrize("depth", [1, 2, 3, 70])
def test_an_index_that_holds_itself_or_is_too_deep(depth: int) -> None:
    own: list[Any] = []
    own.append(own)
    key: Any = own if depth < 70 else 0
    for _ in range(depth):
        key = [key]
    with pytest.raises(sd.ShapeError, match="nested deeper than 64 lists"):
        x[key]


@pytest.mark.parametrize("name", [None, 3.5, float("nan"), ..., b"name", 1, ["name"], np.str_("a b"), _Longer()])
def test_names_of_exports_that_are_none(name: Any, tmp_path: Any) -> None:
    with pytest.raises(sd.ArgumentError, match="is no name for a module"):
        sd.export(KERNELS["interpreter"], tmp_path, name)


def test_shapes_are_read_as_they_are() -> None:
    assert sd.compile("x * 2", x=_Longer()).signature == "(x: ()) -> ()"
    assert sd.compile("y[i]", y=3, i=_Longer([int])).signature == "(y: (3,), i: int ()) -> ()"

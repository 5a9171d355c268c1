"""Records that are damaged, altered or meaningless are replaced, and reading one runs nothing."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import DataError
from symdiff.runtime.kept import encoding, plain
from symdiff.runtime.toolchain import cache
from tests.runtime.test_cache import folder, script  # noqa: F401
from tests.runtime.test_kept import data, flat, plans, programs, records


def flipped(contents: bytes, rng: random.Random) -> bytes:
    changed = bytearray(contents)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(contents: bytes, rng: random.Random) -> bytes:
    return contents[: rng.randrange(len(contents))]


def noise(contents: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(1, 2 * len(contents)))


@pytest.mark.parametrize("damage", [flipped, cut, noise])
def test_damaged_records_are_replaced(folder: Path, damage: Callable[..., bytes]) -> None:  # noqa: F811
    rng = random.Random(0)

    def made() -> tuple[bool, bytes]:
        kernel = sd.compile("gradient(sum(tanh(X @ W)**2), W)", X=(50, 40), W=(40, 35), backend="interpreter")
        return kernel.stats["cached"], flat(kernel(*data(kernel)))

    _, want = made()
    for _ in range(20):
        for record in records(folder):
            record.write_bytes(damage(record.read_bytes(), rng))
        assert made() == (False, want)
        assert made() == (True, want)


def test_records_that_are_sound_and_mean_nothing(folder: Path) -> None:  # noqa: F811
    """Contents with a right hash that no symdiff wrote: those of other records, and such with altered parts."""
    rng = random.Random(0)
    kernel = sd.compile("sum(exp(x)*y)", x=3, y=3, backend="interpreter")
    want = flat(kernel(*data(kernel)))
    (record,) = records(folder)
    sound = cache.lookup(folder, record.stem)
    assert sound is not None
    meaningless: list[Any] = [None, 3, [], {}, {"plan": None}, {"backend": 7, "codes": 3}]
    nothing = [encoding.write(value) for value in meaningless]
    for contents in (*nothing, b"", *(damage(sound[:60], rng) for damage in (cut, noise) for _ in range(20))):
        assert records(folder) == [record]  # written by now
        cache.publish(folder, record.stem, contents)
        again = sd.compile("sum(exp(x)*y)", x=3, y=3, backend="interpreter")
        assert not again.stats["cached"]
        assert flat(again(*data(again))) == want


def test_reading_what_was_altered_raises_one_error(folder: Path) -> None:  # noqa: F811
    rng = random.Random(1)
    for contents in map(encoding.write, [plans()[0], programs()[0], {"a": (1.5, "x", b"y", None, True, [2**70])}]):
        for _ in range(300):
            changed = rng.choice((flipped, cut, noise))(contents, rng)
            with contextlib.suppress(DataError):
                encoding.read(changed)


def test_nothing_but_values_is_written() -> None:
    for thing in (print, lambda: 1, object(), {1, 2}, np.zeros(3), 1j, Path("x"), sd):
        with pytest.raises(plain.UnkeepableError):
            encoding.write({"a": (thing,)})


def test_values_come_back() -> None:
    value: dict[str, Any] = {
        "": (None, True, False, 0, -1, 2**63, -(2**200), "ü\ud800"[:1], b"\x00", [], (), {}),
        "floats": (0.0, -0.0, 1e-320, float("inf")),
        "long": (tuple(range(50)), tuple([k / 7 for k in range(50)]), (*range(20), True), (*range(20), 2**80)),
        "deep": [({"x": [(1, [2])]},)],
    }
    again = encoding.read(encoding.write(value))
    assert repr(again) == repr(value)

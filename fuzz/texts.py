"""Formula texts: from the grammar, and damaged ones. They are read or refused, and what is read can be written."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import symdiff as sd
from symdiff.frontend.text.parse import parse_graph
from symdiff.frontend.text.vocabulary import TEXT_FUNCTIONS
from symdiff.graph.kinds import REPEATED

from .case import shorter

Shapes = dict[str, Any]
TextCase = tuple[str, Shapes]

#: Shapes that the inputs x, y, v, w and A may have together.
SHAPES: tuple[Shapes, ...] = (
    {},
    {"x": (), "y": (), "v": 2, "w": 3, "A": (2, 2)},
    {"x": (), "y": 1, "v": 0, "w": 2, "A": (0, 0)},
    {"x": (), "y": (1, 1), "v": "n", "w": "n", "A": ("n", "n")},
    {"x": 2, "y": 2, "v": (2, 2, 2), "w": (2, 1), "A": (2, 3)},
)
_NUMBERS = ("0", "1", "2", "-1", "0.5", "1e308", "1e-308", "inf", "nan", "pi", "e", "3", "10**20", "2**0.5", "0.0")
_OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "<", ">", "<=", "==", "!=", "&", "|")
_INDICES = ("0", "-1", ":", "None", "...", "0:2", "::-1", "1:", "[0,1]", "0,0", ":,0", "-5", "::0")
_LISTS = ("concatenate", "stack", "hstack", "vstack", "column_stack", "multi_dot")
_DERIVATIVES = ("gradient", "jacobian", "hessian", "derivative")
_SIZED = ("eye", "zeros", "ones")
_OPTIONS = ("0", "1", "-1", "True", "(0,1)", "None", "2", "0.5", "x")
_JUNK = (
    *"()[]{},.:;=+-*/@%&|~<>!'\"\\\n\t #_0aé\x00\u200b\ud800𝑥²",
    "__",
    "**",
    "lambda ",
    "x.T",
    "1e999",
    "if ",
    "\n\n",
)


def draw(rng: random.Random) -> TextCase:
    """Draw a text and shapes of its inputs."""
    text = _formula(rng, rng.randint(1, 3))
    if rng.random() < 0.15:
        text = f"a = {_formula(rng, 2)}\n{text} + a"
    if rng.random() < 0.4:
        text = _damaged(rng, text)
    if rng.random() < 0.02:
        text = rng.choice(("(", "[", "-", "x+", "sin(", "x**", "~")) * rng.choice((100, 1000, 30_000)) + text
    return text, rng.choice(SHAPES)


def _formula(rng: random.Random, depth: int) -> str:
    way = rng.random()
    if depth <= 0 or way < 0.15:
        return rng.choice(("x", "y", "v", "A", "x", "v", "w", rng.choice(_NUMBERS)))
    if way < 0.45:
        return f"{_formula(rng, depth - 1)} {rng.choice(_OPERATORS)} {_formula(rng, depth - 1)}"
    if way < 0.5:
        return f"({_formula(rng, depth - 1)})"
    if way < 0.55:
        return rng.choice("-+~") + _formula(rng, depth - 1)
    if way < 0.62:
        return f"({_formula(rng, depth - 1)})[{rng.choice(_INDICES)}]"
    if way < 0.66:
        return f"[{_listed(rng, depth)}]"
    if way < 0.69:
        return f"({_formula(rng, depth - 1)}).T"
    return _call(rng, depth)


def _listed(rng: random.Random, depth: int) -> str:
    return ", ".join(_formula(rng, depth - 1) for _ in range(rng.randint(1, 3)))


def _call(rng: random.Random, depth: int) -> str:
    name = rng.choice([*TEXT_FUNCTIONS])
    function = TEXT_FUNCTIONS[name]
    if name in _LISTS:
        return f"{name}([{_listed(rng, depth)}])"
    if name in _DERIVATIVES:
        return f"{name}({_formula(rng, depth - 1)}, {rng.choice('xyvA')})"
    if name in _SIZED:
        return f"{name}({rng.choice(('2', '3', '(2,3)', '(0,)', '(2,2,2)', 'n', '-1', '10**9', '2.5'))})"
    count = rng.randint(function.min_args, function.max_args or function.min_args + 2)
    parts = [_formula(rng, depth - 1)] if count else []
    parts += [_formula(rng, depth - 2) if rng.random() < 0.6 else rng.choice(_NUMBERS) for _ in range(count - 1)]
    if function.keywords and rng.random() < 0.3:
        parts.append(f"{rng.choice(function.keywords)}={rng.choice(_OPTIONS)}")
    return f"{name}({', '.join(parts)})"


def _damaged(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(text))
        end = min(len(text), at + rng.randint(1, 6))
        text = rng.choice(
            (
                text[:at] + rng.choice(_JUNK) + text[at:],
                text[:at] + text[end:],
                text[:end] + text[at:],
                text[:at] + text[at:end] * rng.choice((2, 50)) + text[end:],
            )
        )
    return text


def run(case: TextCase) -> str:
    """Read a text; what symdiff refuses is in its own words, and what it accepts can be printed, and read again."""
    text, shapes = case
    try:
        sd.parse(text, shapes)
    except sd.InternalError as error:
        return f"sd.parse: {error}".splitlines()[0]
    except sd.SymdiffError:
        pass
    try:
        result = parse_graph(text, shapes, undeclared="error" if shapes else "scalar").result
    except sd.InternalError as error:
        return f"{error}".splitlines()[0]
    except sd.SymdiffError:
        return ""
    for one in result if isinstance(result, tuple) else (result,):
        if isinstance(one, sd.Array):
            one.latex()
            wrong = _printed(one, shapes)
            if wrong:
                return wrong
    return ""


def _printed(one: sd.Array, shapes: Shapes) -> str:
    """Tell whether the text that is printed is read as an array of the same shape."""
    shown = one.text()
    if one.node.below & REPEATED:  # a loop is shown, and has no text
        return ""
    try:
        again = parse_graph(shown, shapes, undeclared="error" if shapes else "scalar").result
    except sd.LimitError:
        return ""
    except sd.SymdiffError as error:
        return f"what is printed is not read: {str(error).splitlines()[0]:.100}; printed {shown!r:.200}"
    same = isinstance(again, sd.Array) and again.shape == one.shape
    return "" if same else f"what is printed has another shape: printed {shown!r:.200}"


def smaller(case: TextCase) -> Iterator[TextCase]:
    """Give shorter texts of the same inputs."""
    text, shapes = case
    for other in shorter(text):
        yield other, shapes

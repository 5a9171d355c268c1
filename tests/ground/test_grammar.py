"""The tree that the grammar reads is the tree that Python reads; what is refused, is refused with a place."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from symdiff.errors import LimitError, ParseError, SymdiffError
from symdiff.ground.grammar import SyntaxNode, fewest_nodes, parse_tree
from symdiff.ground.limits import Limits
from symdiff.ground.names import is_name

OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
}


def ours(text: str) -> str:
    """Print our tree with a bracket around everything."""
    done: list[str] = []
    for term in parse_tree(text).terms:
        done.append(_shown(term, [done[child] for child in term.children]))
    return done[-1]


def _shown(term: SyntaxNode, parts: list[str]) -> str:
    if term.kind in ("number", "value"):
        return repr(term.value)
    if term.kind == "name":
        return str(term.value)
    if term.kind == "slice":
        rest = iter(parts)
        return "slice(" + ",".join(next(rest) if there else "" for there in term.value) + ")"
    if term.kind == "call":
        name, keywords = term.value
        positional = len(parts) - len(keywords)
        named = [f"{key}={part}" for key, part in zip(keywords, parts[positional:], strict=True)]
        return f"{name}({','.join(parts[:positional] + named)})"
    return f"{term.kind}[{' '.join([str(term.value or ''), *parts])}]"


def pythons(node: ast.AST) -> str:
    """Print Python's tree in the same form."""
    match node:
        case ast.Expression(body=body):
            return pythons(body)
        case ast.Constant(value=value):
            return repr(value)
        case ast.Name(id=name):
            return name
        case ast.BinOp(left=left, op=op, right=right):
            return f"binary[{OPERATORS[type(op)]} {pythons(left)} {pythons(right)}]"
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return f"binary[{OPERATORS[type(op)]} {pythons(left)} {pythons(right)}]"
        case ast.UnaryOp(op=op, operand=operand):
            return f"unary[{OPERATORS[type(op)]} {pythons(operand)}]"
        case ast.Attribute(value=value):
            return f"transpose[ {pythons(value)}]"
        case ast.List(elts=items):
            return f"list[ {' '.join(map(pythons, items))}]"
        case ast.Tuple(elts=items):
            return f"tuple[{' '.join(['', *map(pythons, items)])}]"
        case ast.Slice():
            parts = (node.lower, node.upper, node.step)
            return "slice(" + ",".join("" if part is None else pythons(part) for part in parts) + ")"
        case ast.Subscript(value=value, slice=index):
            items = index.elts if isinstance(index, ast.Tuple) else [index]
            return f"index[ {' '.join(map(pythons, [value, *items]))}]"
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            named = [f"{k.arg}={pythons(k.value)}" for k in keywords]
            return f"{name}({','.join([*map(pythons, args), *named])})"
    raise AssertionError(f"unexpected {ast.dump(node)}")


SAME_AS_PYTHON = """
-x**2 ; 2**-x*3 ; 2**-x**2 ; x**y**z ; x**-y ; -x**-y ; (-x)**2 ; ~a&b ; ~a<b ; a<b&c ; a<b|c ; a&b|c&d ; a==b&c
(a<b)&(b<c) ; (a<b)+1 ; a|b&c+d ; a|b|c ; a&b&c ; a+b<c*d ; x<=y ; x>=y ; x!=y ; x>y ; x==y ; a<-b ; ~(a<b)|~(c>d)
x-y-z ; x-(y-z) ; x/y/z ; x/y*z ; x*y/z ; x//y%z ; x%y//z ; x@y*z ; x*y@z ; x@y.T ; x.T@y ; -x.T ; x.T**2 ; -x@y
+x ; --x ; -+~x ; x+-y ; x--y ; x*-y ; -x*y ; x/-y/z ; 2**-x@y ; 2*x**2*y ; 2**3**2 ; (2**3)**2 ; -2**-2**-2 ; -x+y
x[0] ; x[-1] ; x[0,1] ; x[1:] ; x[:1] ; x[:] ; x[::2] ; x[1:2:3] ; x[::] ; x[:2:] ; x[::-1] ; x[:,None] ; x[...,0]
x[None] ; x[1:,...,::2,0] ; x[[0,2]] ; x[[0,2],:] ; x[0][1] ; x.T[0] ; x[0].T ; f(x)[0] ; f(x).T ; x[f(y)] ; x[1+2]
x[1 : 2] ; x[0:1,1:2][0] ; x[-2:] ; x[1+1:3*2] ; x[:-1]*x[1:] ; x[0,] ; x[1:,] ; [x,y] ; [[1,2],[3,4]] ; [x,] ; [x][0]
f() ; f(x) ; f(x,) ; f(x,y) ; f((x,y)) ; f((x,)) ; f(()) ; f((1,(2,3))) ; f(g(h(x))) ; f(x,axis=0) ; f(x,axis=-1,)
f(x,axis=None,keepdims=True) ; f((x)) ; f((x)+y) ; f( x , axis = 0 ) ; f(a=1,b=(2,3)) ; f([x,y],axis=[0]) ; f(-x)*-y
1 ; 1. ; .5 ; 1.5 ; 1e3 ; 1E-3 ; 1_000 ; 1_0.0_1e1_0 ; 0 ; 00 ; 0.0 ; 0e0 ; 1e-300 ; 123456789012345678901234567890
007.5 ; 1.5.T ; (1).T ; ( x ) ; ((x)) ; (x+y)*z ; x*(y+z) ; ((x)+(y)) ; [(x),((y))] ; [[x]] ; x . T ; α*β ; x_1+_x
X2@Y3 ; 1e5*e5 ; e-5 ; 1-e-5 ; (x,y) ; (x,) ; ((x,y),z) ; T.T
x,y ; x, ; x,y, ; (x,y),z ; x,(y,z), ; -x,f(y,z),[z] ; x<y,a|b&c ; x[0],y.T,2**-x ; (x),(y) ; f(x,y),
"""
FORMULAS = [text for line in SAME_AS_PYTHON.strip().splitlines() for text in line.split(" ; ")]
FORMULAS += ["x\t+\ty", "(a\n+b)", "f(a,\n\n  b)", "[1,\r\n2]", "x + y\n", "  x\n\n"]


@pytest.mark.rows(40)
@pytest.mark.parametrize("text", FORMULAS)
def test_reads_as_python(text: str) -> None:
    assert ours(text) == pythons(ast.parse(text.strip(), mode="eval"))


# Hand-written: what the text must compute, so that a mistake common to both trees would show.
COMPUTES: dict[str, Callable[[float, float, float], Any]] = {
    "-a**2": lambda a, b, c: -(a * a),
    "2**-a*b": lambda a, b, c: (2 ** (-a)) * b,
    "a - b - c": lambda a, b, c: (a - b) - c,
    "a / b / c": lambda a, b, c: (a / b) / c,
    "a ** b ** c": lambda a, b, c: a ** (b**c),
    "a + b * c ** 2": lambda a, b, c: a + (b * (c * c)),
    "a % b * c": lambda a, b, c: (a % b) * c,
    "a // b + c": lambda a, b, c: (a // b) + c,
    "a < b + c": lambda a, b, c: a < (b + c),
    "-(a - b) * -c": lambda a, b, c: (-(a - b)) * (-c),
    "(a < b) & (b < c) | (a == c)": lambda a, b, c: (a < b < c) or (a == c),
    "z = a + b\n\nw = z*z\nw - c": lambda a, b, c: (a + b) ** 2 - c,
    "(a\n + b) * c": lambda a, b, c: (a + b) * c,
}
COMPUTE: dict[str, dict[str, Callable[..., Any]]] = {
    "unary": {"-": operator.neg, "+": operator.pos, "~": operator.invert},
    "binary": {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "//": operator.floordiv,
        "%": operator.mod,
        "**": operator.pow,
        "<": operator.lt,
        "==": operator.eq,
        "&": operator.and_,
        "|": operator.or_,
    },
}


@pytest.mark.parametrize("text", COMPUTES)
@pytest.mark.parametrize("point", [(1.5, 2.5, 0.5), (3.0, 2.0, 3.0), (0.25, 0.75, 2.0)])
def test_computes(text: str, point: tuple[float, float, float]) -> None:
    scope: dict[str, Any] = dict(zip("abc", point, strict=True))
    values: list[Any] = []
    for term in parse_tree(text).terms:
        operands = [values[child] for child in term.children]
        if term.kind == "number":
            values.append(term.value)
        elif term.kind == "name":
            values.append(scope[term.value])
        elif term.kind == "define":
            scope[term.value] = operands[0]
            values.append(operands[0])
        else:
            values.append(COMPUTE[term.kind][term.value](*operands))
    assert values[-1] == COMPUTES[text](*point)


def test_terms_know_their_place() -> None:
    tree = parse_tree("z = (a + b) * f(x[1:], axis=0).T\n-(z)")
    shown = {(t.kind, tree.text[t.start : t.end], tree.text[t.caret]) for t in tree.terms}
    assert shown >= {
        ("binary", "a + b", "+"),
        ("binary", "(a + b) * f(x[1:], axis=0).T", "*"),
        ("call", "f(x[1:], axis=0)", "f"),
        ("transpose", "f(x[1:], axis=0).T", "T"),
        ("index", "x[1:]", "["),
        ("slice", "1:", "1"),
        ("unary", "-(z)", "-"),
    }


ATOMS = st.sampled_from(["x", "y", "2", "0.5", "1e3", "f(x)", "x[0]", "x[1:, None]", "[x, 1]", "f(x, axis=-1)"])


def _extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    symbols = ["+", "-", "*", "/", "//", "%", "@", "**", "&", "|"]
    binary = st.builds("{} {} {}".format, inner, st.sampled_from(symbols), inner)
    return st.one_of(
        binary,
        st.builds("({})".format, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["<", "<=", "==", "!="]), inner),
        st.builds("{}{}".format, st.sampled_from("-+~"), inner),
        st.builds("f({}, {})".format, inner, inner),
        st.builds("({}).T".format, inner),
        st.builds("({})[{}]".format, inner, inner),
        st.builds("[{}, {}]".format, inner, inner),
    )


@given(st.recursive(ATOMS, _extend, max_leaves=25))
def test_reads_random_formulas_as_python(text: str) -> None:
    try:
        expected = pythons(ast.parse(text, mode="eval"))
    except AssertionError:  # a chained comparison has no form of ours
        with pytest.raises(ParseError, match="not chained"):
            parse_tree(text)
    else:
        assert ours(text) == expected


PIECES = [
    "x",
    "y",
    "12",
    ".5",
    "1e9",
    "f",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "...",
    "=",
    "==",
    "<",
    "**",
    "*",
    "-",
    "~",
    "&",
]
SOUP = st.lists(st.sampled_from([*PIECES, ".", "T", "\n", " ", "None", "and", "#", "'", "\u200b", "½", "\ud800", "@"]))


@given(SOUP.map("".join) | st.text(max_size=40))
def test_soup_is_read_or_refused_with_a_place(text: str) -> None:
    refused: SymdiffError | None = None
    terms: list[SyntaxNode] = []
    try:
        terms = parse_tree(text).terms
    except (ParseError, LimitError) as error:
        refused = error
    if refused is None:
        assert all(child < place for place, term in enumerate(terms) for child in term.children)
    else:
        assert "^" in str(refused)
    if isinstance(refused, ParseError):
        assert refused.position is not None
        assert 0 <= refused.position <= len(text)


REFUSED = {
    "": "empty",
    "   ": "empty",
    "\n\n": "empty",
    "x y": "expected an operator, found 'y'",
    "2x": "2\\*x",
    "2 x": "expected an operator",
    "2(x)": "multiplication",
    "(x)(y)": "multiplication",
    "f(x)(y)": "multiplication",
    "x.T(y)": "multiplication",
    "(x": "never closed",
    "softmax(X @ y": "'\\(' is never closed",
    "[x, (y]": "expected an operator, ',' or '\\)'",
    "x)": "closes nothing",
    "a = x, y\na": "one formula",
    "x, , y": "found ','",
    "x, y)": "closes nothing",
    "x, (y]": "expected an operator, ',' or '\\)'",
    "x, y +": "end of the line",
    "x, y.": "expected T",
    "x,\ny": "the result comes last",
    "x, y = z": "beginning of a line",
    ", x": "found ','",
    "x +": "end of the line",
    "x +\ny": "end of the line",
    "* x": "found '\\*'",
    "x + * y": "found '\\*'",
    "f(*x)": "found '\\*'",
    "f(,x)": "found ','",
    "f(x,,y)": "found ','",
    "x[]": "found ']'",
    "[]": "found ']'",
    "x[1:2:3:4]": "third ':'",
    "x: 1": "found ':'",
    "(x: 1)": "found ':'",
    "...": "found '...'",
    "x...": "found '...'",
    "x = 3": "only defines 'x'",
    "x = 1\ny = 2\n": "only defines 'y'",
    "x\ny": "the result comes last",
    "x = y = z": "beginning of a line",
    "x + y = z": "beginning of a line",
    "(x = 3)": "beginning of a line",
    "x += 1": "found '='",
    "= 3": "found '='",
    "x =": "end of the line",
    "f(x=)": "found '\\)'",
    "f(x=1, y)": "without a name",
    "f(x=1, x=2)": "twice",
    "f(-x=1)": "beginning of a line",
    "f((x)=1)": "beginning of a line",
    "(x:=3)": "found ':='",
    "a < b < c": "not chained",
    "a < b & c < d": "not chained",
    "a == b == c": "not chained",
    "x^2": r"\*\*",
    "x; y": "line of its own",
    "'x'": "quotes",
    '"x"': "quotes",
    "f'x'": "quotes",
    "x'": "transpose",
    "x!": "gamma",
    "{1: 2}": "vectors and matrices",
    "a and b": "&",
    "not a": "~",
    "a or b": r"\|",
    "x if c else y": "where",
    "lambda x: x": "word of Python",
    "[c for c in x]": "broadcasting",
    "import os": "word of Python",
    "x.sum()": "sum\\(x\\)",
    "np.sin(x)": "not x.sum",
    "x.__class__": "only attribute",
    "a.T.__class__": "only attribute",
    "x.": "expected T",
    "x.1": "expected an operator",
    "07": "begin with 0",
    "1__0": "not a number",
    "1_": "not a number",
    "0x1F": "decimal",
    "1j": "complex",
    "1e": "1\\*e",
    "x\u200by": "ZERO WIDTH SPACE",
    "x\u00a0y": "NO-BREAK SPACE",
    "\ud800x": "U\\+D800",
    "x\x00": "U\\+0000",
    "x\ufe0f": "VARIATION SELECTOR",
    "a \u2212 b": "MINUS SIGN",
    "(3+1).\u1d47it_length()": "MODIFIER LETTER",
    "\u0430": "CYRILLIC",
    "\uff58": "FULLWIDTH",
    "\u00b5": "MICRO SIGN",
    "x\u00b2": "\\*\\*2",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refuses(text: str) -> None:
    with pytest.raises(ParseError, match=REFUSED[text]) as caught:
        parse_tree(text)
    assert caught.value.text == text
    assert "^" in str(caught.value)


def test_caret_points_to_the_mistake() -> None:
    with pytest.raises(ParseError) as caught:
        parse_tree("a + b * / c")
    assert str(caught.value).splitlines()[1:] == ["  a + b * / c", "          ^"]


def test_text_is_needed() -> None:
    with pytest.raises(ParseError, match="came as int"):
        parse_tree(cast(Any, 3))


def test_names() -> None:
    assert all(map(is_name, ["x", "X_1", "_", "σ", "Δx", "T", "print"]))
    assert not any(map(is_name, ["", "1x", "x y", "x;", "lambda", "None", "é", "ᵇit", "x\n", "\u0430"]))


COMMENTED = {
    "x**2 # a square": "x**2",
    "# first a comment\nx**2": "x**2",
    "a = 2*x  # twice\n\n# between\n  # the lines\na**2  # ---- = ---- + ((((": "4*x**2",
    "(x +  # in brackets\n 2)**2": "(x + 2)**2",
    'x\n#include "/etc/passwd"': "x",
}


@pytest.mark.parametrize("text", COMMENTED)
def test_comments_are_left_out(text: str) -> None:
    assert str(sd.gradient(text, "x")) == str(sd.gradient(COMMENTED[text], "x"))
    assert "#" not in str(sd.compile(text).source("numpy")).replace("# ", "")
    assert "passwd" not in sd.compile(text).source("c")


@pytest.mark.parametrize("name", ["beta", "gamma", "zeta", "psi", "k0", "y0", "std", "var", "mod", "real", "angle"])
def test_a_function_without_arguments_is_an_input(name: str) -> None:
    assert str(sd.gradient(f"{name}*x**2", name)) == "x ** 2"
    assert str(sd.gradient(f"exp({name}*x)", "x")) == f"{name} * exp({name} * x)"
    assert sd.compile(f"2*{name}")(3.0) == 6.0
    assert str(sd.gradient(f"{name} * x @ x", "x", x=2)) == f"2 * {name} * x"
    assert str(sd.gradient(f"{name} * x[0]", name, x=2, **{name: ()})) == "x[0]"


# ---------------------------------------------------------------------------- grammar limits
# Limits of formula text: refused before memory is spent, and long chains are not deep.


LIMITED = {
    "-" * 20_000 + "x": "deeper",
    "(" * 1001 + "x" + ")" * 1001: "deeper",
    "sin(" * 3000 + "x" + ")" * 3000: "deeper",
    "[" * 2000: "deeper",
    "**".join("x" * 1002): "deeper",
    "x[" * 1001: "deeper",
    "+".join("x" * 200_002): "operators",
    ",".join("x" * 200_002): "operators",
    "x" + "[0]" * 200_001: "operators",
    "x" + ".T" * 200_001: "operators",
    "f(x)" + "+f(x)" * 100_001: "operators",
    "a=1\n" * 200_001: "operators",
    " " * 1_000_001: "characters",
    "x" * 65: "name of 65",
    "1" * 401: "number of 401",
    "9" * 400: "range of a double",
    "1e999999999": "range of a double",
    "1e-999999999": "range of a double",
    "1e" + "9" * 100_000: "number of",
}


@pytest.mark.parametrize("text", LIMITED, ids=lambda text: f"{text[:8]!r}x{len(text)}")
def test_limits(text: str) -> None:
    with pytest.raises(LimitError, match=LIMITED[text]):
        parse_tree(text)


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    "text",
    ["(" * 1000 + "x" + ")" * 1000, "-" * 1000 + "x", "sin(" * 999 + "x" + ")" * 999, "**".join("x" * 1001), "x" * 64],
    ids=lambda text: f"{text[:4]}x{len(text)}",
)
def test_up_to_the_limits(text: str) -> None:
    assert parse_tree(text).terms


@pytest.mark.rows(1)
@pytest.mark.parametrize("term", ["x+", "x*f(x)-", "x&", "x<(y)+"])
def test_long_chains_are_not_deep(term: str) -> None:
    count = 50_000 if "f" in term or "<" in term else 150_000
    text = "(y)+" + (term * count).replace("<", "-") + "x"
    assert len(parse_tree(text).terms) >= 2 * count


def test_limits_can_be_set() -> None:
    with pytest.raises(LimitError, match="5 levels"):
        parse_tree("((((((x))))))", Limits(depth=5))
    with pytest.raises(LimitError, match="over 3 operators"):
        parse_tree("f(f(f(f(x))))", Limits(nodes=3))


def test_the_early_count_never_exceeds_the_nodes() -> None:
    for text in FORMULAS:
        assert fewest_nodes(text) <= _nodes(text)


def _nodes(text: str) -> int:
    """Return the smallest limit of nodes under which ``text`` is read."""
    limit = 0
    while True:
        try:
            parse_tree(text, Limits(nodes=limit))
        except SymdiffError:
            limit += 1
        else:
            return limit

"""Text of a user in generated source: names that are harmless in a language, others by number; comments, docstrings.

A name reaches C if it is an identifier of ASCII letters and digits that means nothing to C or C++, to the headers that
the source includes, or to usual others. Everything else is numbered, and the comment at the head of the files says
what stands for what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from ..errors import ArgumentError

__all__ = ["FORMULA", "check_function_name", "comment", "docstring", "harmless_names", "safe_names"]


#: Characters of a formula that a docstring or comment shows.
FORMULA = 4000


def safe_names(
    wanted: Sequence[str], is_harmless: Callable[[str], bool], fallback: str, taken: Collection[str] = ()
) -> list[str]:
    """Return a name for each of the names wanted: itself where it is harmless and free, else one with its number.

    Parameters
    ----------
    wanted : sequence of str
    is_harmless : callable
        Tells whether a name may stand in the source.
    fallback : str
        The first part of the other names.
    taken : collection of str
        Names that are in use.

    Examples
    --------
    >>> safe_names(["A", "λ", "A", "input1"], str.isascii, "input")
    ['A', 'input1n', 'input2', 'input1']
    """
    used = set(taken)
    own = []
    for name in wanted:
        good = is_harmless(name) and name not in used
        own.append(good)
        used.update([name] if good else [])
    found = []
    for number, (name, good) in enumerate(zip(wanted, own, strict=True)):
        given = name if good else f"{fallback}{number}"
        while not good and given in used:
            given += "n"
        used.add(given)
        found.append(given)
    return found


def docstring(text: str) -> str:
    """Escape text for a docstring: no character of it can end the string or begin an escape."""
    shown = text if len(text) <= FORMULA else text[:FORMULA] + " ..."
    clean = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in shown)
    return clean.replace("\\", "\\\\").replace('"', '\\"')


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", re.ASCII)
#: Prefixes of the names of the generated source itself.
OWN = "sd_"

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept bitand bitor bool catch char8_t char16_t
    char32_t class compl concept consteval constexpr constinit const_cast co_await co_return co_yield decltype delete
    dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public reflexpr reinterpret_cast requires static_assert static_cast synchronized template this
    thread_local throw true try typeid typename typeof typeof_unqual using virtual wchar_t xor xor_eq fortran near far
"""
#: Macros of C's headers, and of compilers in their default mode.
_MACROS = """
    I NULL NAN INFINITY EOF BUFSIZ complex imaginary errno assert stdin stdout stderr linux unix i386 offsetof
    noreturn va_arg va_copy va_end va_start setjmp isfinite isinf isnan isnormal signbit fpclassify isgreater isless
    isunordered isgreaterequal islessequal islessgreater math_errhandling min max small interface
"""
#: Functions of C's library, without the f and l forms of the mathematical ones.
_LIBRARY = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax
    fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
    nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
    cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj creal csin csinh csqrt
    ctan ctanh gamma j0 j1 jn y0 y1 yn drem exp10 pow10 scalb significand finite sincos main
    abort abs atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv llabs lldiv malloc mblen
    mbstowcs mbtowc qsort rand realloc srand strtod strtof strtol strtold strtoll strtoul strtoull system
    wcstombs wctomb
    clearerr fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc fputs fread freopen fscanf fseek fsetpos
    ftell fwrite getc getchar gets perror printf putc putchar puts remove rename rewind scanf setbuf setvbuf snprintf
    sprintf sscanf tmpfile tmpnam ungetc vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf
    memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp
    strncpy strpbrk strrchr strspn strstr strtok strxfrm index rindex
    isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower toupper
    asctime clock ctime difftime gmtime localtime mktime strftime time signal raise longjmp setlocale localeconv
    open close read write link unlink pipe fork exec wait kill sleep select send recv bind connect listen accept stat
    signgam environ std
"""
_RESERVED = frozenset(_KEYWORDS.split()) | frozenset(_MACROS.split())
_TAKEN = _RESERVED | frozenset(_LIBRARY.split())
#: Names that C's headers define or may come to define: int8_t, INT_MAX, EDOM, M_PI, FE_INVALID, SIGINT, LC_ALL.
_TYPED = re.compile(
    r".*_t|.*_(MAX|MIN|WIDTH|DIG|EPSILON)|E[0-9A-Z][0-9A-Z]+|(M|FE|FP|LC|SEEK|EXIT|PRI|SCN|HUGE|MATH)_\w+|(PRI|SCN)\w+|"
    r"SIG[A-Z_]+"
)


def check_function_name(name: str) -> None:
    """Refuse a name for the generated function that C or C++ has taken.

    Raises
    ------
    ArgumentError
    """
    math = name[:-1] if name[-1:] in ("f", "l") else name
    if name in _TAKEN or math in _TAKEN or _TYPED.fullmatch(name) or name.startswith(OWN) or "__" in name:
        raise ArgumentError(f"a function called {name!r} would clash with a name of C, C++ or their libraries; choose "
                            "another name")


def harmless_names(wanted: Sequence[str], fallback: str, taken: Collection[str] = ()) -> list[str]:
    """Return a C name for each of the names wanted: itself where it is harmless, else ``fallback`` with a number.

    Parameters
    ----------
    wanted : sequence of str
    fallback : str
    taken : collection of str
        Names that are in use.

    Examples
    --------
    >>> harmless_names(["A", "double", "λ"], "input")
    ['A', 'input1', 'input2']
    """
    return safe_names(wanted, _is_harmless, fallback, taken)


def _is_harmless(name: str) -> bool:
    plain = _PLAIN.fullmatch(name) is not None and len(name) <= 31
    return plain and name not in _RESERVED and not name.startswith(OWN) and not _TYPED.fullmatch(name)


def comment(text: str) -> str:
    """Return text as it may stand in a comment: it cannot end it, nor change what is read behind it.

    Examples
    --------
    >>> print(comment("a */ b"))
    a * / b
    """
    shown = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
    plain = shown.replace("\\", "\N{REVERSE SOLIDUS OPERATOR}")
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)", " ", plain)

"""Powers and roots, of what is known to be positive where that is said."""

from __future__ import annotations

from ..equations import Identity

PAGE = (
    Identity("log(sqrt(x)) -> log(x) / 2", "stability"),
    Identity("sqrt(x)**q -> x**(q / 2)", "differentiated", q="even"),
    Identity("log(s**p) -> p * log(s)", "stability", s="positive"),
    Identity("sqrt(s**p) -> s**(p / 2)", "stability", s="positive", p="number"),
    Identity("(s**p)**q -> s**(p * q)", "stability", s="positive", p="number", q="number"),
    Identity("power_log(1, s, p) -> s**p * log(s)", "derived", s="positive"),
    Identity("sqrt(s)**q -> s**(q / 2)", "stability", s="positive", q="number"),
    Identity("sqrt(x)**2 -> x", "derived"),
    Identity("(a * sqrt(x))**2 -> x * a**2", "shown"),
    Identity("(a / sqrt(x))**2 -> a**2 / x", "shown"),
    Identity("(a / (b * sqrt(x)))**2 -> a**2 / (x * b**2)", "shown"),
    Identity("(x**p)**2 -> x**(2 * p)", "derived"),
    Identity("x * power_log(1, x, p) -> power_log(1, x, p + 1)", "shown"),
    Identity("hypot(x, y)**2 -> x**2 + y**2", "stability"),
)

"""Facts of the table of scalar functions: inverses, logarithms, exact values, and which have a value everywhere.

They are columns of the rows (``inverse``, ``logarithm``, ``exact`` and ``total``) beside those of signs, and stand here
side by side, as a book's table has them. Rewriting makes equations of them: ``tan(arctan(x)) -> x`` for every function,
one that is added later too.
"""

from __future__ import annotations

import math

#: f and g with f(g(x)) = x wherever g has a value; parameters of both come first. DLMF 4.2, 4.23, 4.37, 7.17, 8.2, 8.17
INVERSES = {"exp": "log", "log": "exp", "exp2": "log2", "log2": "exp2", "expm1": "log1p", "log1p": "expm1",
    "sin": "arcsin", "cos": "arccos", "tan": "arctan",
    "sinh": "arcsinh", "arcsinh": "sinh", "cosh": "arccosh", "tanh": "arctanh", "arctanh": "tanh",
    "erf": "erfinv", "erfinv": "erf", "erfc": "erfcinv", "erfcinv": "erfc",
    "ndtr": "ndtri", "ndtri": "ndtr", "sigmoid": "logit", "logit": "sigmoid",
    "gammainc": "gammaincinv", "gammaincinv": "gammainc", "gammaincc": "gammainccinv",
    "gammainccinv": "gammaincc", "betainc": "betaincinv", "betaincinv": "betainc", "stdtr": "stdtrit",
    "stdtrit": "stdtr",}

#: Functions whose logarithm is a function of its own, which is finite where they overflow or vanish.
LOGARITHMS = {"gamma": "log_gamma", "beta": "log_beta", "binom": "log_binom", "poch": "log_poch",
    "sigmoid": "log_sigmoid", "ndtr": "log_ndtr", "erfc": "log_erfc", "erfcx": "log_erfcx", "stdtr": "log_stdtr",
    "gammainc": "log_gammainc", "gammaincc": "log_gammaincc", "betainc": "log_betainc",
    "i0": "log_i0", "i1": "log_i1", "k0": "log_k0", "k1": "log_k1", "kv": "log_kv",}

#: Functions that have a value wherever their arguments have one.
TOTAL = frozenset((
    "abs", "add", "arcsinh", "arctan", "arctan2", "cbrt", "cos", "cosh", "dawsn", "erf", "erfc", "erfcx", "exp", "exp2",
    "expm1", "hypot", "log_cosh", "log_ndtr", "log_sigmoid", "logaddexp", "lorentzian", "maximum", "minimum",
    "multiply", "ndtr", "negative", "sech", "sigmoid", "sign", "sin", "sinc", "sinh", "soft_sign", "softplus",
    "subtract", "tanh", "where",
))

#: Arguments other than 0 at which a function is a number that books print, and that number.
EXACT = {
    "log": ((1.0, 0.0), (math.e, 1.0)),
    "log2": ((1.0, 0.0), (2.0, 1.0)),
    "log10": ((1.0, 0.0), (10.0, 1.0)),
    "lgamma": ((1.0, 0.0), (2.0, 0.0)),
    "arccos": ((1.0, 0.0),),
    "arccosh": ((1.0, 0.0),),
    "logit": ((0.5, 0.0),),
    "ndtri": ((0.5, 0.0),),
}

"""Exponentials, logarithms and steps: forms that neither overflow nor cancel."""

from __future__ import annotations

from ..equations import Identity

PAGE = (
    # Logarithms of exponentials and of steps. DLMF 4.6, 7.2
    Identity("log(1 + exp(x)) -> softplus(x)", "stability"),
    Identity("log1p(exp(x)) -> softplus(x)", "stability"),
    Identity("log1p(-sigmoid(x)) -> log_sigmoid(-x)", "stability"),
    Identity("log1p(-ndtr(x)) -> log_ndtr(-x)", "stability"),
    Identity("log(1 + x) -> log1p(x)", "stability"),
    Identity("log(sigmoid(x) - sigmoid(y)) -> log_sigmoid(x) + log_sigmoid(-y) + log1mexp(x - y)", "stability"),
    Identity("log(ndtr(x) - ndtr(y)) -> log_ndtr_between(x, y)", "stability"),
    Identity("log(erf(x) - erf(y)) -> log(2) + log_ndtr_between(sqrt(2) * x, sqrt(2) * y)", "stability"),
    Identity("log(erfc(x) - erfc(y)) -> log(2) + log_ndtr_between(sqrt(2) * y, sqrt(2) * x)", "stability"),
    Identity("log(erfc_ratio(x, y)) -> log_erfc(x) - log_erfc(y)", "stability"),
    Identity("log(ndtr_ratio(x, y)) -> log_ndtr(x) - log_ndtr(y)", "stability"),
    Identity("xlogy(a, exp(x)) -> a * x", "stability"),
    Identity("xlogy(a, sigmoid(x)) -> xlog_sigmoid(a, x)", "stability"),
    Identity("xlog1py(a, -sigmoid(x)) -> xlog_sigmoid(a, -x)", "stability"),
    Identity("entr(sigmoid(x)) -> -xlog_sigmoid(sigmoid(x), x)", "stability"),

    # Sums of a number and one function. DLMF 4.28.8, 4.35, 7.2.2
    Identity("exp(x) - 1 -> expm1(x)", "stability"),
    Identity("1 - sigmoid(x) -> sigmoid(-x)", "stability"),
    Identity("2 * sigmoid(x) - 1 -> tanh(x / 2)", "stability"),
    Identity("1 + tanh(x) -> 2 * sigmoid(2 * x)", "stability"),
    Identity("1 - tanh(x) -> 2 * sigmoid(-2 * x)", "stability"),
    Identity("1 - tanh(x)**2 -> sech(x)**2", "stability"),
    Identity("1 - sech(x)**2 -> tanh(x)**2", "stability"),
    Identity("1 - ndtr(x) -> ndtr(-x)", "stability"),
    Identity("1 + erf(x) -> erfc(-x)", "stability"),
    Identity("1 - erf(x) -> erfc(x)", "stability"),

    Identity("poch(x, 1) -> x", "stability"),

    # Slopes of arctan(exp(x)) and arctan(sinh(x)): 1 / (1 + exp(x)**2), 1 / (1 + sinh(x)**2). DLMF 4.35.1
    Identity("lorentzian(exp(x)) -> sigmoid(-2 * x)", "stability"),
    Identity("lorentzian(sinh(x)) -> sech(x)**2", "stability"),

    # Sums of two functions. DLMF 4.35.1
    Identity("cosh(x)**2 - sinh(x)**2 -> 1", "stability", x="real"),
    Identity("softplus(x) - softplus(-x) -> x", "stability"),
    Identity("(1 + tan(x)**2) / tan(x) -> 2 / sin(2 * x)", "shown"),
    Identity("sech(x)**2 / (1 + tanh(x)**2) -> sech(2 * x)", "shown"),
    Identity("sigmoid(x) + sigmoid(-x) -> 1", "derived"),
    Identity("logaddexp(x, x) -> x + log(2)", "stability"),
)

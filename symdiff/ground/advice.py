"""Advice on names that other libraries have: what to write in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

__all__ = ["ARRAY", "DOTTED", "FACTS", "KERNEL", "LAYERS", "MODULE", "OPTIONS", "REFUSED", "TEXT", "advice"]

#: Options that other libraries have.
OPTIONS: Mapping[str, str] = {
    "args": "; inputs= is the order of the arguments",
    "argnums": "; name the variable: sd.gradient(f, 'x')",
    "device": "; kernels run on the processor, in several threads by threads=",
    "dtype": "; a kernel computes in float32 where its arguments are float32, and in float64 otherwise",
    "maximize": "; maximize f by minimize=-f",
    "jit": "; native code is built behind a call, or at once by backend='native'",
    "n_jobs": "; write threads=",
    "num_threads": "; write threads=",
    "order": "; write sd.derivative(f, x, n), or sd.hessian(f, x) for second derivatives",
    "parallel": "; write threads=",
    "variables": "; inputs= is the order of the arguments",
    "wrt": "; a derivative is compiled by sd.compile(sd.gradient(f, 'x'))",
}

#: Declarations of symbols, and options of one function, that another library or function has.
FACTS: Mapping[str, str] = {
    **dict.fromkeys(("psd", "spd", "pd", "posdef"), "write positive_definite=True"),
    **dict.fromkeys(("sym", "hermitian"), "write symmetric=True"),
    **dict.fromkeys(("nonneg", "nonnegative"), "write between=(0, None)"),
    "negative": "write between=(None, 0)",
    "nonzero": "formulas need no such declaration",
    "real": "every symbol is real",
    **dict.fromkeys(("length", "n_steps", "num_steps", "steps"), "a number of steps is n="),
    "sizes": "sizes are those of the examples; sd.from_jax takes letters for them",
    "integer": "write sd.index('i') or sd.indices('i', n) for positions",
    **dict.fromkeys(("bounds", "domain", "interval"), "write between=(lower, upper)"),
}

#: Attributes of the package.
MODULE: Mapping[str, str] = {
    "plan": "write k.plan of a kernel k, which shows how it runs",
    "simplify": "derivatives come simplified, and sd.compile simplifies what it compiles (k.rewrites says how); for "
                "other forms of a formula write sympy.simplify(f.sympy)",
    "sparse": 'write sd.compile(sd.jacobian(f, x), sparse="csr")',
    "DM": "write sd.asarray(numbers), or numbers as they are",
    "MX": "write sd.scalar('x'), sd.vector('x', n), sd.matrix('A', n, m) or sd.symbol('x', shape)",
    "SX": "write sd.scalar('x'), sd.vector('x', n), sd.matrix('A', n, m) or sd.symbol('x', shape)",
    "constant": "write numbers and arrays of them as they are",
    **dict.fromkeys(("collect", "expand", "factor", "together"),
                    "derivatives come collected; for other forms of a formula take SymPy's functions of f.sympy"),
    **dict.fromkeys(("besselj", "bessel_j", "jn"), "write sd.special.jv(n, x); sd.special has SciPy's names"),
    **dict.fromkeys(("if_else", "ifelse"), "write np.where(condition, a, b)"),
    **dict.fromkeys(("pi", "inf", "nan", "e"), "write NumPy's number, np.pi, np.inf, np.nan or np.e"),
    **dict.fromkeys(("curl", "nabla"), "write the entries of sd.jacobian(f, x)"),
    "divergence": "write the trace of sd.jacobian(f, x)",
    "directional_derivative": "write sd.jvp(f, x, direction)",
    "backward": "write sd.gradient(f, x)",
    "pure_callback": "write sd.external(f, shape=..., vjp=...)",
    "switch": "write np.where(condition, a, b), or np.select by conditions",
    **dict.fromkeys(("substitute", "subst"), "write f.substitute(x=...), with symbols or numbers for the inputs"),
    **dict.fromkeys(("series", "maclaurin"), "write sd.derivative(f, x, n) for the coefficients"),
    **dict.fromkeys(("placeholder", "Placeholder", "parameter", "Parameter"),
                    "write sd.scalar('x'), sd.vector('x', n), sd.matrix('A', n, m) or sd.symbol('x', shape)"),
    **dict.fromkeys(("to_latex", "tex"), "write f.latex() of a formula"),
    **dict.fromkeys(("I", "identity_matrix"), "write sd.eye(n)"),
    **dict.fromkeys(("inverse", "matrix_inverse"), "write np.linalg.inv(A)"),
    "hadamard": "write x * y, which is element by element",
    "vec": "write A.T.ravel() for columns one below the other, A.ravel() for rows",
    "vech": "write A[np.tril_indices(n)]",
    **dict.fromkeys(("commutation_matrix", "duplication_matrix", "commutation", "duplication"),
                    "Jacobians keep the axes of their matrices; write sd.jacobian(f, A)"),
    "plot": "plot a kernel's numbers with matplotlib; symdiff serve draws formulas",
    "save": "write sd.export(k, folder), or pickle the kernel",
    "load": "unpickle a kernel, or import what sd.export wrote",
    **dict.fromkeys(("odeint", "solve_ivp", "ode", "integrator"),
                    "write the steps of a method, sd.iterate(step, start, n) or sd.scan(step, start, over), or give "
                    "sd.objective(f, 'x', time='t') to SciPy's solve_ivp"),
    **dict.fromkeys(("functions", "register", "register_function"),
                    "write a Python function of symbols, for text functions={'mm': mm}; with a derivative of its own "
                    "sd.custom(f, vjp=...), of numbers alone sd.external(f, shape=...)"),
    "kn": "write sd.special.kv(n, x)",
    "yn": "write sd.special.yv(n, x)",
    "full": "write sd.broadcast_to(x, shape)",
    "mse": "write np.mean((x - y) ** 2)",
    "derive": "write sd.gradient(f, x), sd.jacobian(f, x) or sd.derivative(f, x, n)",
    "eval": "write sd.compile(f)(...), with numbers for the inputs",
    "fold": "write sd.scan(step, start, over), or sd.iterate(step, start, n)",
    "for_loop": "write sd.iterate(step, start, n), sd.scan(step, start, over) or sd.sum_over(i, n, formula)",
    **dict.fromkeys(("input", "Input"),
                    "write sd.scalar('x'), sd.vector('x', n), sd.matrix('A', n, m) or sd.symbol('x', shape)"),
    **dict.fromkeys(("integrate", "quad"),
                    "integrals are not offered; write sd.sum_over(i, n, formula) of a rule's points and weights"),
    "latex": "write f.latex() of a formula",
    "subs": "write f.substitute(x=...), with symbols or numbers for the inputs",
    "taylor": "write sd.derivative(f, x, n) for the coefficients",
    "variable": "write sd.scalar('x'), sd.vector('x', n), sd.matrix('A', n, m) or sd.symbol('x', shape)",
    "fori_loop": "write sd.iterate(function, x, n)",
    "horzcat": "write np.stack([...], axis=1) of vectors, or np.concatenate([...], axis=1)",
    "mtimes": "write A @ B",
    "reduce_sum": "write np.sum(x)",
    "tensor": "write numbers as they are, and sd.symbol('x', shape) for an input",
    **dict.fromkeys(("rootfinder", "custom_root", "fsolve", "brentq", "newton"),
                    "write sd.root(g, x, start), or sd.root(g, x, bracket=(a, b)) for one equation"),
    **dict.fromkeys(("nlpsol", "Opti", "qpsol", "conic", "nlp"),
                    "write sd.problem(minimize, subject_to=[...], variables=[...])"),
    "sumsqr": "write np.sum(x**2)",
    "vertcat": "write sd.stack([a, b]) of scalars, or np.concatenate([x, y])",
    "Expr": "write sd.Array",
    "Function": "write sd.custom(f, vjp=...), or an ordinary Python function of symbols",
    "MatrixSymbol": "write sd.matrix('A', n, m)",
    "Matrix": "write sd.asarray([[...], ...]) of symbols and numbers, or sd.matrix('A', n, m) for an input",
    "Symbol": "write sd.scalar('x'), sd.vector('x', n), sd.matrix('A', n, m) or sd.symbol('x', shape)",
    "Variable": "write sd.scalar('x'), sd.vector('x', n), sd.matrix('A', n, m) or sd.symbol('x', shape)",
    "autodiff": "write sd.gradient(f, x) or sd.jacobian(f, x)",
    "custom_jvp": "write sd.custom(f, differential=...)",
    "custom_vjp": "write sd.custom(f, vjp=...)",
    "div": "write the trace of sd.jacobian(f, x)",
    "evaluate": "write sd.compile(f)(...), with numbers for the inputs",
    "grad": "write sd.gradient(f, x), a formula, and sd.compile of it to run it",
    "hess": "write sd.hessian(f, x)",
    "jacfwd": "write sd.jacobian(f, x), which takes the cheaper mode",
    "jacrev": "write sd.jacobian(f, x), which takes the cheaper mode",
    "jac": "write sd.jacobian(f, x)",
    "jit": "write sd.compile(f)",
    "lambdify": "write sd.compile(f, inputs)",
    "laplacian": "write the trace of sd.hessian(f, x)",
    "minimize": "write sd.objective(f, x) and scipy.optimize.minimize with its fun and jac",
    "pmap": "call the kernel with arrays that have batch axes in front, and threads=",
    "stop_grad": "write sd.stop_gradient(z)",
    **dict.fromkeys(("symbols", "scalars", "vectors", "sym"),
                    "write sd.scalar('x'), sd.vector('x', n), sd.matrix('A', n, m) or sd.symbol('x', shape), one at a "
                    "time"),
    "random": "random numbers are no formula; draw them by NumPy and give them to the kernel",
    **dict.fromkeys(("pretty", "pprint"), "print(f), or f.unicode() and f.latex() of a formula"),
    "value_and_grad": "write sd.value_and_gradient(f, x)",
    "vmap": "call the kernel with arrays that have batch axes in front; every kernel takes them",
}

_NUMBERS = "compile the formula and call the kernel with numbers: sd.compile(f)(...)"
_DERIVATIVE = "write sd.gradient(f, x), sd.jacobian(f, x) or sd.hessian(f, x)"

#: Attributes of symbolic arrays.
ARRAY: Mapping[str, str] = {
    "at": "write np.where(mask, value, x), or np.concatenate([x[:i], [value], x[i + 1 :]])",
    "clone": "symbols do not change; no copy is needed",
    "mm": "write A @ B",
    "replace": "write f.substitute(x=...), with symbols or numbers for the inputs",
    "unsqueeze": "write x[..., None], or np.expand_dims(x, axis)",
    **dict.fromkeys(("t", "H"), "write A.T; arrays are real"),
    "I": "write np.linalg.inv(A)",
    "compile": "write sd.compile(f)",
    "expand": "derivatives come collected; for other forms of a formula take SymPy's functions of f.sympy",
    "mathml": "symdiff derive FORMULA --format mathml prints it; f.latex() is LaTeX",
    "adjugate": "write sd.linalg.adjugate(A)",
    "append": "write np.concatenate([a, b])",
    "argmax": "the place of a maximum is a number of the formula, whose derivative is 0: write np.argmax(x)",
    "argmin": "the place of a minimum is a number of the formula, whose derivative is 0: write np.argmin(x)",
    "argpartition": "the order of elements is not known before the call; write np.sort(x), or sd.arrange(y, x)",
    "argsort": "write np.argsort(x) for places as numbers, np.sort(x), or sd.arrange(y, x) for y in the order of x",
    "choose": "write np.choose(numbers, [a, b]) with constant numbers, or np.select by conditions",
    "compress": "write np.compress(mask, x) with a constant mask, or np.where(condition, x, 0)",
    "backward": _DERIVATIVE,
    "cholesky": "write np.linalg.cholesky(A)",
    "data": _NUMBERS,
    "det": "write np.linalg.det(A)",
    "detach": "write sd.stop_gradient(z)",
    "diff": "write sd.gradient(f, x) for a derivative, np.diff(x) for differences of neighbours",
    "eig": "write np.linalg.eigh(A), of a symmetric matrix",
    "eval": _NUMBERS,
    "evalf": _NUMBERS,
    "evaluate": _NUMBERS,
    "fill": "a symbol cannot be assigned to; write np.full(shape, value)",
    "free_symbols": "write list(sd.compile(f).inputs)",
    "grad": _DERIVATIVE,
    "gradient": _DERIVATIVE,
    "hessian": _DERIVATIVE,
    "inv": "write np.linalg.inv(A), or np.linalg.solve(A, b) for a product with it",
    "inverse": "write np.linalg.inv(A), or np.linalg.solve(A, b) for a product with it",
    "item": _NUMBERS,
    "jacobian": _DERIVATIVE,
    "logdet": "write np.linalg.slogdet(A)[1]",
    "norm": "write np.linalg.norm(x)",
    "nonzero": "the count of nonzero elements is not known before the call; write np.where(condition, a, b)",
    "numpy": _NUMBERS,
    "partition": "a symbol cannot be sorted in place; write np.partition(x, k)",
    "permute": "write np.transpose(x, axes)",
    "rank": "write x.ndim for the number of axes",
    "requires_grad": "every input of a formula can be differentiated with respect to",
    "searchsorted": "write np.searchsorted(table, x)",
    "simplify": "derivatives are simplified when they are made",
    "sort": "a symbol cannot be sorted in place; write np.sort(x)",
    "solve": "write np.linalg.solve(A, b)",
    "strides": "write np.concatenate, np.roll or sd.toeplitz(c, r) in place of views into memory",
    "subs": "write f.substitute(x=...), with symbols or numbers for the inputs",
    "to_numpy": _NUMBERS,
    "tolist": _NUMBERS,
    "tr": "write np.trace(A)",
    "tobytes": _NUMBERS,
    "view": "write x.reshape(...)",
}

#: Layers and losses of neural networks, and their formulas.
LAYERS: Mapping[str, str] = {
    "layer_norm": "write (x - np.mean(x, -1, keepdims=True)) / np.sqrt(np.var(x, -1, keepdims=True) + 1e-5)",
    "batch_norm": "write (x - np.mean(x, 0)) / np.sqrt(np.var(x, 0) + 1e-5)",
    "linear": "write x @ W.T + b",
    "dense": "write x @ W.T + b",
    "dropout": "random numbers are no formula; multiply by a mask that calls bring",
    **dict.fromkeys(("attention", "scaled_dot_product_attention", "dot_product_attention"),
                    "write sd.softmax(q @ k.T / np.sqrt(d)) @ v"),
    **dict.fromkeys(("cross_entropy", "nll_loss", "softmax_cross_entropy"),
                    "write -np.mean(sd.log_softmax(z)[sd.arange('n'), y]) with y = sd.indices('y', 'n')"),
    **dict.fromkeys(("mse_loss", "mse"), "write np.mean((x - y) ** 2)"),
}

#: Functions people reach for that a symbol cannot answer, and what to write instead.
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("argwhere", "flatnonzero"), "the count of nonzero elements is not known before the call; use "
                    "where(condition, a, b)"),
    **dict.fromkeys(("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "union1d",
                     "intersect1d", "setdiff1d", "setxor1d", "trim_zeros"),
                    "the count of elements is not known before the call; call it with numbers, and pass the positions "
                    "that it gives as an integer input"),
    **dict.fromkeys(("histogram", "histogram2d", "histogramdd"),
                    "counts are constant in pieces; write sums of a smooth weight, such as "
                    "sum(sigmoid((x - a) / w) - sigmoid((x - b) / w))"),
    **dict.fromkeys(("fft", "fft2", "fftn", "hfft", "rfft", "rfft2", "rfftn", "ifft", "ifft2", "ifftn", "irfft",
                     "irfft2", "irfftn", "ihfft"),
                    "write NumPy's function on symbols, whose result is a complex array: np.fft.rfft(x). Formula text "
                    "and the array API have real numbers alone: there write products with constant matrices, "
                    "cos(t) @ x and -sin(t) @ x with t = 2 pi outer(k, arange(n)) / n, for k = arange(n // 2 + 1)"),
    "putmask": "symbols cannot be assigned to; write where(mask, value, x)",
    "place": "symbols cannot be assigned to; write where(mask, value, x)",
    "put_along_axis": "symbols cannot be assigned to; build the array with where, stack or concatenate",
    **dict.fromkeys(("argpartition", "lexsort"),
                    "the order of elements is not known before the call; write sort(x), arrange(y, x) for y in the "
                    "order of x, or pass an integer input with the order as x[idx]"),
    "nonzero": "the count of nonzero elements is not known before the call; use where(condition, a, b)",
    **dict.fromkeys(("nextafter", "spacing"), "a step of rounding has no derivative; take it of numbers, before the "
                    "call"),
    **dict.fromkeys(("gcd", "lcm"), "it is of whole numbers and has no derivative; take it of numbers, before the "
                    "call"),
    "left_shift": "write x * 2.0**n",
    "right_shift": "write floor(x / 2.0**n)",
    **dict.fromkeys(("isrealobj", "iscomplexobj"), "every symbol is real"),
    "sort_complex": "every symbol is real; write sort(x)",
    "astype": "numbers of a formula are of double precision; write x.astype(dtype) for whole parts",
    "array_equiv": "compare numbers after calling the compiled kernel",
    "polydiv": "take it of numbers, before the call; a product is polymul(q, b)",
    "roots": "roots of polynomials are eigenvalues of a matrix that is not symmetric; they are not offered. Write "
             "external(f, jvp=...) of a solver and the implicit derivative -dp(r) / p'(r)",
    **dict.fromkeys(("lu", "lu_factor", "lu_solve"),
                    "the numbers of a call decide which rows are exchanged; write solve(A, b), det(A) or qr(A)"),
    **dict.fromkeys(("schur", "rsf2csf", "hessenberg"),
                    "it may be complex, and is not unique; write eigh of a symmetric matrix, or qr(A)"),
    "eigvalsh_tridiagonal": "write eigh_tridiagonal(d, e, eigvals_only=True)",
    "qr_multiply": "write q, r = qr(A), and q @ c",
    "fiedler_companion": "build the matrix with diag, stack and concatenate",
    "comb": "write binom(n, k)",
    **dict.fromkeys(("convolve2d", "correlate2d"),
                    "write the sum of shifted parts, sum(k[i, j] * x[i:i + m, j:j + n]) over i and j"),
    "sliding_window_view": "write the list of shifted parts, stack([x[i:i + m] for i in range(k)], axis=1), or their "
                           "sum with weights",
    "solve_continuous_lyapunov": "write solve_sylvester(A, A.T, Q)",
    **dict.fromkeys(("solve_discrete_are", "solve_continuous_are", "solve_discrete_lyapunov"),
                    "write fixed_point(step, P, start), or root(equation, P, start), which has exact derivatives"),
    "cdist": "write norm(x[:, None] - y, axis=2)",
    "bessel_jn": "write jv(n, x)",
    "dot_product_attention": "write softmax(q @ k.T / sqrt(d)) @ v",
    "gammasgn": "write sign(gamma(x))",
    "hyperu": "there is no rule for it; write external(f, jvp=...) with its derivative",
    "sph_harm_y": "it is complex; its parts are sph_harm_y_real(n, m, theta, phi) and sph_harm_y_imag of the same",
    "wofz": "it is complex; its parts at x + iy are wofz_real(0, x, y) and wofz_imag(0, x, y), of complex arrays it is "
            "scipy.special.wofz(z)",
    "array": "it stands for a constant too long to print; give the constant as an input",
    "put": "symbols cannot be assigned to; build the array with where, stack or concatenate",
    "copyto": "symbols cannot be assigned to; build the array with where, stack or concatenate",
    "fill_diagonal": "write where(eye(n) == 1, value, A)",
    "eig": "eigenvalues of matrices that are not symmetric may be complex, and are not offered; write eigh of a "
           "symmetric one",
    "eigvals": "eigenvalues of matrices that are not symmetric may be complex, and are not offered; write eigvalsh "
               "of a symmetric one, trace(matrix_power(A, k)) for sums of their powers, or external(f, jvp=...)",
    "result_type": "symbols are float64, but a function of SciPy that asks computes with numbers; write symdiff's own, "
    "such as sd.logsumexp(x), sd.softmax(x), with the whole list in docs/functions.md",
    "matrix_rank": "the rank is a whole number that jumps and has no derivative; take it of numbers, before the call",
}

_OF_KERNEL = "write sd.compile(sd.{0}(f, x)) of the formula f, or sd.{0}(k(*symbols), x) of a kernel k"

#: Attributes of kernels.
KERNEL: Mapping[str, str] = {
    "derivative": _OF_KERNEL.format("derivative"),
    "diff": _OF_KERNEL.format("gradient"),
    "eval": "call the kernel: k(...)",
    "evaluate": "call the kernel: k(...)",
    "export": "write sd.export(k, folder, name, target=...)",
    "formula": "k.sympy, k.latex() and k.source() show it, and k(*symbols) is the formula of them",
    "grad": _OF_KERNEL.format("gradient"),
    "gradient": _OF_KERNEL.format("gradient"),
    "hessian": _OF_KERNEL.format("hessian"),
    "hvp": _OF_KERNEL.format("hvp"),
    "jacobian": _OF_KERNEL.format("jacobian"),
    "jvp": _OF_KERNEL.format("jvp"),
    "pattern": "sd.compile(f, sparse='csr') makes one whose nonzeros have a pattern",
    "run": "call the kernel: k(...)",
    "save": "write sd.export(k, folder), or pickle the kernel",
    "shape": "k.signature and k.outputs have the shapes",
    "vjp": _OF_KERNEL.format("vjp"),
    "vmap": "call the kernel with arrays that have batch axes in front",
}

_SIZE = 'a size that is a letter is a number: sum(x) / n with x="n"'

#: Loops in formula text.
LOOPS = "text has sums, sum_over(k, n, x**k), and no other loops; write sd.scan or sd.iterate of symbols"
#: Functions in formula text.
TEXT: Mapping[str, str] = {
    "T": "a transpose is written X.T",
    "arcosh": "write arccosh",
    "arsinh": "write arcsinh",
    "artanh": "write arctanh",
    "grad": "write gradient(f, x)",
    "hess": "write hessian(f, x)",
    "jac": "write jacobian(f, x)",
    **dict.fromkeys(("jn", "besselj"), "write jv(n, x)"),
    "kn": "write kv(n, x)",
    "yn": "write yv(n, x)",
    "sph_harm": "write sph_harm_y_real(n, m, theta, phi) and sph_harm_y_imag of the same",
    "boys": "write gamma(n + 1/2) * gammainc(n + 1/2, x) / (2 * x**(n + 1/2))",
    "logcumsumexp": "write log(cumsum(exp(x - m))) + m with m = max(x)",
    "airy": "write airyai(x), airybi(x)",
    **dict.fromkeys(("lim", "limit"), "limits are not offered"),
    "norm1": "write sum(abs(x))",
    "norm2": "write norm(x)",
    **dict.fromkeys(("scan", "iterate"), LOOPS),
    **dict.fromkeys(("len", "numel", "shape", "size"), _SIZE),
}


#: Names behind a dot in formula text.
DOTTED: Mapping[str, str] = {
    **dict.fromkeys(("shape", "size"), _SIZE),
    "I": "write inv(A)",
    "H": "write A.T",
    **{
        name: f"write norm_{name}(x, loc, scale), and so for other distributions"
        for name in ("logpdf", "pdf", "logcdf", "cdf", "logsf", "sf", "logpmf", "pmf")
    },
    **{
        name: f"{name} is element by element, @ the product of matrices; sd.parse(text, dialect='matrixcalculus') "
        f"reads .{name}"
        for name in ("*", "/")
    },
}


def advice(name: str, table: Mapping[str, str], known: Iterable[str] = (), page: str = "") -> str:
    """Return what to write in place of a name, for the end of a message: "; write ...", close names, or a page.

    Examples
    --------
    >>> advice("inv", ARRAY)
    '; write np.linalg.inv(A), or np.linalg.solve(A, b) for a product with it'
    >>> advice("gradent", MODULE, ["gradient", "hessian"])
    '; close: gradient'
    """
    if name in table:
        return f"; {table[name]}"
    if name.startswith("_"):  # libraries look for protocols all the time
        return ""
    near = names_near(name, [one for one in known if not one.startswith("_")])
    return f"; close: {', '.join(near)}" if near else f"; {page} tells what there is" if page else ""


def names_near(name: str, known: Iterable[str]) -> list[str]:
    """Return at most three of the first thousand known names that a misspelt one may stand for."""
    import difflib

    return difflib.get_close_matches(name, [*islice(known, 1000)], 3)


def close_to(name: str, known: Iterable[str]) -> str:
    """Return the names near another one as messages have them in brackets, "" where there are none."""
    near = names_near(name, known)
    return f" (close: {', '.join(near)})" if near else ""

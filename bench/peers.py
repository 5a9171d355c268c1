"""The same workloads by other libraries, where they are installed; prints one line of JSON a result.

Run by :mod:`bench.run`, in an interpreter that need not have symdiff. Every result is
compared with the NumPy reference before it is timed. heyoka takes one column a sample, its
own layout; CasADi's C and JAX take one row a sample.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from bench import workloads as w
from bench.kinds import KINDS, Kind
from bench.timing import measure

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Scalars:
    """A workload lowered to scalars, for the libraries that have only those.

    Parameters
    ----------
    data, reference : callable
    count, by : int
        Number of variables; differentiated by the first ``by``.
    function : callable
        Takes a library's sqrt, sin, ... and its variables, gives the outputs.
    with_value : bool
        Whether the outputs themselves are wanted beside their Jacobian.
    arrange : callable
        Takes values (N, outputs) and Jacobian (N, outputs, by), gives the results of the reference.
    """

    data: Callable[[], w.Data]
    reference: Callable[[w.Data], w.Results]
    count: int
    by: int
    function: Callable[[Any, list[Any]], list[Any]]
    arrange: Callable[[w.Floats, w.Floats], w.Results]
    with_value: bool = False

    def rows(self, data: w.Data) -> w.Floats:
        """Return the data as one row a sample."""
        several = len(next(iter(data.values()))) if self.count > 1 else 1
        if all(a.ndim == 1 for a in data.values()) and len(data) == 1:
            several = 1
        return np.column_stack([a.reshape(several, -1) for a in data.values()])


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    total = a[0] * b[0]
    for p, q in zip(a[1:], b[1:], strict=True):
        total = total + p * q
    return total


def _det(rows: list[list[Any]]) -> Any:
    if len(rows) == 1:
        return rows[0][0]
    minors = [_det([row[:j] + row[j + 1 :] for row in rows[1:]]) for j in range(len(rows))]
    return _dot([entry if j % 2 == 0 else -entry for j, entry in enumerate(rows[0])], minors)


def _logdet(m: Any, v: list[Any]) -> list[Any]:
    return [m.log(_det([v[4 * i : 4 * i + 4] for i in range(4)]))]


def _policy(m: Any, v: list[Any]) -> list[Any]:
    z = [_dot(v[:4], v[8:]), _dot(v[4:8], v[8:])]
    total = m.log(m.exp(z[0]) + m.exp(z[1]))
    return [z[0] - total, z[1] - total]


def _bundle(m: Any, v: list[Any]) -> list[Any]:
    axis, centre, focal, principal, kappa, point, weight = v[:3], v[3:6], v[6], v[7:9], v[9:11], v[11:14], v[14]
    gap = [a - b for a, b in zip(point, centre, strict=True)]
    angle = m.sqrt(_dot(axis, axis))
    k = [a / angle for a in axis]
    cosine, sine, along = m.cos(angle), m.sin(angle), _dot(k, gap)
    side = [k[i - 2] * gap[i - 1] - k[i - 1] * gap[i - 2] for i in range(3)]
    turned = [g * cosine + s * sine + a * along * (1.0 - cosine) for g, s, a in zip(gap, side, k, strict=True)]
    image = [turned[0] / turned[2], turned[1] / turned[2]]
    square = _dot(image, image)
    bend = 1.0 + kappa[0] * square + kappa[1] * square * square
    return [weight * (u * bend * focal + c - f) for u, c, f in zip(image, principal, v[15:], strict=True)]


def _rosenbrock(m: Any, v: list[Any]) -> list[Any]:
    terms = []
    for a, b in itertools.pairwise(v):
        bend, rest = b - a * a, 1.0 - a
        terms.append(100.0 * bend * bend + rest * rest)
    while len(terms) > 1:  # pairwise, so that no library nests a thousand deep
        terms = [sum(terms[i + 1 : i + 2], terms[i]) for i in range(0, len(terms), 2)]
    return terms


def _three_body(m: Any, v: list[Any]) -> list[Any]:
    x, y, z, px, py, pz = v
    r1 = m.sqrt((x - w.MASS) * (x - w.MASS) + y * y + z * z)
    r2 = m.sqrt((x - w.MASS + 1.0) * (x - w.MASS + 1.0) + y * y + z * z)
    return [0.5 * (px * px + py * py + pz * pz) + y * px - x * py - (1.0 - w.MASS) / r1 - w.MASS / r2]


def _kinetics(m: Any, y: list[Any]) -> list[Any]:
    change: list[Any] = [None] * 20
    for rate, reacting, coming in w.REACTIONS:
        speed = rate * y[reacting[0] - 1]
        for species in reacting[1:]:
            speed = speed * y[species - 1]
        for sign, several in ((1.0, coming), (-1.0, reacting)):
            for species in several:
                known = change[species - 1]
                change[species - 1] = sign * speed if known is None else known + sign * speed
    return change


def _price(m: Any, v: list[Any]) -> list[Any]:
    s, k, r, vol, t = v
    spread = vol * m.sqrt(t)
    d1 = (m.log(s / k) + (r + vol * vol / 2.0) * t) / spread

    def normal(x: Any) -> Any:
        return 0.5 + m.erf(x / 2.0**0.5) / 2.0

    return [s * normal(d1) - k * m.exp(-r * t) * normal(d1 - spread)]


def _arm(m: Any, q: list[Any]) -> list[Any]:
    point: list[Any] = [0.0, 0.0, 0.0]
    along: list[Any] = [0.0, 0.0, 1.0]
    for (height, reach, quarters), angle in zip(w.JOINTS[::-1], q[::-1], strict=True):
        c, s = m.cos(angle), m.sin(angle)
        if quarters:
            point, along = ([v[0], -quarters * v[2], quarters * v[1]] for v in (point, along))
        point = [point[0] + reach, point[1], point[2] + height]
        point, along = ([c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]] for v in (point, along))
    return [*point, *along]


def _whole(shape: tuple[int, ...]) -> Callable[[w.Floats, w.Floats], w.Results]:
    return lambda values, jacobian: [jacobian.reshape(shape)]


def _columns(values: w.Floats, jacobian: w.Floats) -> w.Results:
    return [jacobian[:, 0, j] for j in range(jacobian.shape[2])]


SCALARS: dict[str, Scalars] = {
    "P1-4": Scalars(
        lambda: w.logdet_data(4, 100_000), w.logdet_reference, 16, 16, _logdet, _whole((-1, 4, 4))
    ),
    "P3": Scalars(lambda: w.policy_data(200_000), w.policy_reference, 12, 8, _policy, _whole((-1, 2, 2, 4))),
    "P5": Scalars(
        lambda: w.bundle_data(200_000),
        w.bundle_reference,
        17,
        15,
        _bundle,
        lambda values, j: [j[:, :, :11], j[:, :, 11:14], j[:, :, 14]],
    ),
    "P6-4": Scalars(lambda: w.rosenbrock_data(4), w.rosenbrock_gradient_reference, 4, 4, _rosenbrock, _whole((-1,))),
    "P6-1000": Scalars(
        lambda: w.rosenbrock_data(1000), w.rosenbrock_gradient_reference, 1000, 1000, _rosenbrock, _whole((-1,))
    ),
    "P9": Scalars(
        lambda: w.three_body_data(1_000_000),
        w.three_body_reference,
        6,
        6,
        _three_body,
        lambda values, j: [values[:, 0], j[:, 0, :3], j[:, 0, 3:]],
        with_value=True,
    ),
    "P10-1": Scalars(lambda: w.kinetics_data(0), w.kinetics_reference, 20, 20, _kinetics, _whole((20, 20))),
    "P10-100000": Scalars(
        lambda: w.kinetics_data(100_000), w.kinetics_reference, 20, 20, _kinetics, _whole((-1, 20, 20))
    ),
    "arm": Scalars(lambda: w.arm_data(100_000), w.arm_reference, 6, 6, _arm, _whole((-1, 6, 6))),
    "greeks": Scalars(lambda: w.options_data(1_000_000), w.options_reference, 5, 5, _price, _columns),
}


def report(known: dict[str, Any], run: Callable[[], Any], results: Any, wanted: w.Results) -> None:
    """Check, time and print what is known and what was found."""
    worst = w.disagreement([np.asarray(r) for r in w.as_list(results)], wanted)
    line = {**known, "disagreement": worst}
    if worst < TOLERANCE:
        line |= asdict(measure(run))
    else:
        line["wrong"] = True
    print(json.dumps(line), flush=True)


# ---------------------------------------------------------------------------- heyoka


def run_heyoka(hy: Any, names: set[str]) -> None:
    for name in SCALARS.keys() & names:
        case = SCALARS[name]
        start = time.perf_counter()
        variables = [hy.make_vars(f"v{i}") for i in range(case.count)]
        outputs = case.function(hy, variables)
        jacobian = list(np.ravel(hy.diff_tensors(outputs, variables[: case.by]).jacobian))
        wanted = [*outputs, *jacobian] if case.with_value else jacobian
        function = hy.cfunc(wanted, variables)
        spent = time.perf_counter() - start
        data = case.data()
        columns = np.ascontiguousarray(case.rows(data).T)
        if columns.shape[1] == 1:
            columns = columns[:, 0].copy()
        out = np.empty((len(wanted), *columns.shape[1:]))
        function(columns, outputs=out)
        rows = out.reshape(len(wanted), -1).T
        values, slopes = rows[:, : -len(jacobian)], rows[:, -len(jacobian) :].reshape(-1, len(outputs), case.by)
        results = case.arrange(values, slopes)
        known = {"peer": "heyoka", "case": name, "compile": spent}
        report(known, functools.partial(function, columns, outputs=out), results, case.reference(data))


# ---------------------------------------------------------------------------- CasADi


def run_casadi(ca: Any, names: set[str]) -> None:
    compiler = shutil.which("cc") or "cc"
    with tempfile.TemporaryDirectory() as folder:
        for name in SCALARS.keys() & names:
            case = SCALARS[name]
            start = time.perf_counter()
            v = ca.SX.sym("v", case.count)
            outputs = ca.vertcat(*case.function(ca, ca.vertsplit(v)))
            jacobian = ca.densify(ca.jacobian(outputs, v)[:, : case.by])
            function = ca.Function("f", [v], ca.cse([outputs, jacobian] if case.with_value else [jacobian]))
            source, library = Path(folder) / f"{len(list(Path(folder).iterdir()))}.c", Path(folder) / f"{name}.so"
            source.write_text(_casadi_source(ca, function))
            flags = ["-O2", "-march=native", "-shared", "-fPIC"]
            subprocess.run([compiler, *flags, str(source), "-o", str(library), "-lm"], check=True)
            built = ca.external("f", str(library))
            spent = time.perf_counter() - start
            data = case.data()
            rows = case.rows(data)
            call, outs, keep = _casadi_call(built.map(len(rows), "serial"), rows)
            call()
            slopes = outs[-1].reshape(len(rows), case.by, -1).swapaxes(1, 2)
            results = case.arrange(outs[0].reshape(len(rows), -1), slopes)
            report({"peer": "casadi", "case": name, "compile": spent}, call, results, case.reference(data))
            del keep


def _casadi_source(ca: Any, function: Any) -> str:
    generator = ca.CodeGenerator("f.c")
    generator.add(function)
    text: str = generator.dump()
    return text


def _casadi_call(function: Any, rows: w.Floats) -> tuple[Callable[[], None], list[w.Floats], Any]:
    """Return a call without copies, its outputs, and what must stay alive."""
    buffer, call = function.buffer()
    buffer.set_arg(0, rows.data)
    outs = [np.zeros(function.nnz_out(i)) for i in range(function.n_out())]
    for i, out in enumerate(outs):
        buffer.set_res(i, out.data)
    return call, outs, (buffer, rows)


# ---------------------------------------------------------------------------- JAX


def run_jax(jax: Any, names: set[str]) -> None:
    jax.config.update("jax_enable_x64", True)
    for name, (function, data, reference) in _jax_cases(jax).items():
        if name not in names:
            continue
        given = data()
        arrays = [jax.numpy.asarray(a) for a in given.values()]
        compiled = jax.jit(function)
        start = time.perf_counter()
        results = jax.block_until_ready(compiled(*arrays))
        spent = time.perf_counter() - start
        known = {"peer": "jax", "case": name, "compile": spent}
        report(known, functools.partial(_finished, jax, compiled, arrays), results, reference(given))


def _finished(jax: Any, compiled: Any, arrays: list[Any]) -> Any:
    return jax.block_until_ready(compiled(*arrays))


def _with_slopes(jax: Any, kind: Kind) -> Callable[..., list[Any]]:
    """Return the value and the gradients of a kind as a function of its inputs."""
    names = list(kind.data(kind.small))
    by = [names.index(name) for name in kind.wrt]
    both = jax.value_and_grad(functools.partial(kind.value, jax.numpy), argnums=by)

    def value_and_slopes(*arrays: Any) -> list[Any]:
        value, slopes = both(*arrays)
        return [value, *slopes]

    return value_and_slopes


def _jax_cases(jax: Any) -> dict[str, tuple[Any, Callable[[], w.Data], Callable[[w.Data], w.Results]]]:
    np_, grad, vmap = jax.numpy, jax.grad, jax.vmap

    def bundle(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
        axis, gap = camera[:3], point - camera[3:6]
        angle = np_.sqrt(axis @ axis)
        k = axis / angle
        turned = gap * np_.cos(angle) + np_.cross(k, gap) * np_.sin(angle) + k * (k @ gap) * (1 - np_.cos(angle))
        image = turned[:2] / turned[2]
        square = image @ image
        bend = 1 + camera[9] * square + camera[10] * square * square
        return weight * (image * bend * camera[6] + camera[7:9] - feature)

    def mixture(alpha: Any, mu: Any, q: Any, low: Any, x: Any) -> Any:
        n, d = x.shape
        rows, columns = w.strict_lower(d)
        factor = np_.zeros((len(alpha), d, d)).at[:, rows, columns].set(low) + vmap(np_.diag)(np_.exp(q))
        z = np_.einsum("kij,nkj->nki", factor, x[:, None, :] - mu)
        t = alpha + q.sum(1) - 0.5 * (z**2).sum(2)
        lse = jax.scipy.special.logsumexp
        return lse(t, axis=1).sum() - n * lse(alpha) - 0.5 * ((np_.exp(q) ** 2).sum() + (low**2).sum())

    def rosenbrock(x: Any) -> Any:
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    def of_scalars(name: str) -> Callable[[Any], Any]:
        names = ("sqrt", "log", "exp", "sin", "cos")
        tools = SimpleNamespace(erf=jax.scipy.special.erf, **{name: getattr(np_, name) for name in names})
        return lambda v: np_.stack(SCALARS[name].function(tools, list(v)))

    def energy(q: Any, p: Any) -> Any:
        return of_scalars("P9")(np_.concatenate([q, p]))[0]

    def value_and_slopes(q: Any, p: Any) -> Any:
        value, (slope_q, slope_p) = jax.value_and_grad(energy, argnums=(0, 1))(q, p)
        return value, slope_q, slope_p

    def price(*v: Any) -> Any:
        return of_scalars("greeks")(v)[0]

    def density(t: Any, x: Any) -> Any:
        half, z = (t[0] + 1) / 2, (x - t[1]) / t[2]
        shape = jax.scipy.special.gammaln(half) - jax.scipy.special.gammaln(t[0] / 2) - np_.log(np_.pi * t[0]) / 2
        return shape - np_.log(t[2]) - half * np_.log1p(z**2 / t[0])

    def density_slopes(t: Any, x: Any) -> Any:
        return grad(density)(t, x), jax.hessian(density)(t, x)

    kinetics = jax.jacfwd(of_scalars("P10-1"))
    logdet = vmap(grad(lambda a: np_.linalg.slogdet(a)[1]))
    cases: dict[str, Any] = {
        f"P1-{n}": (logdet, functools.partial(w.logdet_data, n, b), w.logdet_reference)
        for n, b in ((4, 100_000), (8, 20_000), (64, 200), (500, 1))
    }
    cases |= {
        f"P4-{d}-{k}": (
            grad(mixture, argnums=(0, 1, 2, 3)),
            functools.partial(w.mixture_data, d, k, 1000),
            w.mixture_reference,
        )
        for d, k in ((2, 5), (10, 25), (20, 50))
    }
    cases |= {
        f"P6-{n}": (grad(rosenbrock), functools.partial(w.rosenbrock_data, n), w.rosenbrock_gradient_reference)
        for n in (4, 1000, 1_000_000)
    }
    cases |= {
        name: (_with_slopes(jax, kind), functools.partial(kind.data, kind.full), kind.reference)
        for name, kind in KINDS.items()
    }
    return cases | {
        "P2": (
            grad(lambda v, s, x: 0.5 * ((s - v @ x) ** 2).sum(), argnums=2),
            lambda: w.least_squares_data(16384, 128),
            w.least_squares_reference,
        ),
        "P3": (
            vmap(jax.jacrev(lambda x, y: jax.nn.log_softmax(x @ y))),
            lambda: w.policy_data(200_000),
            w.policy_reference,
        ),
        "P3-lse": (
            grad(jax.scipy.special.logsumexp), lambda: w.logsumexp_data(1_280_000), w.logsumexp_reference,
        ),
        "P5": (
            vmap(jax.jacfwd(bundle, argnums=(0, 1, 2))), lambda: w.bundle_data(200_000), w.bundle_reference,
        ),
        "P6-hessian": (jax.hessian(rosenbrock), lambda: w.rosenbrock_data(200), w.rosenbrock_hessian_reference),
        "P7": (
            jax.hessian(lambda x, y, t: jax.nn.softplus(-y * (x @ t)).sum(), argnums=2),
            lambda: w.logistic_data(2000, 1000),
            w.logistic_reference,
        ),
        "P8": (
            jax.jacfwd(lambda a, b: (a + b) @ (a * b).T, argnums=(0, 1)),
            lambda: w.products_data(10),
            w.products_reference,
        ),
        "P9": (vmap(value_and_slopes), lambda: w.three_body_data(1_000_000), w.three_body_reference),
        "P10-1": (kinetics, lambda: w.kinetics_data(0), w.kinetics_reference),
        "P10-100000": (vmap(kinetics), lambda: w.kinetics_data(100_000), w.kinetics_reference),
        "arm": (vmap(jax.jacfwd(of_scalars("arm"))), lambda: w.arm_data(100_000), w.arm_reference),
        "student": (vmap(density_slopes), lambda: w.student_data(100_000), w.student_reference),
        "greeks": (
            vmap(grad(price, argnums=(0, 1, 2, 3, 4))), lambda: w.options_data(1_000_000), w.options_reference,
        ),
    }


PEERS: dict[str, Callable[[Any, set[str]], None]] = {"jax": run_jax, "casadi": run_casadi, "heyoka": run_heyoka}


def main() -> None:
    """Run the cases named on the command line by every library that is installed."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--cases", nargs="+", required=True)
    options = parser.parse_args()
    for peer in options.peers:
        if importlib.util.find_spec(peer) is None:
            print(json.dumps({"peer": peer, "missing": True}), flush=True)
            continue
        library = importlib.import_module(peer)
        print(json.dumps({"peer": peer, "version": getattr(library, "__version__", "unknown")}), flush=True)
        PEERS[peer](library, set(options.cases))


if __name__ == "__main__":
    main()

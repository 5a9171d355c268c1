"""A posterior by samplers and by quadrature: the eight schools of Rubin (1981), whose reference draws posteriordb has.

The sampler of this file runs everywhere; nutpie, BlackJAX and emcee run where they are installed, as docs/samplers.md
has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd

Y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
SIGMA = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
DATA = {"y": Y, "sigma": SIGMA}
#: Means of posteriordb's 10,000 reference draws, and three times their standard errors.
PUBLISHED = {"mu": (4.41051833695493, 0.1), "tau": (3.60205952364059, 0.1)}


def schools() -> Any:
    """Return the posterior with effects in units of tau, so that the scale of its free numbers is one everywhere."""
    y, sigma = sd.vector("y", 8), sd.vector("sigma", 8)
    mu, tau, eta = sd.scalar("mu"), sd.scalar("tau", positive=True), sd.vector("eta", 8)
    norm = sd.stats.norm
    log_p = (
        norm.logpdf(y, mu + tau * eta, sigma).sum() + norm.logpdf(eta).sum()
        + norm.logpdf(mu, 0, 5) + sd.stats.cauchy.logpdf(tau, 0, 5)
    )  # fmt: skip
    return sd.density(log_p, [mu, tau, eta])


def integrated() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return means and deviations of mu, tau and the effects, by a sum over a grid of mu and log tau.

    Given these an effect is normal: precisions add up.
    """
    mu, log_tau = np.meshgrid(np.linspace(-25, 35, 401), np.linspace(-12, 6, 401), indexing="ij")
    tau = np.exp(log_tau)
    variance = SIGMA**2 + tau[..., None] ** 2
    log_p = -((Y - mu[..., None]) ** 2 / variance + np.log(variance)).sum(-1) / 2 - mu**2 / 50
    log_p += log_tau - np.log1p((tau / 5) ** 2)
    weights = np.exp(log_p - log_p.max())[..., None]
    weights /= weights.sum()
    share = tau[..., None] ** 2 / variance
    centre = np.concatenate([mu[..., None], tau[..., None], mu[..., None] + share * (Y - mu[..., None])], -1)
    spread = np.concatenate([np.zeros((*mu.shape, 2)), share * SIGMA**2], -1)
    mean = (weights * centre).sum((0, 1))
    return mean, np.sqrt((weights * (spread + (centre - mean) ** 2)).sum((0, 1)))


def agree(draws: dict[str, Any], chains: int) -> None:
    """Compare means and deviations of draws, chains first, with those of the integral, by the spread of the chains."""
    mu, tau, eta = (np.asarray(draws[name]) for name in ("mu", "tau", "eta"))
    found = np.concatenate([mu[..., None], tau[..., None], mu[..., None] + tau[..., None] * eta], -1)
    assert (found.shape[0], found.shape[-1]) == (chains, 10)
    mean, deviation = integrated()
    for want, got in ((mean, found.mean(1)), (mean**2 + deviation**2, (found**2).mean(1))):
        error = got.std(0, ddof=1) / np.sqrt(chains)
        assert (error < 0.3 * abs(want)).all(), error / want
        assert (abs(got.mean(0) - want) < 5 * error).all(), (got.mean(0), want, error)


def test_the_integral_has_the_means_of_the_reference_draws() -> None:
    mean, _ = integrated()
    for found, (want, error) in zip(mean, PUBLISHED.values(), strict=False):
        assert abs(found - want) < error


def test_hamiltonian_steps_with_value_and_gradient() -> None:
    d, rng, chains = schools(), np.random.default_rng(0), 400
    x = rng.normal(size=(chains, 10))
    value, slope = d.value_and_gradient(x, **DATA)
    kept = []
    for turn in range(500):
        step = 0.25 * rng.uniform(0.3, 1.0)
        p = rng.normal(size=x.shape)
        y, gradient, q = x, slope, p + step / 2 * slope
        for _ in range(12):
            y = y + step * q
            there, gradient = d.value_and_gradient(y, **DATA)
            q = q + step * gradient
        q = q - step / 2 * gradient
        odds = there - value + ((p * p).sum(1) - (q * q).sum(1)) / 2
        taken = np.log(rng.uniform(size=chains)) < odds
        x, slope = np.where(taken[:, None], y, x), np.where(taken[:, None], gradient, slope)
        value = np.where(taken, there, value)
        if turn >= 100:
            kept.append(x)
    agree(d.constrain(np.stack(kept, 1)), chains)


def test_scipy_finds_the_mode_and_the_curvature_there() -> None:
    from scipy.optimize import minimize

    d = schools()
    found = minimize(
        lambda x: -d.logp(x, **DATA), np.zeros(10), jac=lambda x: -d.gradient(x, **DATA),
        hess=lambda x: -d.hessian(x, **DATA), method="trust-exact",
    )  # fmt: skip
    assert found.success
    assert abs(d.gradient(found.x, **DATA)).max() < 1e-4
    assert (np.linalg.eigvalsh(d.hessian(found.x, **DATA)) < 0).all()
    nearby = found.x + 0.05 * np.random.default_rng(0).normal(size=(100, 10))
    assert (d.logp(nearby, **DATA) < -found.fun).all()


def test_emcee_takes_all_walkers_in_one_call() -> None:
    emcee = pytest.importorskip("emcee")
    d, chains = schools(), 40
    np.random.seed(1)  # noqa: NPY002 - emcee draws from NumPy's shared generator
    start = np.random.default_rng(1).normal(size=(chains, 10))
    sampler = emcee.EnsembleSampler(chains, 10, lambda x: d.logp(x, **DATA), vectorize=True)
    sampler.run_mcmc(start, 12_000)
    draws = sampler.get_chain(discard=2000).swapaxes(0, 1)
    # walkers depend on each other: parts of the run do not
    parts = draws.reshape(chains, 20, 500, 10).swapaxes(0, 1).reshape(20, chains * 500, 10)
    agree(d.constrain(parts), 20)


def test_nutpie_takes_value_and_gradient() -> None:
    nutpie = pytest.importorskip("nutpie")
    from nutpie.compiled_pyfunc import from_pyfunc

    d, chains = schools(), 8
    shapes = [part.shape for part in d.constrain(np.zeros(10)).values()]
    model = from_pyfunc(
        len(d.names),
        make_logp_fn=lambda: d.value_and_gradient,
        make_expand_fn=lambda *seeds: lambda x, **data: d.constrain(x),
        expanded_dtypes=[np.dtype("float64")] * len(shapes),
        expanded_shapes=shapes,
        expanded_names=list(d.transforms),
        shared_data=DATA,
    )
    trace = nutpie.sample(model, draws=1500, tune=500, chains=chains, seed=1, progress_bar=False)
    agree({name: trace.posterior[name].values for name in d.transforms}, chains)


def test_blackjax_takes_the_function_of_jax() -> None:
    blackjax, jax = pytest.importorskip("blackjax"), pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    d, chains = schools(), 8
    function = d.jax()
    nuts = blackjax.nuts(lambda x: function(x, Y, SIGMA), step_size=0.35, inverse_mass_matrix=np.ones(10))

    def chain(start: Any, key: Any) -> Any:
        def step(state: Any, one: Any) -> Any:
            state, _ = nuts.step(one, state)
            return state, state.position

        return jax.lax.scan(step, nuts.init(start), jax.random.split(key, 300))[1]

    starts = np.random.default_rng(2).normal(size=(chains, 10))
    run = jax.jit(chain)
    draws = [np.asarray(run(x, jax.random.key(i)))[100:] for i, x in enumerate(starts)]
    agree(d.constrain(np.stack(draws)), chains)


def test_the_function_of_jax_has_all_derivatives() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    d = schools()
    f, x = d.jax(), np.random.default_rng(3).normal(size=10)
    np.testing.assert_allclose(f(x, Y, SIGMA), d.logp(x, **DATA), rtol=1e-14)
    np.testing.assert_allclose(jax.jit(jax.grad(f))(x, Y, SIGMA), d.gradient(x, **DATA), rtol=1e-12)
    np.testing.assert_allclose(jax.hessian(f)(x, Y, SIGMA), d.hessian(x, **DATA), rtol=1e-11, atol=1e-12)
    many = np.stack([x, x + 0.1])
    np.testing.assert_allclose(jax.vmap(f, (0, None, None))(many, Y, SIGMA), d.logp(many, **DATA), rtol=1e-14)

r"""Models of published cells as their authors parametrize them (docs/theory.md, *Referee*).

All are sums over n records with Laplace noise, so that weights and chains over records apply:

| family | records | priors |
|---|---|---|
| regression-conjugate | $x \sim N(\mu, 1/\Phi)$, $y \sim N(b_0 + b_1 x, 1/\tau)$ | $\mu \sim N(0, 1)$, $\Phi \sim \chi^2_2$, $\tau \sim$ Exp(1), $b_j \sim N(0, 1/\tau)$ |
| regression-non-conjugate | the same | $\mu, b_j \sim t_2$, $\Phi \sim \lvert t_2 \rvert$, $\tau \sim$ Weibull(2, 1.25) |
| location-scale-deviation | $N(\mu, \sigma^2)$ | $\mu \sim N(0, 4^2)$, $\sigma \sim$ InverseGamma(1, 1/2) |
| location-scale-variance | the same | the same of $\sigma^2$ in place of $\sigma$ |
| two-covariates | $x \sim N((0.9, -1.17), I_2)$, $y \sim N(b_0 + b_1 x_1 + b_2 x_2, \sigma^2)$ | $\sigma^2 \sim$ InverseGamma(10, 10), $b_j \sim N(0, 2 \sigma^2)$ |
| time-use | Dirichlet($\alpha$), three shares | $\alpha_j \sim$ Exp(mean 10) |
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from abcdp_core.models.priors import (
    Distribution,
    Gamma,
    InverseGamma,
    Normal,
    Prior,
    StudentT,
    Weibull,
    chi_square,
)
from abcdp_core.posterior.model import Records
from abcdp_core.posterior.published.models import Model

Array = NDArray[np.float64]

LEAST = 0.0006944
"""A share of the day below this, one minute, counts as this."""


def _clipped(values: Array, bound: float) -> Array:
    return np.clip(values, -bound, bound) / bound


class _Sums:
    """Records ``(..., n, d)``, their contributions, and the density of all."""

    def __init__(self, n: int) -> None:
        self.n = n

    def draw(self, rng: np.random.Generator, theta: Array) -> Array:
        """Return records ``(n, d)`` at parameters ``(p,)``."""
        return self.many(rng, theta[None])[0]

    def simulate(self, rng: np.random.Generator, theta: Array) -> Array:
        """Return sums ``(m, k)`` of data sets at parameters ``(m, p)``."""
        # Heavy tails of a prior reach values whose squares are not finite; clipping takes care.
        with np.errstate(over="ignore", invalid="ignore"):
            return self.contributions(self.many(rng, theta)).sum(axis=-2)

    def many(self, rng: np.random.Generator, theta: Array) -> Array:
        """Return records ``(m, n, d)``."""
        raise NotImplementedError

    def contributions(self, records: Array) -> Array:
        """Return contributions ``(..., n, k)``."""
        raise NotImplementedError


class Regression(_Sums):
    """One covariate, whose distribution is unknown, too."""

    def __init__(self, n: int, scaled: bool) -> None:
        super().__init__(n)
        self.scaled = scaled

    def coefficients(self, theta: Array) -> tuple[Any, Any]:
        """Return intercept and slope, in units of the residual deviation where the prior is."""
        unit = np.sqrt(theta[..., 2]) if self.scaled else 1.0
        return theta[..., 3] / unit, theta[..., 4] / unit

    def slope(self, theta: Array) -> Array:
        """Return the slope ``(m,)``."""
        return np.asarray(self.coefficients(theta)[1])

    def many(self, rng: np.random.Generator, theta: Array) -> Array:
        """Return records ``(m, n, d)``."""
        mu, phi, tau = (theta[:, j, None] for j in range(3))
        b0, b1 = (each[:, None] for each in self.coefficients(theta))
        normal = rng.standard_normal((2, len(theta), self.n))
        x = mu + normal[0] / np.sqrt(phi)
        return np.stack([x, b0 + b1 * x + normal[1] / np.sqrt(tau)], axis=-1)

    def contributions(self, records: Array) -> Array:
        """Return contributions ``(..., n, k)``."""
        x, y = (_clipped(records[..., j], 5.0) for j in range(2))
        return np.stack([y, x * y, y * y, x, x * x], axis=-1)

    def statistics(self, records: Array) -> Array:
        """Return sums of products of 1, x and y ``(3, 3)``."""
        design = np.column_stack([np.ones(self.n), records])
        return design.T @ design

    def log_density(self, theta: Array, known: Array) -> float:
        """Return the log density of all records, up to a constant."""
        mu, phi, tau = theta[:3].tolist()
        if not (0.0 < phi < math.inf and 0.0 < tau < math.inf):
            return -math.inf
        b0, b1 = self.coefficients(theta)
        of_x, of_y = np.array([-mu, 1.0, 0.0]), np.array([-b0, -b1, 1.0])
        log = 0.5 * self.n * (math.log(phi) + math.log(tau))
        return float(log - 0.5 * (phi * (of_x @ known @ of_x) + tau * (of_y @ known @ of_y)))


class LocationScale(_Sums):
    """A normal distribution, whose second parameter is a power of its deviation."""

    def __init__(self, n: int, power: float) -> None:
        super().__init__(n)
        self.power = power

    def many(self, rng: np.random.Generator, theta: Array) -> Array:
        """Return records ``(m, n, d)``."""
        deviation = theta[:, 1:] ** (1.0 / self.power)
        return (theta[:, :1] + deviation * rng.standard_normal((len(theta), self.n)))[..., None]

    def contributions(self, records: Array) -> Array:
        """Return contributions ``(..., n, k)``."""
        x = _clipped(records[..., 0], 5.0)
        return np.stack([x, x * x], axis=-1)

    def statistics(self, records: Array) -> tuple[float, float]:
        """Return mean and sum of squares around it."""
        mean = float(records.mean())
        return mean, float(((records - mean) ** 2).sum())

    def log_density(self, theta: Array, known: tuple[float, float]) -> float:
        """Return the log density of all records, up to a constant."""
        if not 0.0 < theta[1] < math.inf:
            return -math.inf
        mean, squares = known
        log = math.log(theta[1]) / self.power
        around = squares + self.n * (mean - float(theta[0])) ** 2
        return -self.n * log - 0.5 * around * math.exp(-2.0 * log)


class TwoCovariates(_Sums):
    """Two covariates with a known distribution."""

    def coefficients(self, theta: Array) -> Array:
        """Return coefficients ``(..., 3)``, whose prior is in units of the residual deviation."""
        return np.asarray(theta[..., :3] * np.sqrt(theta[..., 3:]))

    def one(self, j: int, theta: Array) -> Array:
        """Return coefficient j ``(m,)``."""
        return self.coefficients(theta)[:, j]

    def many(self, rng: np.random.Generator, theta: Array) -> Array:
        """Return records ``(m, n, d)``."""
        normal = rng.standard_normal((len(theta), self.n, 3))
        records = normal + np.array([0.9, -1.17, 0.0])
        b = self.coefficients(theta)[:, None, :]
        fitted = b[..., 0] + b[..., 1] * records[..., 0] + b[..., 2] * records[..., 1]
        records[..., 2] = fitted + np.sqrt(theta[:, 3:]) * normal[..., 2]
        return records

    def contributions(self, records: Array) -> Array:
        """Return contributions ``(..., n, k)``."""
        u, v, y = (_clipped(records[..., j], 6.0) for j in range(3))
        parts = [y, u * y, v * y, y * y, u, v, u * u, u * v, v * v]
        return np.stack(parts, axis=-1) / self.n

    def statistics(self, records: Array) -> Array:
        """Return sums of products of 1, both covariates and y ``(4, 4)``."""
        design = np.column_stack([np.ones(self.n), records])
        return design.T @ design

    def log_density(self, theta: Array, known: Array) -> float:
        """Return the log density of all records, up to a constant."""
        variance = float(theta[3])
        if not 0.0 < variance < math.inf:
            return -math.inf
        residual = np.append(-self.coefficients(theta), 1.0)
        squares = float(residual @ known @ residual)
        return -0.5 * (self.n * math.log(variance) + squares / variance)


class TimeUse(_Sums):
    """Three shares of a day."""

    def many(self, rng: np.random.Generator, theta: Array) -> Array:
        """Return records ``(m, n, d)``."""
        gamma = rng.standard_gamma(theta[:, None, :], (len(theta), self.n, 3))
        return gamma / gamma.sum(axis=-1, keepdims=True)

    def contributions(self, records: Array) -> Array:
        """Return contributions ``(..., n, k)``."""
        return np.log(np.maximum(records, LEAST)) / self.n

    def statistics(self, records: Array) -> Array:
        """Return sums of logarithms ``(3,)``."""
        # Shares that underflow are as small as numbers go.
        return np.log(np.maximum(records, 1e-300)).sum(axis=0)

    def log_density(self, theta: Array, known: Array) -> float:
        """Return the log density of all records, up to a constant."""
        if not (theta > 0.0).all():
            return -math.inf
        constant = gammaln(theta.sum()) - gammaln(theta).sum()
        return float(self.n * constant + (theta - 1.0) @ known)


def _made(
    sums: Any, parameters: str, numbers: str, laws: tuple[Distribution, ...], report: dict[str, Any]
) -> Model:
    return Model(
        tuple(parameters.split()),
        tuple(numbers.split()),
        Prior(laws),
        sums.simulate,
        chunk=max(20, 200_000 // sums.n),
        title="published cell",
        report=report,
        records=Records(sums.draw, sums.contributions, sums.statistics, sums.log_density),
    )


def _regression(scaled: bool, n: int) -> Model:
    t2 = StudentT(2.0)
    conjugate = (Normal(0.0, 1.0), chi_square(2.0), Gamma(1.0, 1.0), *[Normal(0.0, 1.0)] * 2)
    other = (t2, StudentT(2.0, half=True), Weibull(2.0, 1.25), t2, t2)
    sums = Regression(n, scaled)
    numbers, report = "y x*y y*y x x*x", {"slope": sums.slope}
    return _made(sums, "mu Phi tau a0 a1", numbers, conjugate if scaled else other, report)


def _location_scale(power: float, name: str, n: int) -> Model:
    laws = (Normal(0.0, 4.0), InverseGamma(1.0, 0.5))
    return _made(LocationScale(n, power), f"mu {name}", "x x*x", laws, {})


def _two_covariates(n: int) -> Model:
    sums = TwoCovariates(n)
    report = {f"b{j}": partial(sums.one, j) for j in range(3)}
    laws = (*[Normal(0.0, math.sqrt(2.0))] * 3, InverseGamma(10.0, 10.0))
    numbers = "y u*y v*y y*y u v u*u u*v v*v"
    return _made(sums, "a0 a1 a2 variance", numbers, laws, report)


def _time_use(n: int) -> Model:
    return _made(TimeUse(n), "a1 a2 a3", "care food other", (Gamma(1.0, 10.0),) * 3, {})


def _eight(_: int, epsilon: float) -> float:
    return 8.0 / epsilon


def _three(_: int, epsilon: float) -> float:
    return 3.0 / epsilon


def _thirteen(n: int, epsilon: float) -> float:
    return 13.0 / (n * epsilon)


def _of_shares(n: int, epsilon: float) -> float:
    return -3.0 * math.log(LEAST) / (n * epsilon)


@dataclass(frozen=True)
class Family:
    """Cells that differ in n and ε only.

    Attributes:
        model: of n records.
        scale: of the Laplace noise of n records and ε.
        outputs: that the authors report, as they parametrize them.
    """

    model: Callable[[int], Model]
    scale: Callable[[int, float], float]
    outputs: tuple[str, ...]


FAMILIES = {
    "regression-conjugate": Family(partial(_regression, True), _eight, ("slope", "tau")),
    "regression-non-conjugate": Family(partial(_regression, False), _eight, ("slope", "tau")),
    "location-scale-deviation": Family(
        partial(_location_scale, 1.0, "sigma"), _three, ("mu", "sigma")
    ),
    "location-scale-variance": Family(
        partial(_location_scale, 2.0, "variance"), _three, ("mu", "variance")
    ),
    "two-covariates": Family(_two_covariates, _thirteen, ("b0", "b1", "b2", "variance")),
    "time-use": Family(_time_use, _of_shares, ("a1", "a2", "a3")),
}

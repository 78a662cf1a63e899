r"""What does a noisy distance reveal, and how much noise does a budget require?

Two older versions of ABCDP ([P22]) add Gaussian noise to the distance of every draw. *Rejection*
decides by it, $\min(\rho_t, B_\rho) + N(0, \sigma^2) \le \epsilon_{abc}$. *Soft weights* use it in
units of the threshold, $\rho_t / \epsilon_{abc} + N(0, \sigma^2)$. Nothing is simulated here:
everything follows from formulas.

*At the same σ, is a larger threshold more private?* For soft weights it is. Their loss is the Rényi
divergence of order $\alpha$ of one noisy distance,

$$\epsilon'(\alpha) = \frac{\alpha}{2} \Bigl(\frac{\Delta}{\sigma\,\epsilon_{abc}}\Bigr)^2
\qquad \text{(MATH W2)}$$

shown at $\alpha = 2$. But dividing by a larger threshold adds more noise to the distance: in units
of the distance the noise is $\sigma\,\epsilon_{abc}$.

A rejection decision reveals most when its rarest outcome occurs, by the paper's bound (MATH R1) and
exactly (MATH R2). Below $\epsilon_{abc} = B_\rho / 2$ this is keeping a draw at $\rho = B_\rho$;
above it, rejecting one at $\rho = 0$. So the loss falls up to half the bound and then rises.

*For the same budget* over all $T$ draws, rejection under pure differential privacy needs noise
proportional to $T$; soft weights with a $\delta$ need noise proportional to $\sqrt{T}$. The second
table has both in units of the distance.
"""

from __future__ import annotations

from dataclasses import dataclass

from abcdp_core import figures as fig
from abcdp_core.base import parameters as par
from abcdp_core.base.sentences import from_to, plain, ranges
from abcdp_core.base.summaries import first_of
from abcdp_core.figures.lines import Lines
from abcdp_core.mechanisms import gaussian_rejection as rejection
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.privacy import GaussianSeries, gaussian_series
from abcdp_core.studies.engine import BaseParams, CellTable, Result, Settings, Study, scale

EXPERIMENT = "gaussian-loss"
TITLE = "What a noisy distance reveals, by its threshold"

ORDER = 2.0  # Order α of the Rényi divergence shown

SIGMA = scale(
    "σ · standard deviation of the noise",
    "Added to the clipped distance (rejection) or to the distance over ε_abc (soft weights).",
    (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
    low=0.001,
    high=100.0,
)
BOUND = scale(
    "B_ρ · bound at which distances are clipped",
    "Distances are at most √2; the published account assumes at most 2.",
    (0.05, 0.1, 0.2, 0.5, 1.0, 1.4, 2.0),
    low=0.01,
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Lists of settings, of which every combination is computed."""

    epsilon_abc: tuple[float, ...] = MIXTURE.epsilon_abc.field(
        (0.01, 0.02, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
    )
    bound: tuple[float, ...] = BOUND.field((0.2, 0.5))
    sigma: tuple[float, ...] = SIGMA.field((0.1,))
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((par.EPSILON_TOTAL_DEFAULT,))
    delta: float = par.DELTA.field(1e-4)
    n: tuple[int, ...] = MIXTURE.n.field((MIXTURE.n_default,))
    pool_size: int = par.POOL_SIZE.field(1000)
    sensitivity: str = par.SENSITIVITY.field("sharp")


def losses(_: None, at: Settings) -> dict[str, float]:
    """Return Δ, ε of one decision by both accounts, and the Rényi divergence of one weight."""
    change = MIXTURE.distance().sensitivity(at.n, at.sensitivity)
    decision = rejection.GaussianRejection(change, at.bound, at.epsilon_abc, at.sigma, 1)
    mu = gaussian_series.joint_mu(GaussianSeries(change / at.epsilon_abc, at.sigma, 1))
    by_accountant = {
        each: rejection.decision_epsilon(decision, each) for each in rejection.ACCOUNTANTS
    }
    return by_accountant | {"sensitivity": change, "renyi": ORDER * mu**2 / 2.0}


def scales(_: None, at: Settings) -> dict[str, float]:
    """Return the noise on a distance, for decisions and for weights by both accounts."""
    change = MIXTURE.distance().sensitivity(at.n, at.sensitivity)

    def weight(change: float, account: str) -> float:
        return gaussian_series.calibrate(
            at.epsilon_total, at.delta, at.pool_size, change, account
        ).scale

    asked = at.epsilon_total, change, at.bound, at.epsilon_abc, at.pool_size
    decisions = {each: rejection.calibrate(*asked, each).scale for each in rejection.ACCOUNTANTS}
    return decisions | {
        "soft_published": weight(change, "rdp-classic"),
        "soft_exact": weight(change, "exact"),
        "soft_scaled": weight(change / at.epsilon_abc, "rdp-classic"),
    }


def least_loss(result: Result) -> tuple[str, str]:
    """Say at which threshold a decision reveals least."""
    part = first_of(result.tables["main"], "n", "bound", "sigma")
    least, weight = part.iloc[part.exact.argmin()], part.iloc[part.renyi.argmin()]
    at = f"ε_abc = {least.epsilon_abc:,g}"
    title = f"A decision reveals least at {at}, a weight at ε_abc = {weight.epsilon_abc:,g}"
    if len(part) == 1:
        title = f"Privacy loss of one draw at {at}"
    loss = f"With B_ρ = {least.bound:g}, a decision reveals ε = {plain(least.exact, 2)} at {at}"
    if len(part) > 1:
        loss += ", the least of the thresholds shown"
    return title, f"{loss}. The loss is smallest at ε_abc = B_ρ / 2 = {least.bound / 2:g}."


def noise_needed(result: Result) -> tuple[str, str]:
    """Say how much more noise decisions need than weights, by the exact account."""
    part = first_of(result.tables["noise"], "n", "epsilon_total")
    times = from_to(part.exact / part.soft_exact, 2)
    part = first_of(part, "bound")
    return f"Decisions need {times} times the noise of soft weights", (
        f"With ε_total = {part.epsilon_total.iloc[0]:,g}, the standard deviation of the noise on a "
        f"distance {ranges(part.exact, 2)} for a decision with B_ρ = {part.bound.iloc[0]:g} "
        f"and {ranges(part.soft_exact, 2)} for a weight."
    )


REJECTION, SOFT = (fig.mechanism(name) for name in ("gaussian-rejection", "soft-weights"))
DECISIONS = {
    "published": REJECTION.called("rejection, published bound", dash="dash"),
    "exact": REJECTION.called("rejection, exact"),
}
DIVERGENCE = SOFT.called("soft weights, Rényi divergence of order 2", marker="diamond")
WEIGHTS = {
    "soft_published": SOFT.called("soft weights, published", dash="dash", marker="diamond"),
    "soft_exact": SOFT.called("soft weights, exact", marker="triangle-up"),
}
HALF = fig.GUIDE.called("half of B_ρ"), lambda part: part.bound.iloc[0] / 2.0

STUDY = Study(
    EXPERIMENT,
    Params,
    tables={
        "main": CellTable("n bound epsilon_abc sigma sensitivity published exact renyi", losses),
        "noise": CellTable(
            "n bound epsilon_abc epsilon_total delta published exact soft_published soft_exact "
            "soft_scaled",
            scales,
        ),
    },
    says=lambda result: f"{least_loss(result)[1]} {noise_needed(result)[1]}",
    privacy="Uses no private data: everything here follows from formulas.",
    views={
        "loss": Lines(
            DECISIONS | {"renyi": DIVERGENCE},
            x="epsilon_abc",
            at=("n", "sigma"),
            says=least_loss,
            y_title="privacy loss of one draw",
            guide=HALF,
        ),
        "noise": Lines(
            DECISIONS | WEIGHTS,
            x="epsilon_abc",
            table="noise",
            at=("n", "epsilon_total"),
            says=noise_needed,
            settings=("pool_size",),
            y_title="noise on a distance",
            guide=HALF,
        ),
    },
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()

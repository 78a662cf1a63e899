r"""What can be learned privately about the spread of tuberculosis?

[P21] Section 6.3: the data are $n$ outbreaks, all simulated at one truth, and differential privacy
protects *one outbreak*. The distance of a prior draw is the mean over $n$ pairs of simulated and
observed outbreaks of their clipped distance,

$$\rho_t = \frac1n \sum_{j=1}^n \min(d(Y_{t,j}, Y^*_j),\, C), \qquad \Delta = \frac{C}{n},
\quad C = 200 \qquad \text{(MATH M7)}$$

so the noise of ABCDP (MATH S2) decreases with $n$: with $c = 10$ and $\epsilon_{total} = 1$ its
scale is 22 for $n = 100$ and 2.2 for $n = 1000$, where prior distances differ by some 20. That is
the sensitivity in the published script. The paper's text has $\Delta = C$, for a distance that is
clipped as a whole; the noise then does not decrease with $n$.

The paper does not say how many runs its errors are averaged over. Here ten observed data sets,
numbered 0 to 9, meet one public pool, each in its own order, and each is released repeatedly. Runs
of one data set differ only in their *noise*. Data sets differ in the *data* and in which draws come
first, which matters more: ten kept draws are a small sample even without noise.

The error is the mean absolute difference between posterior mean and truth over four parameters in
their own units, where $\beta$ and $t_1$ count most; scaled, each is divided by its prior standard
deviation. The *prior mean* uses no data at all: an estimate that is not better has learned nothing.
The papers on privacy give $\beta$ the prior variance 30, the original model the standard deviation
30; both pools are available.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base import parameters as par
from abcdp_core.base.sentences import amount, listed, ranges, setting, settings_line
from abcdp_core.base.streams import generator
from abcdp_core.base.summaries import empty_note, first_of
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models import pool
from abcdp_core.models.simulators import tuberculosis
from abcdp_core.models.simulators.tuberculosis import SCENARIO as TUBERCULOSIS
from abcdp_core.run.tasks import SingleTask, single_task
from abcdp_core.studies.engine import (
    BaseParams,
    Parameter,
    Result,
    Tables,
    choice,
    columns,
    outbreaks,
)

EXPERIMENT = "tuberculosis-posterior"
TITLE = "Private posterior of a tuberculosis model"
MAY_BE_LONG = True
COLUMNS = columns(
    main="n resample observed_set run release sample parameter value",
    errors="n resample observed_set run accepted mae mae_scaled prior_mae",
    non_private="n observed_set accepted mae mae_scaled",
    prior="sample parameter value",
    counts="what count",
)

PAPER = {(100, True): 4.71, (1000, True): 2.20, (100, False): 4.51, (1000, False): 2.10}
"""(n, resample) -> the error that [P21] Figure 5 reports."""

OBSERVED_SET = Parameter(
    kind="integer",
    label="Observed data sets",
    help="Numbers of synthetic data sets, all simulated at the same truth.",
    low=0,
    high=9,
    options=tuple(range(10)),
)
ORDER = choice(
    "Order of the pool",
    "own: each data set meets the draws in its own order. same: all use the order of the pool.",
    ("own", "same"),
)
SENSITIVITY_OF = choice(
    "Sensitivity",
    "mean: C/n, the most that one outbreak changes the mean of n clipped distances. term: C, as in "
    "the paper's text, for a distance clipped as a whole; far too much noise here.",
    ("mean", "term"),
)
SIZES = dataclasses.replace(TUBERCULOSIS.n, low=100, options=(100, 1000))


@dataclass(frozen=True)
class Params(BaseParams):
    """Lists of settings, of which all combinations share the same noise, scaled."""

    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    epsilon_abc: float = TUBERCULOSIS.epsilon_abc.field(TUBERCULOSIS.epsilon_abc_default)
    c: int = par.C.field(TUBERCULOSIS.c_default)
    n: tuple[int, ...] = SIZES.field((100, 1000))
    pool_size: int = TUBERCULOSIS.pool_size.field(TUBERCULOSIS.pool_size_default)
    resample: tuple[bool, ...] = par.RESAMPLE.field((True, False))
    observed_set: tuple[int, ...] = OBSERVED_SET.field(tuple(range(10)))
    order: str = ORDER.field("own")
    sensitivity_of: str = SENSITIVITY_OF.field("mean")
    burden: str = tuberculosis.BURDEN.field("variance 30")
    runs: int = par.RUNS.field(30)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse more kept draws than the pool has, or too large a result."""
        par.check_accepted(self.c, self.pool_size)
        releases = len(self.n) * len(self.resample) * len(self.observed_set)
        par.check_rows(self.runs, releases * self.c * len(TUBERCULOSIS.axes))

    def event(self, n: int, resample: bool) -> sparse_vector.SparseVector:
        """Return what a release of one size does with the data."""
        distance = TUBERCULOSIS.distance()
        sensitivity = distance.sensitivity(n if self.sensitivity_of == "mean" else 1)
        return sparse_vector.calibrate(self.epsilon_total, sensitivity, self.c, resample=resample)


PRESETS: dict[str, BaseParams] = {"p21-figure-5": Params(epsilon_total=1.0)}

tasks = single_task


def work(task: SingleTask[Params]) -> Tables:
    """Release every data set at every size repeatedly, each time with new noise."""
    params = task.params
    theta, places, samples, estimates = np.empty((0, 4)), [], [], []
    for n, number in itertools.product(params.n, params.observed_set):
        order = pool.order(task.seed, number if params.order == "own" else 0, params.pool_size)
        theta, rho = tuberculosis.precomputed(params.pool_size, n, number, params.burden)
        asked = rho[order], params.epsilon_abc
        release, _ = sparse_vector.non_private(*asked, params.c)
        releases = [((n, False, number, 0, "non-private"), release)]
        for resample, run in itertools.product(params.resample, range(params.runs)):
            rng = generator(task.seed, "noise", run, number, params.noise_draw)
            release, _ = sparse_vector.run(*asked, params.event(n, resample), rng)
            releases.append(((n, resample, number, run, "private"), release))
        for place, release in releases:
            kept = order[release.indices]
            prior = tuberculosis.PRIORS[params.burden].mean
            places.append((*place, len(kept)))
            samples.append(kept)
            estimates.append(theta[kept].mean(axis=0) if len(kept) else prior)
    names = list(COLUMNS["main"][:5])
    rows = pd.DataFrame(places, columns=[*names, "accepted"]).assign(
        **outbreaks.errors(np.array(estimates), params.burden),
        prior_mae=outbreaks.prior_error(params.burden),
    )
    drawn, each = np.concatenate(samples), rows.loc[rows.index.repeat(rows.accepted), names]
    columns = {name: each[name].to_numpy() for name in names}
    bare = rows.release == "non-private"
    return {
        "main": outbreaks.by_parameter(theta[drawn], **columns, sample=drawn),
        "errors": rows.loc[~bare, list(COLUMNS["errors"])].reset_index(drop=True),
        "non_private": rows.loc[bare, list(COLUMNS["non_private"])].reset_index(drop=True),
        "prior": outbreaks.by_parameter(theta, sample=np.arange(len(theta))),
        "counts": tuberculosis.shipped_counts(params.burden),
    }


def collect(params: Params, rows: Tables) -> Result:
    """Add the summary and what a release guarantees."""
    event = params.event(max(params.n), params.resample[0])
    privacy = outbreaks.guarantee(event, "One outbreak is")
    summary = _error_words(rows)[1] + empty_note(rows["errors"].accepted)
    return Result(EXPERIMENT, params, rows, summary, privacy, event)


def spreads(errors: pd.DataFrame) -> pd.DataFrame:
    """Split the spread of errors by source, for every size and ``resample``.

    Columns: ``noise``, the standard deviation between runs of one data set; ``data``, the standard
    deviation between the expected errors of data sets, by data and order of the pool.
    """
    case = ["n", "resample"]
    sets = errors.groupby([*case, "observed_set"]).mae.agg(["mean", "var", "count"])
    noise, count = sets["var"].groupby(case).mean(), sets["count"].groupby(case).first()
    data = sets["mean"].groupby(case).var() - noise / count
    table = pd.DataFrame({"noise": np.sqrt(noise), "data": np.sqrt(data.clip(lower=0.0))})
    return table.reset_index()


def _error_words(tables: Tables) -> tuple[str, str]:
    """Say what noise does to the mean error, for the first value of ``resample``."""
    errors = first_of(tables["errors"], "resample")
    kept = f" with a {setting('resample', errors['resample'].iloc[0])}"
    return outbreaks.error_words(errors, tables["non_private"], "n", kept)


def _spread_words(tables: Tables) -> tuple[str, str]:
    """Report the spread of errors of single releases at the first size, and its sources."""
    errors = first_of(tables["errors"], "resample", "n")
    first, row = errors.iloc[0], spreads(errors).iloc[0]
    at = f"At {setting('n', first.n)} with a {setting('resample', first['resample'])}"
    sources = {"noise": "the noise", "data": "the data"}
    known = [f"{amount(row[by], 2)} due to {name}" for by, name in sources.items() if row[by] >= 0]
    middle = ranges(errors.mae.quantile([0.1, 0.9]), 2)
    return f"At {setting('n', first.n)}, the middle 80 % of errors {middle}", (
        f"{at}, the standard deviation of the error is {listed(known or ['unknown'])}."
    )


(SERIES,) = fig.styles(["reported by [P21]"])
REPORTED = SERIES.called(SERIES.name, marker="diamond")


def figures(result: Result) -> dict[str, fig.CaptionedFigure]:
    """Draw the kept values of each parameter and the errors, with and without noise."""
    params = cast(Params, result.params)
    private, plain = (result.tables[name] for name in ("errors", "non_private"))
    names = ("epsilon_total", "c", "epsilon_abc")
    settings = settings_line(params, names, runs=params.runs)
    title, sentence = _error_words(result.tables)
    values = outbreaks.values_figure((title, settings), _values(result), params.burden)
    (preset,) = PRESETS.values()
    same = all(vars(params)[name] == vars(preset)[name] for name in names)
    spread, where_from = _spread_words(result.tables)
    cases = zip(private.n, private["resample"], strict=True)
    errors = outbreaks.error_figure(
        (spread, settings),
        [_label(n, kept) for n in params.n for kept in (*params.resample, None)],
        {
            fig.PRIVATE: ([_label(*case) for case in cases], private.mae),
            fig.NON_PRIVATE: ([_label(n) for n in plain.n], plain.mae),
        },
        {REPORTED: {_label(*case): error for case, error in PAPER.items()} if same else {}},
        {fig.PRIOR_MEAN: private.prior_mae.iloc[0]},
    )
    shown = {"posterior": (values, sentence), "error": (errors, where_from)}
    return {name: fig.CaptionedFigure(*each) for name, each in shown.items()}


def _label(n: int, resample: bool | None = None) -> str:
    noisy = "new thresholds" if resample else "fixed threshold"
    return f"{setting('n', n)}, {'no noise' if resample is None else noisy}"


def _values(result: Result) -> list[outbreaks.Values]:
    """Return the kept values at each size, with and without noise, and the prior's."""
    params, main = cast(Params, result.params), result.tables["main"]
    bare = main.release == "non-private"
    rows: list[outbreaks.Values] = []
    for n, resample in itertools.product(params.n, (*params.resample, None)):
        chosen = bare if resample is None else ~bare & (main["resample"] == resample)
        style = fig.NON_PRIVATE if resample is None else fig.PRIVATE
        rows.append((_label(n, resample), style, main[chosen & (main.n == n)]))
    return [*rows, ("prior", fig.PRIOR, result.tables["prior"])]

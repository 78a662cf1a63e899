r"""What can be learnt privately about the spread of tuberculosis?

[P21] Section 6.3: the data are $n$ outbreaks, all simulated at one truth; differential privacy
protects *one outbreak*. The distance of a prior draw is the mean over $n$ simulated outbreaks of
their clipped distance to the observed ones, in pairs,

$$\rho_t = \frac1n \sum_{j=1}^n \min(d(Y_{t,j}, Y^*_j),\, C), \qquad \Delta = \frac{C}{n},
\quad C = 200 \qquad \text{(MATH M7)}$$

so the noise of ABCDP (MATH S2) falls with $n$: with $c = 10$ and $\epsilon_{total} = 1$ its scale
is 22 for $n = 100$ and 2.2 for $n = 1000$, where the distances of the prior differ by some 20.
That is the sensitivity of the published script. The paper's text has $\Delta = C$, for a distance
that is clipped as a whole; the noise then does not fall with $n$.

The paper does not say how many runs its errors rest on. Here ten observed data sets, numbered 0 to
9, meet one public pool, each in its own order, and each is released again and again. Runs of one
data set differ in their *noise* alone, data sets in the *data* and in which draws come first. That
matters more: ten accepted draws are a small sample even without noise.

The error is the mean absolute difference of posterior mean and truth over four parameters in their
own units, in which $\beta$ and $t_1$ count most; scaled, each is divided by its prior standard
deviation. The *prior mean* needs no data at all: an estimate that is not better has learnt nothing.
The papers on privacy give $\beta$ the prior variance 30 where the original model has the standard
deviation 30; both pools are here.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core import pool
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.sentences import amount, from_to, listed, setting, settings_line
from abcdp_core.simulators import tuberculosis
from abcdp_core.streams import generator
from abcdp_core.study import BaseParams, Parameter, Result, Tables, choice, columns, outbreaks
from abcdp_core.summaries import empty_note, first_of
from abcdp_core.tasks import SingleTask, single_task

EXPERIMENT = "tuberculosis-posterior"
TITLE = "Parameters of a tuberculosis outbreak, released privately"
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
    help="Numbers of the synthetic data sets, all simulated at the same truth.",
    low=0,
    high=9,
    options=tuple(range(10)),
)
ORDER = choice(
    "Order of the pool",
    "own: every data set meets the draws in another order. same: all in the pool's own.",
    ("own", "same"),
)
SENSITIVITY_OF = choice(
    "Sensitivity",
    "mean: C/n, what one outbreak changes the mean of n clipped distances by. term: C, as for "
    "a distance that is clipped as a whole; the paper's text, and far too much noise here.",
    ("mean", "term"),
)
SIZES = dataclasses.replace(tuberculosis.N, low=100, options=(100, 1000))


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of the lists is run on the same noise, scaled."""

    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    epsilon_abc: float = tuberculosis.EPSILON_ABC.field(tuberculosis.EPSILON_ABC_DEFAULT)
    c: int = par.C.field(tuberculosis.C_DEFAULT)
    n: tuple[int, ...] = SIZES.field((100, 1000))
    pool_size: int = tuberculosis.POOL_SIZE.field(tuberculosis.POOL_SIZE_DEFAULT)
    resample: tuple[bool, ...] = par.RESAMPLE.field((True, False))
    observed_set: tuple[int, ...] = OBSERVED_SET.field(tuple(range(10)))
    order: str = ORDER.field("own")
    sensitivity_of: str = SENSITIVITY_OF.field("mean")
    burden: str = tuberculosis.BURDEN.field("variance 30")
    runs: int = par.RUNS.field(30)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse more acceptances than draws, or too large a result."""
        par.check_accepted(self.c, self.pool_size)
        releases = len(self.n) * len(self.resample) * len(self.observed_set)
        par.check_rows(self.runs, releases * self.c * len(tuberculosis.AXES))

    def event(self, n: int, resample: bool) -> sparse_vector.SparseVector:
        """What a release of one size does with the data."""
        distance = tuberculosis.distance()
        sensitivity = distance.sensitivity(n if self.sensitivity_of == "mean" else 1)
        return sparse_vector.calibrate(self.epsilon_total, sensitivity, self.c, resample=resample)


PRESETS: dict[str, BaseParams] = {"p21-figure-5": Params(epsilon_total=1.0)}

tasks = single_task


def work(task: SingleTask[Params]) -> Tables:
    """Release every data set at every size, again and again with other noise."""
    params = task.params
    theta, places, samples, estimates = np.empty((0, 4)), [], [], []
    for n, number in itertools.product(params.n, params.observed_set):
        order = pool.order(task.seed, number if params.order == "own" else 0, params.pool_size)
        theta, rho = tuberculosis.precomputed(params.pool_size, n, number, params.burden)
        asked = rho[order], params.epsilon_abc
        release, _ = sparse_vector.non_private(*asked, params.c)
        found = [((n, False, number, 0, "non-private"), release)]
        for resample, run in itertools.product(params.resample, range(params.runs)):
            rng = generator(task.seed, "noise", run, number, params.noise_draw)
            release, _ = sparse_vector.run(*asked, params.event(n, resample), rng)
            found.append(((n, resample, number, run, "private"), release))
        for place, release in found:
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
    """Return the result of the one task."""
    event = params.event(max(params.n), params.resample[0])
    privacy = outbreaks.guarantee(event, "One outbreak is")
    said = _error_words(rows)[1] + empty_note(rows["errors"].accepted)
    return Result(EXPERIMENT, params, rows, said, privacy, event)


def spreads(errors: pd.DataFrame) -> pd.DataFrame:
    """Return where the spread of errors comes from, at every size and ``resample``.

    Columns: ``noise``, the standard deviation between runs of one data set; ``data``, that of the
    data sets' expected errors, of data and order of the pool together: what is left of the variance
    of their means after the noise.
    """
    case = ["n", "resample"]
    sets = errors.groupby([*case, "observed_set"]).mae.agg(["mean", "var", "count"])
    noise, count = sets["var"].groupby(case).mean(), sets["count"].groupby(case).first()
    data = sets["mean"].groupby(case).var() - noise / count
    table = pd.DataFrame({"noise": np.sqrt(noise), "data": np.sqrt(data.clip(lower=0.0))})
    return table.reset_index()


def _error_words(tables: Tables) -> tuple[str, str]:
    """What noise makes of the mean error, with the first treatment of the threshold."""
    errors = first_of(tables["errors"], "resample")
    kept = f" with the {setting('resample', errors['resample'].iloc[0])}"
    return outbreaks.error_words(errors, tables["non_private"], "n", kept)


def _spread_words(tables: Tables) -> tuple[str, str]:
    """Between which errors single releases lie at the first size, and where that comes from."""
    errors = first_of(tables["errors"], "resample", "n")
    first = errors.iloc[0]
    at = f"{setting('n', first.n)} with the {setting('resample', first['resample'])}"
    row = spreads(errors).iloc[0]
    known = [f"{amount(row[by], 2)} by {by}" for by in ("noise", "data") if row[by] >= 0.0]
    said = f"the standard deviation of the error is {listed(known or ['unknown'])}"
    title = f"Middle 80 % of errors at {setting('n', first.n)}: "
    return title + from_to(errors.mae.quantile([0.1, 0.9]), 2), f"At {at}, {said}."


(SERIES,) = fig.styles(["reported by [P21]"])
REPORTED = SERIES.called(SERIES.name, marker="diamond")


def figures(result: Result) -> dict[str, fig.CaptionedFigure]:
    """Draw what is kept of each parameter, and errors: with each threshold's noise, and without."""
    params = cast(Params, result.params)
    private, plain = (result.tables[name] for name in ("errors", "non_private"))
    names = ("epsilon_total", "c", "epsilon_abc")
    settings = settings_line(params, names, runs=params.runs)
    title, said = _error_words(result.tables)
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
    shown = {"posterior": (values, said), "error": (errors, where_from)}
    return {name: fig.CaptionedFigure(*each) for name, each in shown.items()}


def _label(n: int, resample: bool | None = None) -> str:
    noise = "no noise" if resample is None else "redrawn" if resample else "kept"
    return f"{setting('n', n)}, {noise}"


def _values(result: Result) -> list[outbreaks.Values]:
    """What is kept of the parameters at each size, with noise and without, and the prior."""
    params, main = cast(Params, result.params), result.tables["main"]
    bare = main.release == "non-private"
    rows: list[outbreaks.Values] = []
    for n, resample in itertools.product(params.n, (*params.resample, None)):
        chosen = bare if resample is None else ~bare & (main["resample"] == resample)
        style = fig.NON_PRIVATE if resample is None else fig.PRIVATE
        rows.append((_label(n, resample), style, main[chosen & (main.n == n)]))
    return [*rows, ("prior", fig.PRIOR, result.tables["prior"])]

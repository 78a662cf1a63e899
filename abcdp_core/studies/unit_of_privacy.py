r"""What does it cost to protect a larger unit?

The same published numbers are released repeatedly at the same $\epsilon_{total}$, in one of two
ways. One protects a single *person*, who adds little to each number. The other protects the *larger
unit* that the papers treat as a data point, a day's national count or a whole outbreak, which can
change each number over its full public range (MATH M9). Both add (discrete) Laplace noise once,

$$z = s(Y^*) + \nu, \qquad b = \frac{\Delta_1}{\epsilon_{total}},$$

and both posteriors use the distribution of this noise (MATH E5). Only $\Delta_1$ differs, the most
that one unit changes the sum of the numbers. For the six numbers of a tuberculosis report it is
13/3 for a patient and 2760 for the outbreak. For daily case counts it is 1 for a person and 500 for
a day, as larger counts are cut to 500.

The interval of a parameter extends from the 5 % to the 95 % quantile of the posterior. Its width is
compared with the same interval of the pool, which is the prior's: at 100 % nothing was learned. The
truth behind published data is unknown, so there are no errors.

Neither unit is wrong. If you protect the outbreak, the release cannot show which outbreak it was,
so nothing can be learned about it. If you protect the patients, the release cannot show whether any
one of them was there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import pandas as pd

from abcdp_core import figures as fig
from abcdp_core import privacy
from abcdp_core.base import parameters as par
from abcdp_core.base import summaries
from abcdp_core.base.sentences import amount, settings_line
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import cases
from abcdp_core.figures import ranked
from abcdp_core.mechanisms import Budget, private_summary
from abcdp_core.models import pool, simulators
from abcdp_core.models.simulators import ScenarioParams
from abcdp_core.models.simulators.tuberculosis_patients import SCENARIO as PATIENTS
from abcdp_core.run.tasks import SingleTask, single_task
from abcdp_core.studies.engine import (
    DerivedTable,
    Result,
    Run,
    RunTable,
    Study,
    Tables,
    choice,
    scale,
)
from abcdp_core.studies.engine import mechanisms as shared

EXPERIMENT = "unit-of-privacy"
TITLE = "What protecting a larger unit costs"

MECHANISMS = (private_summary.SUMMARY, private_summary.LARGE_UNIT)

NAMED = {name: simulators.load(name) for name in simulators.with_feature("statistics")}
SERVED = [name for name in NAMED if not private_summary.refuses("larger", NAMED[name])]
SCENARIO = choice("Scenario", "Published data with a choice of two units.", SERVED)


@dataclass(frozen=True)
class Params(ScenarioParams):
    """One budget, spent for each unit."""

    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    pool_size: int = PATIENTS.pool_size.field(PATIENTS.pool_size_default)
    runs: int = scale(
        "Releases",
        "How many times the same data are released, each time with new noise.",
        (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
    ).field(20)
    scenario: str = SCENARIO.field(PATIENTS.name)

    def check_together(self) -> None:
        """Refuse too much work, given the size of the published data."""
        par.check_work(self.source.n_default, self.pool_size)


def intervals(public: pool.PublicSide, task: Run[Params] | SingleTask[Params]) -> list[Any]:
    """Return means and intervals of the prior, and of releases without noise and for each unit."""
    params, source = task.params, public.scenario
    samples = [("prior", "", 0, summaries.WeightedSample.even(public.theta))]
    private = ("private", params.epsilon_total, params.runs)
    ways = [(MECHANISMS[0], "", "non-private", math.inf, 1)]
    ways += [(each, each.protects(source)[0], *private) for each in MECHANISMS]
    comparison = cases.own(public, 0).comparison
    for mechanism, unit, release, epsilon_total, runs in ways:
        prepared = mechanism.prepare(public, mechanism.options, Budget(epsilon_total))
        for run in range(runs):
            made = prepared.release(comparison, generator(task.seed, "noise", 0, run))
            samples.append((release, unit, run, made.sample(public.theta)))
    rows = []
    for *of, sample in samples:
        columns = source.axes, sample.mean, *sample.quantile((0.05, 0.95))
        rows += [(*of, *each) for each in zip(*columns, strict=True)]
    return rows


def widths(_: Params, rows: Tables) -> pd.DataFrame:
    """Return the width of intervals over the prior's: mean, smallest and largest of the runs."""
    wide = rows["main"].assign(width=rows["main"].high - rows["main"].low)
    prior = wide[wide.release == "prior"].set_index("parameter").width
    shares = wide.assign(share=wide.width / wide.parameter.map(prior))
    runs = shares.groupby(["release", "unit", "run"], sort=False).share.mean()
    each = runs.groupby(["release", "unit"], sort=False)
    parts = {"": each.mean(), "_low": each.min(), "_high": each.max()}
    return pd.DataFrame({f"width_share{end}": part for end, part in parts.items()}).reset_index()


def promise(params: Params) -> str:
    """State both guarantees, one of which each release has."""
    source = params.source
    cost = MECHANISMS[0].spends(Budget(params.epsilon_total))
    one, other = (privacy.guarantee(cost, *each.protects(source)) for each in MECHANISMS)
    first, rest = one.split(". ", 1)
    return f"{first}; or p{other.split('. ', 1)[0][1:]}. {rest}"


def _shares(result: Result) -> str:
    """Say how wide intervals are with each unit protected."""
    table = result.tables["widths"].query("release == 'private'")
    (small, large), shares = table.unit, [amount(100.0 * each, 2) for each in table.width_share]
    return (
        f"{shares[0]} % as wide as the prior's if {small} is protected, and {shares[1]} % as wide "
        f"if {large} is protected"
    )


def says(result: Result) -> str:
    """Say how wide intervals are with each unit protected, with a warning if the pool is small."""
    budget = settings_line(result.params, ["epsilon_total"])
    caution = shared.small_pool(result.params, [each.name for each in MECHANISMS])
    return f"With {budget}, 90 % intervals are on average {_shares(result)}. {caution}".strip()


def drawn(result: Result) -> fig.CaptionedFigure:
    """Draw intervals of each parameter: the prior's, without noise, and for each unit."""
    main = result.tables["main"]
    source = cast(Params, result.params).source
    small, large = main.unit[main.release == "private"].unique()
    units = fig.styles([small, large])
    looks = {"prior": fig.PRIOR, "non-private": fig.NON_PRIVATE.called("no noise")}
    looks |= dict(zip((small, large), units, strict=True))
    means = main.groupby(["release", "unit", "parameter"])[["mean", "low", "high"]].mean()
    marks = means.rename(columns={"mean": "value"}).reset_index()
    row = marks.unit.where(marks.unit != "", marks.release)
    marks = marks.assign(place=row.map(list(looks).index), style=row.map(looks))
    marks = marks.assign(panel=marks.parameter.map(list(source.axes).index))
    measured = {name: source.units[name] and f", {source.units[name]}" for name in source.axes}
    ranges = {f"{name}{measured[name]}": ends for name, ends in source.axes.items()}
    whose = source.published
    settings = settings_line(result.params, ["epsilon_total"], runs=main.run.nunique())
    words = f"Intervals are {_shares(result)}", f"Mean and 90 % interval for {whose}, {settings}"
    names = [style.name for style in looks.values()]
    return fig.CaptionedFigure(ranked.marked_panels(ranges, names, marks, words), result.summary)


STUDY = Study(
    EXPERIMENT,
    Params,
    world=lambda task: shared.public_side(task.params, task.seed),
    tables={"main": RunTable("release unit run parameter mean low high", intervals)},
    totals={
        "widths": DerivedTable("release unit width_share width_share_low width_share_high", widths)
    },
    says=says,
    privacy=promise,
    views={EXPERIMENT: drawn},
)
COLUMNS, _, work, collect, figures = STUDY.contract()
# All releases in one task: they share the data and are quick.
tasks = single_task
missing_pools = shared.missing_pools

"""The tables of a plan: predictions for each mechanism, here and at other budgets and sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from abcdp_core import mechanisms
from abcdp_core.evaluation import planning
from abcdp_core.evaluation.planning import HONEST, Estimate
from abcdp_core.mechanisms import Budget
from abcdp_core.run.results import Tables
from abcdp_core.studies.engine import columns

if TYPE_CHECKING:
    from abcdp_core.studies.plan import Params

COLUMNS = columns(
    main="mechanism epsilon_total delta n c epsilon_abc metric predicted predicted_low "
    "predicted_high meets",
    goal="mechanism quantity value value_low value_high data_sets exact",
    intervals="mechanism width width_low width_high coverage coverage_low coverage_high",
    enough="mechanism knob enough enough_low enough_high why",
    curve="mechanism knob epsilon_total n value value_low value_high",
    refused="mechanism why",
    prior="metric error",
)
"""``main`` is ranked by the goal's quantity, which *goal* has. c is 0 if a mechanism takes none.
``meets``: whether the goal is predicted to be met or, without one, whether the error is clearly
below the prior mean's. ``exact``: whether the error is averaged over the noise exactly. In *enough*
the number is infinite if nothing within the bounds is enough; ``why`` says how that is known."""

ELSEWHERE = 8  # Data sets for other budgets and sizes
KNOBS = {"budget": "epsilon_total", "size": "n"}  # Part of the outcomes -> parameter that differs
NONE = Estimate(math.inf, math.inf, math.inf)  # For intervals that miss the truth too often

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Found:
    """Predictions for a mechanism at its best setting.

    Attributes:
        rows: outcomes on data sets that did not choose the setting.
        error: on average over the prior.
        value: the goal's quantity.
        coverage: share of intervals that contain the truth; 1 if the goal is not about intervals.
    """

    rows: pd.DataFrame
    error: Estimate
    value: Estimate
    coverage: float

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Sort key: those with wrong intervals come late, those without any last."""
        value = self.value.value
        return math.isinf(value), self.coverage < HONEST, value


def tables(params: Params, outcomes: pd.DataFrame, others: Mapping[str, Sequence[float]]) -> Tables:
    """Return all tables.

    Args:
        params: of the plan.
        outcomes: of all data sets so far.
        others: knob -> its other values to try.
    """
    goal, known = params.wish, planning.prior(params.source)
    ranked = _found(params, outcomes)
    rows: dict[str, list[Row]] = {"main": [], "goal": [], "intervals": []}
    for name, each in ranked.items():
        delta = mechanisms.load(name).spends(Budget(params.epsilon_total, params.delta)).delta
        c, epsilon_abc = int(each.rows.c.iloc[0]), float(each.rows.epsilon_abc.iloc[0])
        asked = name, params.epsilon_total, delta, params.n, c, epsilon_abc, params.metric
        meets = goal.is_met(each.value, each.coverage, known)
        rows["main"].append((*asked, *astuple(each.error), meets))
        averaged = goal.is_about_averages and goal.metric == "rmse"
        exact = averaged and bool(each.rows.expected_mse.notna().all())
        sets = each.rows["index"].nunique()
        rows["goal"].append((name, goal.quantity, *astuple(each.value), sets, exact))
        if goal.intervals and math.isfinite(each.value.value):
            covered = planning.share(planning.per_case(each.rows).coverage.to_numpy())
            rows["intervals"].append((name, *astuple(each.value), *astuple(covered)))
    curve = _table("curve", _elsewhere(params, outcomes, ranked))
    looked_at = {knob: {*outcomes[outcomes.part == part][knob]} for part, knob in KNOBS.items()}
    # Nothing is enough before all budgets, or all sizes, were tried.
    whole = [knob for knob, seen in looked_at.items() if {*others[knob]} <= seen]
    enough = _table("enough", _enough(params, curve[curve.knob.isin(whole)]))
    source = params.source
    refused = [(each.name, each.refuses(source)) for each in mechanisms.every().values()]
    return {name: _table(name, each) for name, each in rows.items()} | {
        "enough": enough.sort_values(["knob", "enough"], kind="stable", ignore_index=True),
        "curve": curve,
        "refused": _table("refused", [(name, why) for name, why in refused if why]),
        "prior": _table("prior", [("rmse", math.sqrt(known.mse)), ("mae", known.mae)]),
    }


def _table(name: str, rows: list[Row]) -> pd.DataFrame:
    """Return a table whose columns keep their types if it has no rows."""
    made = pd.DataFrame(rows, columns=list(COLUMNS[name]))
    words = ("mechanism", "quantity", "metric", "knob", "why")
    kinds = {column: str if column in words else float for column in made}
    return made if rows else made.astype(kinds)


def _found(params: Params, outcomes: pd.DataFrame) -> dict[str, Found]:
    """Return the predictions for mechanisms that have outcomes, the best first."""
    goal, known, settings = params.wish, planning.prior(params.source), {}
    for name in params.planned:
        own = outcomes[outcomes.mechanism == name]
        rows, tried = (own[own.part == part] for part in ("predicted", "tried"))
        if rows["index"].nunique() < ELSEWHERE and len(tried):
            rows = planning.other_half(tried, goal.score, 1)
        if len(rows):
            value = goal.value(rows, known)
            settings[name] = Found(rows, goal.error(rows, known), value, goal.coverage(rows))
    return dict(sorted(settings.items(), key=lambda item: item[1].rank))


def _elsewhere(params: Params, outcomes: pd.DataFrame, settings: Mapping[str, Found]) -> list[Row]:
    """Return the goal's quantity at all budgets and sizes, in the order of each."""
    rows: list[Row] = []
    first = outcomes[(outcomes.part == "tried") & (outcomes["index"] < ELSEWHERE)]
    for part, knob in KNOBS.items():
        others = outcomes[outcomes.part == part]
        for name, each in settings.items():
            at_home = first[first.mechanism == name]
            if others.empty or at_home.empty or not 0.0 < each.value.value < math.inf:
                continue
            own = each.value if each.coverage >= HONEST else NONE
            points: dict[Any, Estimate] = {(params.epsilon_total, params.n): own}
            for where, there in others[others.mechanism == name].groupby(["epsilon_total", "n"]):
                same = at_home[at_home["index"].isin(there["index"])]
                if len(same):
                    scaled = each.value.times(params.wish.ratio(there, same))
                    points[where] = scaled if params.wish.is_honest(there) else NONE
            rows += [(name, knob, *where, *astuple(points[where])) for where in sorted(points)]
    return rows


def _enough(params: Params, curve: pd.DataFrame) -> list[Row]:
    """Return the smallest sufficient value of each knob for each mechanism."""
    rows: list[Row] = []
    for (name, knob), part in curve.groupby(["mechanism", "knob"], sort=False):
        x, home = part[knob].to_numpy(float), float(getattr(params, str(knob)))
        y = [Estimate(*each) for each in part[["value", "value_low", "value_high"]].to_numpy()]
        rows.append((name, knob, *astuple(planning.enough(x, y, home, params.wanted, str(knob)))))
    return rows

"""The document of released numbers, and what follows from them, in words (MATH E5, E9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core.mechanisms.private_summary import SummaryNoise
from abcdp_core.own_data.budget_ledger import Reservation
from abcdp_core.own_data.document import (
    ESTIMATE,
    INTERVAL,
    LEVEL,
    MADE,
    PRIOR,
    PRIOR_INTERVAL,
    RELEASED,
    Document,
    filled,
    unit_of,
)
from abcdp_core.own_data.request import rows_of, source_of
from abcdp_core.own_data.simulated import names_of, table_for
from abcdp_core.own_data.summary_request import (
    PrivateSummaryRequest,
    quantities,
)
from abcdp_core.own_model.lattice import Table
from abcdp_core.posterior.fit import Fit
from abcdp_core.posterior.outcome import Posterior
from abcdp_core.posterior.rounds import Way
from abcdp_core.privacy.discrete import deviation
from abcdp_core.sentences import counted, decimals, fixed
from abcdp_core.statistic import Question
from abcdp_core.summaries import weighted_mean, weighted_quantile

Array = NDArray[np.float64]

TAILS = (0.5 * (1.0 - LEVEL), 0.5, 0.5 * (1.0 + LEVEL))
"""Lower end, median, upper end."""


@dataclass(frozen=True)
class Told:
    """Mean and quantiles of each value, and probabilities of the questions.

    Attributes:
        mean: ``(d,)``.
        quantiles: lower end, median and upper end ``(3, d)``.
        probabilities: one for each question.
    """

    mean: Array
    quantiles: Array
    probabilities: tuple[float, ...]

    @classmethod
    def of(cls, values: Array, weights: Array, request: PrivateSummaryRequest) -> Told:
        """From values ``(m, d)`` with weights ``(m,)``."""
        axes = [*source_of(request).AXES]
        probabilities = tuple(
            _share(weights, values[:, axes.index(each.parameter)] < each.below)
            for each in questions(request)
        )
        quantiles = weighted_quantile(values, weights, TAILS)
        return cls(weighted_mean(values, weights), quantiles, probabilities)


def _share(weights: Array, chosen: NDArray[np.bool_]) -> float:
    """Weight of those that are chosen; 1 if all are, without rounding."""
    return 1.0 if chosen.all() else float(weights @ chosen)


def questions(request: PrivateSummaryRequest) -> tuple[Question, ...]:
    """What the scenario asks of a parameter."""
    found: tuple[Question, ...] = cast(Any, source_of(request)).OWN_QUESTIONS
    return found


@dataclass(frozen=True)
class Inferred:
    """What released numbers tell; a function of them and of what is public.

    Attributes:
        told: with them.
        prior: without.
        way: which rung answered.
        effective: effective sample size of the importance weights.
        rounds: draws of each round; of a pool, how many it has.
        failed: simulations that failed, and count for nothing.
        differ: whether two regressions did; the wider is shown.
        fit: whether the model makes such numbers.
        draws: of equal weight ``(m, d)``.
    """

    told: Told
    prior: Told
    way: Way
    effective: float
    rounds: tuple[int, ...]
    failed: int
    differ: bool
    fit: Fit
    draws: Array = field(repr=False)

    @classmethod
    def of(
        cls, found: Posterior, values: Array, prior: Array, request: PrivateSummaryRequest
    ) -> Inferred:
        """From a posterior with its fit, and what is told of its draws and of the prior's."""
        said = found.summary
        equal = np.full(len(prior), 1.0 / len(prior))
        return cls(
            Told.of(values, found.weights, request),
            Told.of(prior, equal, request),
            said.way,
            said.effective,
            tuple(size for size, _ in found.rounds),
            said.failed,
            said.differ,
            cast(Fit, said.fit),
            values[found.evenly(request.draws)],
        )


@dataclass(frozen=True)
class PrivateSummaryDocument(Document):
    """Numbers with noise, and what they tell.

    Attributes:
        request: the settings.
        n: rows of the data, public.
        released: whole numbers ``(k,)``; noise may have made one negative.
        reservation: what it was taken from, if from a budget.
        inferred: what follows from the numbers; ``None`` until it is computed.
        rounds: draws of each round of a posterior that is computed again.
    """

    request: PrivateSummaryRequest
    n: int
    released: tuple[int, ...]
    reservation: Reservation | None = None
    inferred: Inferred | None = field(default=None, repr=False)
    rounds: tuple[int, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether what follows from the numbers is computed."""
        return self.inferred is not None

    @property
    def found(self) -> Inferred:
        """What follows from the numbers.

        Raises:
            ValueError: it is not computed yet.
        """
        if self.inferred is None:
            raise ValueError("what follows from the released numbers is not computed yet.")
        return self.inferred

    @property
    def event(self) -> SummaryNoise:
        """The numbers with their noise."""
        return self.request.event(self.n)

    @property
    def z(self) -> Array:
        """The released numbers ``(k,)``."""
        return np.array(self.released, dtype=float) / np.array(self.event.whole)

    @property
    def sample(self) -> Array:
        """Draws from the posterior."""
        return self.found.draws

    @property
    def names(self) -> tuple[str, ...]:
        """Of the released numbers."""
        return names_of(self.request.scenario, self.n)

    @property
    def summary(self) -> str:
        """What was released."""
        steps = cast(tuple[int, ...], self.event.whole)
        each = "; ".join(
            f"{name}: {_whole(Fraction(number, step))}"
            for name, number, step in zip(self.names, self.released, steps, strict=True)
        )
        noise = ""
        if self.table_of_records is not None:
            each, noise = "; ".join(self._in_their_units()), " (its standard deviation in brackets)"
        return f"Released, with noise{noise}: {each}."

    @property
    def table_of_records(self) -> Table | None:
        """What is read and released, for a model of one's own."""
        return table_for(self.request.scenario)

    @property
    def natural(self) -> Array:
        """The released numbers ``(k,)`` as counts, means and sums, for a model of one's own."""
        table = self.table_of_records
        assert table is not None
        return table.natural(self.z, self.n)

    def _in_their_units(self) -> list[str]:
        """Each released number with the standard deviation of its noise."""
        table = self.table_of_records
        assert table is not None
        steps, whole = self.event.steps(), np.array(self.event.whole)
        units = np.array([deviation(step) for step in steps.tolist()]) / whole
        noise = units * np.abs(table.per_unit(self.n))
        found = []
        for each, value, spread in zip(table.summaries, self.natural, noise.tolist(), strict=True):
            digits = 0 if each.kind == "count" else decimals(spread)
            # What has a unit may all be as small as that; of a count it is nothing.
            least = 1e-4 if each.kind == "count" else 1e-12
            size = fixed(spread, decimals(spread)) if spread >= least else "below 0.0001"
            found.append(f"{each.name}: {fixed(value, digits)} ({size})")
        return found

    @property
    def in_own_words(self) -> str:
        """A misfit first; means and intervals, answers to the questions, how they were made."""
        if not self.is_complete:
            return "The posterior is not computed yet."
        fit = self.found.fit
        each = "; ".join(
            f"{row.name}: {row.mean} ({row.low} to {row.high}){row.unit}" for row in self.rows()
        )
        said = [f"Means, with 90 % intervals: {each}.{self._in_time()}", *self.answers()]
        told = [*self.misfit, *said] if fit.is_misfit else [*said, fit.statement]
        return " ".join([*told, *fit.remarks])

    @property
    def misfit(self) -> tuple[str, ...]:
        """What is to be said before the result where the model does not fit."""
        if not (self.is_complete and self.found.fit.is_misfit):
            return ()
        fit, source = self.found.fit, cast(Any, source_of(self.request))
        limit: str = getattr(source, "OWN_JAGGED", "")
        return (fit.statement, limit) if fit.is_jagged and limit else (fit.statement,)

    def answers(self) -> list[str]:
        """A sentence for each question, with its probability in the prior beside it."""
        return [
            f"P({each.words}) is {here}; without the data {there}."
            f"{f' {each.remark}' if each.remark else ''}"
            for each, here, there in self._probabilities()
        ]

    def _probabilities(self) -> list[tuple[Question, str, str]]:
        """Each question with its probability in words, and that in the prior."""
        told, prior = self.found.told.probabilities, self.found.prior.probabilities
        asked = zip(questions(self.request), told, prior, strict=True)
        return [
            (each, _probability(here, forced=there in (0.0, 1.0)), _probability(there, forced=True))
            for each, here, there in asked
        ]

    def rows(self) -> list[Row]:
        """Each value in words."""
        told, prior = self.found.told, self.found.prior
        found = []
        for i, each in enumerate(self.parameters):
            low, _, high = told.quantiles[:, i]
            digits = _decimals(high - low, prior.quantiles[:, i], high)
            least = 0.1 * abs(prior.quantiles[0, i])
            if high > max(low, least) and least > 0.0 and float(f"{high:.{digits}f}") == 0.0:
                # One of the small values of a prior over many decades.
                digits = decimals(high - low)
            numbers = (told.mean[i], low, high, prior.mean[i], *prior.quantiles[[0, 2], i])
            found.append(Row(each.name, unit_of(each), *(fixed(x, digits) for x in numbers)))
        return found

    def _times(self) -> list[tuple[str, str, Inverse, Inverse]]:
        """What is a quantity's inverse: name and unit; with the data, and without them."""
        first, found = len(source_of(self.request).AXES), []
        for i, each in enumerate(quantities(self.request), start=first):
            if each.inverse is not None:
                name, unit, factor = each.inverse
                here, there = (
                    Inverse.of(told.quantiles[:, i], factor)
                    for told in (self.found.told, self.found.prior)
                )
                found.append((name, unit, here, there))
        return found

    def _in_time(self) -> str:
        said = [(name, *here.in_words(unit)) for name, unit, here, _ in self._times()]
        return "".join(
            f" {name[0].upper()}{name[1:]}: median {middle}, 90 % interval {ends}."
            for name, middle, ends in said
        )

    @property
    def finding(self) -> str:
        """The value that the scenario is asked for most, if the model fits."""
        if not self.is_complete:
            return "Released; the posterior is not computed yet"
        if self.found.fit.is_misfit:
            return "The model hardly ever makes such numbers"
        source = cast(Any, source_of(self.request))
        (row,) = (row for row in self.rows() if row.name == source.OWN_HEADLINE)
        said: str = source.OWN_FINDING
        return said.format(low=row.low, high=row.high)

    @property
    def settings(self) -> str:
        """Budget, mechanism and, where it is public, size."""
        rows = rows_of(self.request.scenario)
        size = f", {self.n:,} {rows}" if self.request.tells_size else ""
        return f"{self.request.spends}, private summary{size}; mean, 90 % interval"

    @property
    def marks_in_words(self) -> str:
        """Mean, interval, and the prior's."""
        return (
            "Diamond: mean. Line: 90 % interval, with the noise inside. Grey: mean and 90 % "
            f"interval without the data (prior).{f' {self.how}' if self.is_complete else ''}"
        )

    def table(self) -> pd.DataFrame:
        """Each value with its 90 % interval, and what they were without the data."""
        if not self.is_complete:
            return pd.DataFrame({"released": list(self.names), "with noise": self.z})
        rows = [
            (row.name, f"{row.mean}{row.unit}", f"{row.low} to {row.high}{row.unit}",
             f"{row.prior}{row.unit}", f"{row.prior_low} to {row.prior_high}{row.unit}")
            for row in self.rows()
        ]  # fmt: skip
        for name, unit, here, there in self._times():
            rows.append((f"{name} (median)", *here.in_words(unit), *there.in_words(unit)))
        for each, now, before in self._probabilities():
            alone = ", by the prior alone" if each.remark else ""
            rows.append((f"P({each.words}){alone}", now, "", before, ""))
        heads = ["quantity", "mean", "90 % interval", "prior mean", "prior 90 % interval"]
        return pd.DataFrame(rows, columns=heads)

    def exactness(self) -> str:
        """Numbers are whole; the posterior is simulated."""
        own = ""
        if self.table_of_records is not None:
            own = " What is released is rounded to a public lattice first."
        return (
            "The numbers, their noise and the sums are exact, in whole numbers. The posterior is "
            "computed from what was released, by public simulations, so it is approximate; it "
            f"holds if the data follow the model.{own}"
        )

    def fit_rows(self) -> fig.Drawn | None:
        """Some of the released numbers over what the model makes."""
        return _rows_of_fit(self) if self.is_complete else None

    def pictures(self) -> dict[str, fig.Drawn]:
        """The released numbers over what the model makes."""
        return {"released-fit": fit_figure(self)} if self.is_complete else {}

    @property
    def how(self) -> str:
        """Which rung answered, by how many simulations."""
        found, simulations = self.found, counted(sum(self.found.rounds), "simulation")
        size = f"effective sample size {found.effective:,.0f}"
        failed = f" {counted(found.failed, 'simulation')} failed and count for nothing."
        way = {
            "weights": f"Computed by importance weights: {simulations}, {size}.",
            "regression": "Approximate: computed by a regression on the nearest of "
            f"{simulations}, as importance weights do not carry ({size}).",
            "nearest": f"Approximate: the nearest of {simulations}, too few to be moved to what "
            f"was released, as importance weights do not carry ({size}).",
        }[found.way]
        wider = " Two regressions differ; the wider is shown." if found.differ else ""
        return f"{way}{wider}{failed if found.failed else ''}"

    def contents(self) -> dict[str, Any]:
        """The numbers, and means, intervals, probabilities and draws."""
        event, table, own = self.event, self.table_of_records, {}
        if table is not None:
            own = {"model": {"file": table.file, "sha256": table.digest}}
        return {
            **own,
            "release": {
                "names": list(self.names),
                "whole_numbers": list(self.released),
                "divided_by": list(event.whole or ()),
                **({} if table is None else {"in_their_units": self.natural.tolist()}),
            },
            "posterior": self._posterior() if self.is_complete else None,
        }

    def _posterior(self) -> dict[str, Any]:
        """What follows from the numbers, ready for JSON."""
        found, told, prior = self.found, self.found.told, self.found.prior
        return {
                "way": found.way,
                "effective_sample_size": found.effective,
                "rounds": list(found.rounds),
                "failed": found.failed,
                "fit": found.fit.record(),
                "parameters": [each.name for each in self.parameters],
                "units": [each.unit for each in self.parameters],
                "level": LEVEL,
                "means": told.mean.tolist(),
                "intervals": told.quantiles[[0, 2]].T.tolist(),
                "prior_means": prior.mean.tolist(),
                "prior_intervals": prior.quantiles[[0, 2]].T.tolist(),
                "further": [
                    {"name": name, "unit": unit, "median": here.median,
                     "interval": [here.shortest, here.longest], "prior_median": there.median,
                     "prior_interval": [there.shortest, there.longest]}
                    for name, unit, here, there in self._times()
                ],
                "probabilities": [
                    {"statement": each.words, "probability": here, "prior": there,
                     "remark": each.remark}
                    for each, here, there in zip(
                        questions(self.request), told.probabilities, prior.probabilities,
                        strict=True,
                    )
                ],
                "weights": "equal",
                "draws": self.sample.tolist(),
        }  # fmt: skip

    def axes(self) -> list[tuple[float, float]]:
        """Of each row: the scenario's, and what the intervals need."""
        more = [(each.low, each.high) for each in quantities(self.request)]
        usual = np.array([*source_of(self.request).AXES.values(), *more]).T
        told, prior = self.found.told.quantiles, self.found.prior.quantiles
        low = np.minimum.reduce([usual[0], told[0], prior[0]])
        high = np.maximum.reduce([usual[1], told[2], prior[2]])
        return [*zip(low.tolist(), high.tolist(), strict=True)]

    def marks(self, row: int) -> list[tuple[fig.Style, Array]]:
        """Interval and mean, with the data and without them."""
        told, prior = self.found.told, self.found.prior
        return [
            (PRIOR_INTERVAL, prior.quantiles[[0, 2], row]),
            (PRIOR, prior.mean[row : row + 1]),
            (INTERVAL, told.quantiles[[0, 2], row]),
            (ESTIMATE, told.mean[row : row + 1]),
        ]

    def said(self, row: int) -> str:
        """Mean and interval."""
        found = self.rows()[row]
        return f"{found.mean} ({found.low} to {found.high}){found.unit}"


@dataclass(frozen=True)
class Row:
    """A value in words: with the data, and without them."""

    name: str
    unit: str
    mean: str
    low: str
    high: str
    prior: str
    prior_low: str
    prior_high: str


def _whole(number: Fraction) -> str:
    """A number that is a whole one or has thirds."""
    text = str(number) if number.denominator == 1 else f"{float(number):.2f}"
    return text.replace("-", "\u2212")


FINEST = 1e-3
"""Part of the prior's interval below which nothing is said, however narrow the posterior is."""


def _decimals(width: float, prior: Array, high: float) -> int:
    """Decimals of an interval so wide, given three quantiles of its prior ``(3,)``.

    Of a prior over decades the narrower half counts, in which the smallest values are; and where
    the interval is a single value, that half or the value.
    """
    halves = np.diff(prior)
    half = float(min(halves[halves > 0.0], default=0.0))
    finest = 2.0 * FINEST * half
    if width > 0.0:
        return decimals(max(width, finest))
    return max(decimals(half), decimals(max(abs(high), finest)) if high else 0)


def _probability(share: float, *, forced: bool) -> str:
    """A share of some 1000 draws; 0 and 1 only where nothing else can be."""
    if forced and share in (0.0, 1.0):
        return f"{share:.0f}"
    return "above 0.99" if share > 0.99 else "below 0.01" if share < 0.01 else f"{share:.2f}"


class Inverse(NamedTuple):
    """What is a factor divided by a quantity; ``None`` where that is not positive.

    Attributes:
        shortest: lower end of the 90 % interval.
        median: of it.
        longest: upper end.
    """

    shortest: float | None
    median: float | None
    longest: float | None

    @classmethod
    def of(cls, quantiles: Array, factor: float) -> Inverse:
        """From lower end, median and upper end ``(3,)`` of the quantity."""
        longest, median, shortest = (
            factor / each if each > 0.0 else None for each in quantiles.tolist()
        )
        return cls(shortest, median, longest)

    def in_words(self, unit: str) -> tuple[str, str]:
        """Median and interval."""
        middle = "none" if self.median is None else f"{self.median:.2g} {unit}"
        if self.shortest is None:
            return middle, "none"
        if self.longest is None:
            return middle, f"from {self.shortest:.2g} {unit} to none"
        return middle, f"{self.shortest:.2g} to {self.longest:.2g} {unit}"


ROWS = 8
"""Numbers in the report's picture of the fit, at most: what sticks out first."""


def _rows_of_fit(document: PrivateSummaryDocument) -> fig.Drawn:
    """Released numbers over what the model makes, a row each, for a page without a script."""
    fit, names = document.found.fit, document.names
    odd = [each.name for each in fit.numbers]
    shown = sorted(range(len(names)), key=lambda place: names[place] not in odd)[:ROWS]
    rows, axes = [], []
    for place in sorted(shown):
        value, (low, middle, high) = document.z[place : place + 1], fit.band[:, place]
        reach = 0.2 * max(high - low, 1e-9)
        axes.append((min(low, value[0]) - reach, max(high, value[0]) + reach))
        marks = [(MADE, np.array([low, high])), (RELEASED, value)]
        rows.append((names[place], f"{value[0]:,.4g}; usual: {middle:,.4g}", marks))
    stack = fig.stack([""] * len(rows), "", "", axes, row_height=44)
    left_out = len(names) - len(rows)
    more = f" {counted(left_out, 'other number')} not shown." if left_out else ""
    return fig.Drawn(filled(stack, rows), f"Point: released. Line: {MADE.name}.{more}")


def fit_figure(document: PrivateSummaryDocument) -> fig.Drawn:
    """The released numbers over what the model makes."""
    fit, model = document.found.fit, source_of(document.request)
    made = "hardly ever makes" if fit.is_misfit else "makes"
    drawn = fig.replicates(
        document.names,
        document.z,
        fit.band,
        [each.name for each in fit.numbers],
        f"The model {made} such numbers",
        document.settings,
        is_series=bool(getattr(model, "IS_SERIES", False)),
    )
    return fig.Drawn(drawn, " ".join([fit.statement, *fit.remarks]))

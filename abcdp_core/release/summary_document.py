"""Record released numbers and describe what follows from them (MATH E5, E9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import amount, counted, decimals, fixed
from abcdp_core.base.statistic import TailProbability
from abcdp_core.figures.replicates import replicates
from abcdp_core.posterior.fit import ONLY_IF_RIGHT
from abcdp_core.posterior.outcome import WITHHELD
from abcdp_core.posterior.shape import Modes
from abcdp_core.privacy.discrete import deviation
from abcdp_core.release import picture
from abcdp_core.release.budget_file import Reservation
from abcdp_core.release.document import LEVEL, ReleaseRecord, unit_of
from abcdp_core.release.picture import Marks, Row
from abcdp_core.release.simulated import names_of
from abcdp_core.release.summary_posterior import Inferred, Inverse, decimals_of
from abcdp_core.release.summary_request import PrivateSummaryRequest, pool_of

SHOWN = 8
"""Most numbers in the report's picture of the fit; unusual ones first."""


class InWords(NamedTuple):
    """Posterior and prior of a quantity as texts; with several modes, their number and region."""

    name: str
    unit: str
    mean: str
    low: str
    high: str
    prior: str
    prior_low: str
    prior_high: str


@dataclass(frozen=True)
class PrivateSummaryRecord(ReleaseRecord):
    """Numbers with noise, and what follows from them.

    Attributes:
        released: whole numbers ``(k,)``; noise may make one negative.
        inferred: what follows from the numbers; ``None`` until it is computed.
        rounds: draws in each round of a posterior that is computed again.
        is_of_0_3_0: whether the posterior is as version 0.3.0 computed it, from weights. Its
            estimate is never withheld, and its fit always checked.
    """

    request: PrivateSummaryRequest
    n: int
    released: tuple[int, ...]
    reservation: Reservation | None = None
    inferred: Inferred | None = field(default=None, repr=False)
    rounds: tuple[int, ...] = ()
    is_of_0_3_0: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether the posterior is computed."""
        return self.inferred is not None

    @property
    def is_withheld(self) -> bool:
        """Whether the posterior is computed, but too far off to be shown."""
        estimated = self.inferred is not None and not self.is_of_0_3_0
        return estimated and self.found.summary.is_withheld

    @property
    def found(self) -> Inferred:
        """The posterior.

        Raises:
            ValueError: it is not computed yet.
        """
        if self.inferred is None:
            raise ValueError("the posterior of the released numbers is not computed yet.")
        return self.inferred

    @property
    def whole(self) -> tuple[int, ...]:
        """Divisors of the whole numbers ``(k,)``."""
        return self.request.event(self.n).whole or ()

    @property
    def z(self) -> Array:
        """The released numbers ``(k,)``."""
        return np.array(self.released, dtype=float) / np.array(self.whole)

    def natural(self, numbers: Array) -> Array:
        """Return numbers ``(..., k)`` as they are, or for a user's model as means and sums."""
        table = self.request.table
        return numbers if table is None else table.natural(numbers, self.n)

    @property
    def sample(self) -> Array:
        """Draws from the posterior; none if it is withheld."""
        return self.found.draws[:0] if self.is_withheld else self.found.draws

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the released numbers."""
        return names_of(self.request.source, self.n)

    @property
    def summary(self) -> str:
        """The released numbers."""
        if self.request.table is not None:
            each = "; ".join(self._in_their_units())
            return f"Released, with noise (standard deviation in parentheses): {each}."
        numbers = zip(self.names, self.released, self.whole, strict=True)
        each = "; ".join(f"{name}: {_number(Fraction(made, of))}" for name, made, of in numbers)
        return f"Released, with noise: {each}."

    def _in_their_units(self) -> list[str]:
        """Each released number with the standard deviation of its noise."""
        table, natural = self.request.table, self.natural(self.z)
        assert table is not None
        deviations = np.array(
            [deviation(step) for step in self.request.event(self.n).steps().tolist()]
        )
        noise = deviations / np.array(self.whole) * np.abs(table.per_unit(self.n))
        words = []
        for each, value, spread in zip(table.summaries, natural, noise.tolist(), strict=True):
            is_count = each.kind == "count"
            # A number with a unit may be so small; for a count it means no noise.
            least = 1e-4 if is_count else 1e-12
            size = fixed(spread, decimals(spread)) if spread >= least else "below 0.0001"
            digits = 0 if is_count else decimals(spread)
            words.append(f"{each.name}: {fixed(value, digits)} ({size})")
        return words

    @property
    def misfit(self) -> tuple[str, ...]:
        """Warnings to show before the result if the model does not fit."""
        if not (self.is_complete and self.found.fit.is_misfit):
            return ()
        fit, limit = self.found.fit, self.request.source.own_jagged
        verdict = fit.statement.removesuffix(ONLY_IF_RIGHT) if self.is_withheld else fit.statement
        return (verdict, limit) if fit.is_jagged and limit else (verdict,)

    def _probabilities(self) -> list[tuple[str, str, str, str]]:
        """Each question in words, its posterior and prior probability, and a remark."""
        return [
            (
                each.words,
                _probability(given, forced=there in (0.0, 1.0)),
                _probability(there, forced=True),
                each.remark,
            )
            for each, given, there in self._questions()
        ]

    def _questions(self) -> list[tuple[TailProbability, float, float]]:
        """Each question with its posterior and its prior probability."""
        given, prior = self.found.posterior.probabilities, self.found.prior.probabilities
        return [*zip(self.request.source.own_questions, given, prior, strict=True)]

    @property
    def modes(self) -> dict[int, Modes]:
        """Several modes, by the place of the parameter that has them; none if withheld."""
        several = () if self.is_withheld else self.found.summary.modes
        return {each.parameter: each for each in several}

    def rows(self) -> list[InWords]:
        """Return each quantity in words."""
        posterior, prior, modes = self.found.posterior, self.found.prior, self.modes
        rows = []
        for i, each in enumerate(self.parameters):
            low, _, high = posterior.quantiles[:, i]
            digits = decimals_of(high - low, prior.quantiles[:, i], high)
            least = 0.1 * abs(prior.quantiles[0, i])
            if high > max(low, least) and least > 0.0 and float(f"{high:.{digits}f}") == 0.0:
                # A small value under a prior over many decades.
                digits = decimals(high - low)
            numbers = (posterior.mean[i], low, high, prior.mean[i], *prior.quantiles[[0, 2], i])
            texts = [fixed(x, digits) for x in numbers]
            if i in modes:
                # From the lowest end of the region to its highest, with the gaps.
                low_to, _, highest = modes[i].in_words.rpartition(" to ")
                texts[:3] = f"{len(modes[i].region)} modes", low_to, highest
            rows.append(InWords(each.name, unit_of(each), *texts))
        return rows

    def _inverses(self) -> list[tuple[str, str, Inverse, Inverse]]:
        """Inverses of quantities: name, unit, posterior and prior."""
        source, inverses = self.request.source, []
        posterior, prior = self.found.posterior.quantiles, self.found.prior.quantiles
        for i, each in enumerate(source.own_quantities, start=len(source.axes)):
            if each.inverse is not None:
                name, unit, factor = each.inverse
                given, there = Inverse.of(posterior[:, i], factor), Inverse.of(prior[:, i], factor)
                inverses.append((name, unit, given, there))
        return inverses

    @property
    def finding(self) -> str:
        """The scenario's main quantity, if the model fits."""
        if not self.is_complete:
            return "Released; the posterior is not computed yet"
        if self.found.fit.is_misfit:
            return "The model hardly ever makes such numbers"
        source = self.request.source
        row = next(row for row in self.rows() if row.name == source.own_headline)
        return source.own_finding.format(low=row.low, high=row.high)

    @property
    def settings(self) -> str:
        """Budget, mechanism and, if it is public, size."""
        rows = self.request.source.own_rows
        size = f", {self.n:,} {rows}" if self.request.tells_size else ""
        return f"{self.request.spends}, private summary{size}; mean, 90 % interval"

    @property
    def marks_in_words(self) -> str:
        """Posterior and prior."""
        several = " Lines without a diamond: several modes." if self.modes else ""
        return (
            "Diamond: mean. Line: 90 % interval, which includes the noise. Gray: prior mean and "
            f"90 % interval.{several}"
        )

    @property
    def remarks(self) -> str:
        """The fit, unless it is a misfit; where the posterior piles up; how it was computed."""
        if not self.is_complete:
            return ""
        fit = self.found.fit
        if self.is_withheld:
            return WITHHELD
        stated = () if fit.is_misfit else (fit.statement,)
        return " ".join([*stated, *fit.remarks, *self.found.summary.shape, self.found.how])

    def table(self) -> pd.DataFrame:
        """Return posterior and prior mean of each quantity, with 90 % intervals."""
        if not self.is_complete or self.is_withheld:
            z = [*map(amount, self.natural(self.z))]
            return pd.DataFrame({"released": self.names, "with noise": z})
        rows = [
            (row.name, row.mean if row.mean.endswith("modes") else f"{row.mean}{row.unit}",
             f"{row.low} to {row.high}{row.unit}",
             f"{row.prior}{row.unit}", f"{row.prior_low} to {row.prior_high}{row.unit}")
            for row in self.rows()
        ]  # fmt: skip
        for name, unit, given, there in self._inverses():
            rows.append((f"{name} (median)", *given.in_words(unit), *there.in_words(unit)))
        for words, now, before, remark in self._probabilities():
            alone = ", forced by the prior" if remark else ""
            rows.append((f"P({words}){alone}", now, "", before, ""))
        heads = ["quantity", "mean", "90 % interval", "prior mean", "prior 90 % interval"]
        return pd.DataFrame(rows, columns=heads)

    def exactness(self) -> str:
        """Return which parts are exact."""
        own = ""
        if self.request.table is not None:
            own = " What is released is rounded to a public lattice first."
        return (
            "The numbers, their noise and the sums are exact, in whole numbers. The posterior is "
            "computed from what was released, by public simulations, so it is approximate; it "
            f"holds if the data follow the model.{own}"
        )

    def contents(self) -> dict[str, Any]:
        """Return the numbers, and means, intervals, probabilities and draws."""
        table = self.request.table
        model = {} if table is None else {"model": {"file": table.file, "sha256": table.digest}}
        units = {} if table is None else {"in_their_units": self.natural(self.z).tolist()}
        return {
            **model,
            "release": {
                "names": list(self.names),
                "whole_numbers": list(self.released),
                "divided_by": list(self.whole),
                **units,
            },
            "posterior": self._posterior() if self.is_complete else None,
        }

    def _posterior(self) -> dict[str, Any]:
        """The posterior, ready for JSON."""
        inferred, posterior, prior = self.found, self.found.posterior, self.found.prior
        fit = inferred.fit.record()
        if self.is_of_0_3_0:
            del fit["checked"]
        several = {self.parameters[place].name: each.region for place, each in self.modes.items()}
        known = inferred.summary.shape[len(several) :]
        made = {
            "way": inferred.summary.way,
            "effective_sample_size": inferred.summary.effective,
            "rounds": list(inferred.rounds),
            "failed": inferred.summary.failed,
            "fit": fit,
            "parameters": [each.name for each in self.parameters],
            "units": [each.unit for each in self.parameters],
            "level": LEVEL,
        }
        if self.is_withheld:
            return {**made, "withheld": WITHHELD, "draws": []}
        return {
            **made,
            "means": posterior.mean.tolist(),
            "intervals": posterior.quantiles[[0, 2]].T.tolist(),
            **({"regions": several} if several else {}),
            **({"combinations": known} if known else {}),
            "prior_means": prior.mean.tolist(),
            "prior_intervals": prior.quantiles[[0, 2]].T.tolist(),
            "further": [
                {"name": name, "unit": unit, "median": given.median,
                 "interval": [given.shortest, given.longest], "prior_median": there.median,
                 "prior_interval": [there.shortest, there.longest]}
                for name, unit, given, there in self._inverses()
            ],
            "probabilities": [
                {"statement": each.words, "probability": given, "prior": there,
                 "remark": each.remark}
                for each, given, there in self._questions()
            ],
            "weights": "equal",
            "draws": self.sample.tolist(),
        }  # fmt: skip

    def axes(self) -> list[tuple[float, float]]:
        """Return the ends of each row's axis: the scenario's, widened to the intervals."""
        source = self.request.source
        more = [(each.low, each.high) for each in source.own_quantities]
        usual = np.array([*source.axes.values(), *more]).T
        posterior, prior = self.found.posterior.quantiles, self.found.prior.quantiles
        shown = prior if self.is_withheld else posterior
        low = np.minimum.reduce([usual[0], shown[0], prior[0]])
        high = np.maximum.reduce([usual[1], shown[2], prior[2]])
        return [*zip(low.tolist(), high.tolist(), strict=True)]

    def marks(self, row: int) -> Marks:
        """Return interval and mean of prior and posterior."""
        posterior, prior = self.found.posterior, self.found.prior
        before: Marks = [
            (picture.PRIOR_INTERVAL, prior.quantiles[[0, 2], row]),
            (picture.PRIOR, prior.mean[row : row + 1]),
        ]
        if self.is_withheld:
            return before
        if row in self.modes:
            ends = map(np.array, self.modes[row].region)
            return [*before, *((picture.INTERVAL, each) for each in ends)]
        return [
            *before,
            (picture.INTERVAL, posterior.quantiles[[0, 2], row]),
            (picture.ESTIMATE, posterior.mean[row : row + 1]),
        ]

    def value_text(self, row: int) -> str:
        """Return mean and interval."""
        if self.is_withheld:
            return "not shown"
        words = self.rows()[row]
        if row in self.modes:
            return words.mean
        return f"{words.mean} ({words.low} to {words.high}){words.unit}"

    def fit_rows(self) -> tuple[list[Row], str]:
        """Return some released numbers beside the model's simulations, and a caption."""
        if not self.is_complete:
            return [], ""
        fit, names = self.found.fit, self.names
        z, band = self.natural(self.z), self.natural(fit.band)
        odd = {each.name for each in fit.numbers}
        shown = sorted(range(len(names)), key=lambda place: names[place] not in odd)[:SHOWN]
        rows = []
        for place in sorted(shown):
            value, (low, middle, high) = z[place], band[:, place]
            reach = 0.2 * max(high - low, 1e-9)
            ends = min(low, value) - reach, max(high, value) + reach
            marks = [(picture.MADE, np.array([low, high])), (picture.RELEASED, np.array([value]))]
            words = f"{amount(value, 4)}; usual: {amount(middle, 4)}"
            rows.append(Row(names[place], words, *ends, marks))
        left_out = len(names) - len(rows)
        more = f" {counted(left_out, 'other number')} not shown." if left_out else ""
        return rows, f"Point: released. Line: {picture.MADE.name}.{more}"

    def pictures(self) -> dict[str, fig.CaptionedFigure]:
        """Return several modes, and the released numbers beside the model's simulations."""
        if not self.is_complete:
            return {}
        several = {"released-modes": modes_figure(self)} if self.modes else {}
        return several | {"released-fit": fit_figure(self)}


def fit_figure(document: PrivateSummaryRecord) -> fig.CaptionedFigure:
    """Return the released numbers beside the model's simulations."""
    fit = document.found.fit
    drawn = replicates(
        document.names,
        document.natural(document.z),
        document.natural(fit.band),
        [each.name for each in fit.numbers],
        fit.title,
        document.settings,
        is_series=document.request.source.is_series,
    )
    return fig.CaptionedFigure(drawn, " ".join([fit.statement, *fit.remarks]))


def modes_figure(document: PrivateSummaryRecord) -> fig.CaptionedFigure:
    """Return histograms of the parameters with several modes, and of their prior."""
    names = {place: document.parameters[place].name for place in document.modes}
    both = (fig.PRIVATE, document.sample), (fig.PRIOR, pool_of(document.request, document.n).values)
    samples = [
        pd.DataFrame({"release": style.name, "parameter": name, "sample": np.arange(len(values)),
                      "value": values[:, place], "weight": 1.0 / len(values)})
        for style, values in both for place, name in names.items()
    ]  # fmt: skip
    axes = {name: document.axes()[place] for place, name in names.items()}
    title = f"Several modes: {', '.join(names.values())}"
    drawn = fig.mirrored(axes, None, pd.concat(samples), title, document.settings, bars=True)
    return fig.CaptionedFigure(drawn, " ".join(document.found.summary.shape))


def _number(number: Fraction) -> str:
    """A whole number, or one with thirds."""
    text = str(number) if number.denominator == 1 else f"{float(number):.2f}"
    return text.replace("-", "\u2212")


def _probability(share: float, *, forced: bool) -> str:
    """A share of about 1000 draws; 0 and 1 only if the prior forces them."""
    if forced and share in (0.0, 1.0):
        return f"{share:.0f}"
    return "above 0.99" if share > 0.99 else "below 0.01" if share < 0.01 else f"{share:.2f}"

"""Models of records stated by a user, with functions that are checked at every call.

Draws whose simulation fails are refused or excluded.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import most_draws
from abcdp_core.models import priors
from abcdp_core.models.normalizing import PriorError, log_constant
from abcdp_core.models.own_model.parameter import LogDensity, Parameter, Sampler
from abcdp_core.models.own_model.statistics import OwnStatistic, check_text, refuse, take_numbers
from abcdp_core.models.own_model.time_limit import limited
from abcdp_core.models.own_model.user_errors import OwnError, call, described

Simulator = Callable[[np.random.Generator, Array, int], Array]

FEW_ROWS = 1000
"""Most records of the simulated tables that stand for large ones."""

MANY = 100
"""Number of draws among which any prior that varies has two different values."""

FEWEST, USUAL = 10, 10_000
"""Draws of a pool."""

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Column:
    """One number of a record, with its public bounds.

    Attributes:
        name: name of the column.
        low, high: public bounds; values outside are clipped, in the data and in simulations.
        whole: whether values are whole numbers, such as counts or codes.
        levels: categories of a categorical column, as in a file, coded from 0.
        missing: whether an empty cell is a level of its own, the last one.
    """

    name: str
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    levels: tuple[str, ...] = ()
    missing: bool = False

    def __post_init__(self) -> None:
        check_text("name of a column", self.name)
        refuse(f"column {self.name}: missing = True", {
            "needs levels, of which an empty cell is one.": self.missing and not self.levels,
        })  # fmt: skip
        if self.missing and "" not in self.levels:
            object.__setattr__(self, "levels", (*self.levels, ""))
        if self.levels:
            object.__setattr__(self, "high", len({*self.levels}) - 1.0)
            object.__setattr__(self, "whole", True)
        take_numbers(self, f"column {self.name}", ("low", "high"))
        is_empty = self.whole and math.ceil(self.low) > math.floor(self.high)
        refuse(f"column {self.name}: low = {self.low:g}, high = {self.high:g}", {
            "must be low < high.": self.low >= self.high,
            "there is no whole number between them.": is_empty,
            "levels must be different names.": len({*self.levels}) < len(self.levels),
        })  # fmt: skip


@dataclass(frozen=True)
class Model:
    """A model of records, and the numbers that may be released.

    Attributes:
        name: identifier; lower case with hyphens.
        title: name in words.
        parameters: the p parameters.
        columns: the d numbers of a record.
        unit: the unit of privacy, with its article: one record is "one person".
        simulate: maps a generator, parameters ``(k, p)`` and n to records ``(k, n, d)``.
        statistics: numbers of the data that may be released; optional.
        sizes: possible numbers n of records, rising.
        neighbours: ``replace``: one record is replaced, and n is public; ``add-remove``: one record
            is added or removed, and n is private. Data sets are then filled up to n records with
            rows of NaN.
        independent: whether a data set is n independent draws from one distribution, so its first
            records are a smaller data set. Dependent records need a single size.
        prior: draws all parameters ``(size, p)`` jointly, instead of their own priors.
        log_prior: log-density ``(m,)`` of ``prior`` at parameters ``(m, p)``, up to a constant.
        failures: treatment of simulations that raise, take too long, or give NaN outside absent
            records, or give no records: the model is ``refused``, or the draws are ``excluded``,
            which makes the prior conditional on success.
        truth: parameters at which data are simulated in place of private data; by default a draw
            from the prior.
        distance: ``numbers``, between statistics, the default if there are any; or ``records``, a
            kernel distance between records, for a public n.
        accepted: default number of draws to keep.
        pool_size: default number of draws in the pool; see :meth:`draws`.
        deterministic: whether ``simulate`` draws no random numbers; otherwise such a simulator is
            taken for one that does not use the generator it is given.
        is_series: whether the numbers of the statistics are a time series.
        simulate_numbers: maps a generator, parameters ``(k, p)`` and n to all numbers ``(k, m)`` of
            the statistics, as counts, means and sums, without records; NaN is a failure. Releases
            use it in place of ``simulate``.
        module, file: module and file of the model, known once it is loaded.
    """

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    unit: str
    simulate: Simulator = field(repr=False)
    statistics: tuple[OwnStatistic, ...] = ()
    sizes: tuple[int, ...] = (1000,)
    neighbours: Literal["replace", "add-remove"] = "replace"
    independent: bool = True
    prior: Sampler | None = field(default=None, repr=False)
    truth: tuple[float, ...] | None = None
    distance: Literal["", "numbers", "records"] = ""
    accepted: int = 10
    pool_size: int | None = None
    log_prior: LogDensity | None = field(default=None, repr=False)
    failures: Literal["refused", "excluded"] = "refused"
    deterministic: bool = False
    is_series: bool = False
    simulate_numbers: Simulator | None = field(default=None, repr=False)
    module: str = field(default="", compare=False)
    file: str = field(default="model", compare=False)

    SCENARIO_MADE_BY: ClassVar[str] = "abcdp_core.models.own_model.contract"
    """Module whose ``scenario`` turns the model into one, for :mod:`abcdp_core.base.registry`."""

    def __post_init__(self) -> None:
        for name in ("name", "title", "unit"):
            check_text(f"model: {name}", getattr(self, name))
        kinds = {"parameters": Parameter, "columns": Column, "statistics": OwnStatistic}
        for name, kind in kinds.items():
            several = tuple(getattr(self, name))
            object.__setattr__(self, name, several)
            for wrong in (each for each in several if not isinstance(each, kind)):
                raise ValueError(f"model {self.name}: {name}: {wrong} is not a {kind.__name__}.")
        object.__setattr__(self, "sizes", tuple(self.sizes))
        refuse(f"model {self.name}", _reasons(self))

    def rows(self, n: int) -> int:
        """Return how many records show what n would; fewer if numbers are simulated without."""
        is_sum = self.independent and all(each.is_sum for each in self.statistics)
        return min(n, FEW_ROWS) if is_sum and self.simulate_numbers is not None else n

    def draws(self, needed: int = FEWEST) -> int:
        """Return the number of draws in a pool; fewer than ``pool_size`` for large data sets.

        Args:
            needed: smallest number that is needed.
        """
        wanted = max(USUAL, needed) if self.pool_size is None else self.pool_size
        return min(wanted, max(needed, most_draws(max(self.sizes))))

    @property
    def low(self) -> Array:
        """Lower bounds of a record ``(d,)``."""
        return np.array([column.low for column in self.columns])

    @property
    def high(self) -> Array:
        """Upper bounds of a record ``(d,)``."""
        return np.array([column.high for column in self.columns])

    @property
    def distance_kind(self) -> str:
        """``numbers`` or ``records``."""
        return self.distance or ("numbers" if self.statistics else "records")

    def protected(self, *, by_numbers: bool) -> str:
        """Return the unit of privacy, and the condition if a sensitivity is declared.

        Args:
            by_numbers: whether the noise depends on the sensitivity of the statistics.
        """
        declared = [each.name for each in self.statistics if each.kind == "declared"]
        if not (by_numbers and declared):
            return self.unit
        return f"{self.unit}, if the sensitivity declared for {' and '.join(declared)} holds"

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draw parameters ``(size, p)`` from the prior.

        Raises:
            OwnError: the user's prior raises or draws invalid values.
        """
        if self.prior is not None:
            theta = self._drawn("prior", self.prior, rng, size, (size, len(self.parameters)))
        else:
            columns = []
            for each in (each for each in self.parameters if each.place == 0):
                k = len(each.concentrations)
                shape = (size, k) if k else (size,)
                drawn = self._drawn(f"prior of {each.name}", each.draw, rng, size, shape)
                columns.append(drawn.reshape(size, -1))
            theta = np.concatenate(columns, axis=1)
        for each, values in zip(self.parameters, theta.T, strict=True):
            what = ""
            if not ((each.low <= values) & (values <= each.high)).all():
                what = f"a value outside {each.low:g} to {each.high:g}"
            elif each.whole and not np.array_equal(values, np.rint(values)):
                what = "a value that is not a whole number"
            elif size >= MANY and np.ptp(values) == 0.0:
                what = f"only {values[0]:g}; make it a constant in simulate instead"
            if what:
                raise OwnError(f"{self.file}: prior of {each.name} draws {what}.")
        return theta

    def _drawn(
        self, what: str, prior: Sampler, rng: np.random.Generator, size: int, shape: tuple[int, ...]
    ) -> Array:
        """Call the user's prior and check the shape."""
        # A copy, since the function may reuse its array.
        drawn = np.array(call(self.file, what, prior, rng, size), dtype=np.float64)
        if drawn.shape != shape:
            raise OwnError(_wrong_shape(self.file, what, drawn.shape, shape))
        return drawn

    @property
    def prior_law(self) -> priors.Prior:
        """The prior, with its density if it is known.

        Raises:
            OwnError: ``log_prior`` is not the density of ``prior``, or cannot be normalized.
        """
        laws: tuple[priors.Distribution, ...] = tuple(
            each.law if self.prior is None else priors.Uniform(each.low, each.high, each.whole)
            for each in self.parameters
            if each.place == 0
        )
        densities = self._log_priors()
        if not densities:
            return priors.Prior(laws)
        if any(function is None for _, function, _ in densities):
            return priors.Prior(laws, self.draw)
        prior = priors.Prior(laws, self.draw, self._log_relative)
        try:
            return dataclasses.replace(prior, log_constant=log_constant(prior))
        except PriorError as error:
            names = " and ".join(name for name, _, _ in densities)
            raise OwnError(f"{self.file}: {names} {error}") from error

    def _log_priors(self) -> list[tuple[str, LogDensity | None, int | slice]]:
        """Return the name, log-density and parameters of each function that draws."""
        if self.prior is not None:
            return [("log_prior", self.log_prior, slice(None))]
        return [
            (f"log_prior of {each.name}", each.log_prior, place)
            for place, each in enumerate(self.parameters)
            if callable(each.prior)
        ]

    def _log_relative(self, theta: Array) -> Array:
        """Return the log-density ``(m,)`` of ``(m, p)`` relative to the stated distributions."""
        total = np.zeros(len(theta))
        for what, function, place in self._log_priors():
            assert function is not None
            values = np.asarray(call(self.file, what, function, theta[:, place].copy()))
            if values.shape != total.shape:
                raise OwnError(_wrong_shape(self.file, what, values.shape, total.shape))
            if not (values < math.inf).all():
                raise OwnError(f"{self.file}: {what} returns NaN or infinity.")
            total = total + values
        return total

    def records(self, rng: np.random.Generator, theta: Array, n: int) -> Array:
        """Simulate data sets ``(k, n, d)`` at parameters ``(k, p)``, clipped to the public bounds.

        Excluded failures are all NaN; see :meth:`failed`.

        Raises:
            OwnError: the simulator fails and failures are refused, or it returns something invalid
                or changes its parameters.
        """
        made, why = self.tried(rng, theta, n)
        if why and self.failures == "refused":
            raise OwnError(why)
        return made

    def failed(self, records: Array) -> NDArray[np.bool_]:
        """Return which simulations of data sets ``(k, n, d)`` failed, ``(k,)``."""
        return np.asarray(self._misplaced(records).any(axis=(1, 2)))

    def _misplaced(self, records: Array) -> NDArray[np.bool_]:
        """Find NaN outside absent records, and data sets without records."""
        missing = np.asarray(np.isnan(records))
        if self.neighbours == "add-remove":
            absent = np.asarray(missing.all(axis=-1), dtype=np.bool_)
            empty = np.asarray(absent.all(axis=1), dtype=np.bool_)
            missing &= (~absent | empty[:, None])[..., None]
        return missing

    def tried(self, rng: np.random.Generator, theta: Array, n: int) -> tuple[Array, str]:
        """Simulate as :meth:`records` does, and describe the first failure.

        Args:
            rng: random generator.
            theta: parameters ``(k, p)``.
            n: records of each data set.

        Returns:
            Data sets ``(k, n, d)``, all NaN where the simulation failed, and a sentence, empty
            without failures.

        Raises:
            OwnError: the simulator returns something invalid or changes its parameters; or it
                raises for several parameters but for none alone, and failures are refused.
        """
        again, reasons, error = copy.deepcopy(rng), {}, None
        try:
            made = self._simulated(rng, theta, n)
        except OwnError as raised:
            error = raised
            if not isinstance(error.__cause__, Exception):
                raise
            made = np.full((len(theta), n, len(self.columns)), np.nan)
            for row in range(len(theta)):
                try:
                    made[row] = self._simulated(again, theta[row : row + 1], n)[0]
                except OwnError as alone:
                    if not isinstance(alone.__cause__, Exception):
                        raise
                    reasons[row] = described(alone.__cause__, self.file)
        misplaced = self._misplaced(made)
        failed, message = misplaced.any(axis=(1, 2)), ""
        if failed.any():
            row, _, column = np.argwhere(misplaced)[0].tolist()
            partly = f"NaN in column {self.columns[column].name}"
            why = reasons.get(row, "only NaN" if np.isnan(made[row]).all() else partly)
            named = zip(self.parameters, theta[row], strict=True)
            where = ", ".join(f"{each.name} = {value:.6g}" for each, value in named)
            message = f"{self.file}: simulate fails at {where} ({why})."
        elif error is not None and self.failures == "refused" and not is_slow(error):
            raise error
        made = np.clip(made, self.low, self.high)
        made[failed] = np.nan
        return made, message

    def _simulated(self, rng: np.random.Generator, theta: Array, n: int) -> Array:
        """Call the user's simulator and check the result ``(k, n, d)``."""
        what, given = f"simulate with parameters {theta.shape}", theta.copy()
        # Several that take too long together are tried alone (:meth:`tried`).
        with limited(self.file, len(theta)):
            made = call(self.file, what, self.simulate, rng, given, n)
        if not np.array_equal(given, theta):
            raise OwnError(f"{self.file}: simulate changes the parameters it receives.")
        records = np.asarray(made)
        expected = (len(theta), n, len(self.columns))
        if records.shape != expected:
            raise OwnError(_wrong_shape(self.file, "simulate", records.shape, expected))
        if records.dtype.kind not in "fiub":
            raise OwnError(f"{self.file}: simulate returns {records.dtype} instead of numbers.")
        return records.astype(np.float64, copy=False)

    def moves(self) -> tuple[float, float]:
        """Return the L1 and L2 sensitivity of all numbers together, in units."""
        each = [statistic.moves(self.neighbours) for statistic in self.statistics]
        room = 1.0 + 1e-12
        return room * sum(one for one, _ in each), room * math.hypot(*(two for _, two in each))


def is_slow(error: OwnError) -> bool:
    """Whether simulations took too long."""
    return isinstance(error.__cause__, TimeoutError)


def _wrong_shape(file: str, what: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    return f"{file}: {what} returns an array of shape {shape}; it must be {wanted}."


def _reasons(model: Model) -> dict[str, bool]:
    """Map each reason against a model to whether it applies."""
    added, sizes = model.neighbours == "add-remove", list(model.sizes)
    has_statistics = bool(model.statistics)
    declared = any(not each.is_sum for each in model.statistics)
    numbers = [name for each in model.statistics for name in each.names]
    # Histograms of the same name would share a group, in which a record counts only once.
    named = {
        "parameters": [each.name for each in model.parameters],
        "columns": [each.name for each in model.columns],
        "numbers of the statistics": numbers,
        "statistics": [each.name for each in model.statistics],
    }
    counted = [size for size in sizes if isinstance(size, int) and size > 0]
    choices = {
        "neighbours": ("replace", "add-remove"),
        "distance": ("", "numbers", "records"),
        "failures": ("refused", "excluded"),
    }
    wrong = {
        f"{name} = {getattr(model, name)}: must be {' or '.join(filter(None, options))}."
        for name, options in choices.items()
        if getattr(model, name) not in options
    }
    pool_size = FEWEST if model.pool_size is None else model.pool_size
    placed = [(each.concentrations, each.place) for each in model.parameters]
    in_order = [
        (each.concentrations, place)
        for each in model.parameters
        if each.place == 0
        for place in range(max(len(each.concentrations), 1))
    ]
    of_shares = any(each.concentrations for each in model.parameters)
    single = not model.independent or added or declared
    return dict.fromkeys(wrong, True) | {
        "name must be in lower case with hyphens.": not NAME.fullmatch(model.name),
        "parameters must not be empty.": not model.parameters,
        "columns must not be empty.": not model.columns,
        **{f"two {what} have the same name.": len({*of}) < len(of) for what, of in named.items()},
        f"sizes = {model.sizes}: must be rising whole numbers above 0.":
            not sizes or sizes != sorted(set(counted)),
        f"sizes = {model.sizes}: must be a single size, since records depend on each other, their "
        f"number is private, or a statistic is declared.": single and len(sizes) > 1,
        "a mean needs a public number of records; use total.":
            added and any(each.kind == "mean" for each in model.statistics),
        "statistics must not be empty where records are added or removed.":
            added and not has_statistics,
        "distance = records: needs a public number of records.":
            added and model.distance == "records",
        "distance = numbers: needs statistics.":
            model.distance == "numbers" and not has_statistics,
        "simulate_numbers: needs statistics.":
            model.simulate_numbers is not None and not has_statistics,
        f"pool_size = {model.pool_size}: must be a whole number of at least {FEWEST}.":
            not isinstance(pool_size, int) or pool_size < FEWEST,
        "log_prior: needs a function for prior.":
            model.log_prior is not None and model.prior is None,
        "prior: shares of a whole already have a joint prior.":
            model.prior is not None and of_shares,
        "shares of a whole must be together and in order.": placed != in_order,
        f"truth = {model.truth}: must be one number for each parameter.":
            model.truth is not None and len(model.truth) != len(model.parameters),
    }  # fmt: skip


def one_at_a_time(simulate: Callable[[np.random.Generator, Array, int], Array]) -> Simulator:
    """Turn a simulator of one parameter set ``(p,)`` to ``(n, d)`` into one for many."""

    def many(rng: np.random.Generator, theta: Array, n: int) -> Array:
        return np.stack([simulate(rng, each, n) for each in theta])

    return many

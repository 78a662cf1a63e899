"""A model of one's own: what a person knows, and nothing else.

A prior is uniform, log-uniform or normal, of whole numbers or of shares of a whole, or a function
with or without its log-density. Draws whose simulation fails are refused or excluded.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from abcdp_core.own_model.blame import OwnError, call, described
from abcdp_core.own_model.statistics import (
    MASKED,
    SMALLEST,
    OwnStatistic,
    check_texts,
    take_plain,
)
from abcdp_core.parameters import most_draws
from abcdp_core.posterior import priors

Array = NDArray[np.float64]
Simulator = Callable[[np.random.Generator, Array, int], Array]
Law = Callable[[np.random.Generator, int], Array]
LogDensity = Callable[[Array], Array]

MANY = 100
"""Draws among which a prior that has several values at all has two of them."""

FEWEST, USUAL = 10, 10_000
"""Draws of a pool."""

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Parameter:
    """An unknown of the model, and its prior.

    Attributes:
        name: what it goes by.
        low, high: public bounds; no draw lies outside.
        unit: of its values, empty if none.
        prior: ``uniform`` between the bounds; ``log-uniform``, uniform in its logarithm, with
            bounds above 0; ``normal``, about their middle with a quarter of their distance for
            standard deviation, cut at the bounds; or a function of ``(rng, size)`` that draws
            ``(size,)``. Shares of a whole are made by :func:`shares`.
        whole: whether it is a whole number, as its bounds then are; not with ``normal``.
        log_prior: for a function ``prior``, its log-density ``(m,)`` at values ``(m,)``, up to a
            constant.
        concentrations, place: set by :func:`shares`: those of all shares, and which share this is.
    """

    name: str
    low: float
    high: float
    unit: str = ""
    prior: Literal["uniform", "log-uniform", "normal"] | Law = "uniform"
    # Not in the repr, of which the digest of a pool made elsewhere is taken.
    whole: bool = field(default=False, repr=False)
    log_prior: LogDensity | None = field(default=None, repr=False)
    concentrations: tuple[float, ...] = field(default=(), repr=False)
    place: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        """Check the bounds and the prior.

        Raises:
            ValueError: they are not what they may be.
        """
        check_texts("a parameter", name=self.name)
        check_texts(f"parameter {self.name}", unit=self.unit)
        take_plain(self, f"parameter {self.name}", ("low", "high"))
        if not self.high - self.low >= SMALLEST:
            raise ValueError(
                f"parameter {self.name}: low = {self.low:g}, high = {self.high:g}: must be "
                f"low < high, {SMALLEST:g} apart or more."
            )
        bounds = f"low = {self.low:g}, high = {self.high:g}"
        cases = {
            f"prior = {self.prior}: must be uniform, log-uniform, normal or a function.": not (
                callable(self.prior) or self.prior in ("uniform", "log-uniform", "normal")
            ),
            f"{bounds}: must be above 0, as the prior is log-uniform.": self.prior == "log-uniform"
            and self.low <= 0.0,
            f"{bounds}: must be whole numbers, as the parameter is one.": self.whole
            and not (self.low.is_integer() and self.high.is_integer()),
            "prior = normal: must be another one for a whole number.": self.whole
            and self.prior == "normal",
            "log_prior: needs a function for prior.": self.log_prior is not None
            and not callable(self.prior),
        }
        for reason in (reason for reason, wrong in cases.items() if wrong):
            raise ValueError(f"parameter {self.name}: {reason}")

    @property
    def law(self) -> priors.Law:
        """Its prior; uniform where a function draws, and that of all shares where it is one."""
        if self.concentrations:
            return priors.Dirichlet(self.concentrations)
        if self.prior == "log-uniform":
            return priors.LogUniform(self.low, self.high, self.whole)
        if self.prior == "normal":
            middle, quarter = (self.low + self.high) / 2.0, (self.high - self.low) / 4.0
            return priors.Normal(middle, quarter, self.low, self.high)
        return priors.Uniform(self.low, self.high, self.whole)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draws ``(size,)`` from the prior; of all k shares ``(size, k)`` where it is one."""
        if callable(self.prior):
            return self.prior(rng, size)
        if self.concentrations:
            return rng.dirichlet(self.concentrations, size)
        uniform = rng.random(size)
        if self.whole or self.prior == "log-uniform":
            return self.law.theta(special.ndtri(uniform)[:, None])[:, 0]
        if self.prior == "normal":
            # The bounds are two standard deviations from the middle.
            ends = special.ndtr(np.array([-2.0, 2.0]))
            share = special.ndtri(ends[0] + uniform * (ends[1] - ends[0])) / 4.0 + 0.5
        else:
            share = uniform
        found: Array = np.clip(self.low + share * (self.high - self.low), self.low, self.high)
        return found


def shares(
    names: Sequence[str], concentration: Sequence[float] | None = None, unit: str = ""
) -> tuple[Parameter, ...]:
    """Parameters that are at least 0 and add up to 1, with a joint Dirichlet prior.

    They go into a model's ``parameters`` next to each other: ``(*shares(("a", "b", "c")), ...)``.

    Args:
        names: of the shares, at least two.
        concentration: of each, above 0; all 1 if not given, so that the prior is flat.
        unit: of the values.

    Raises:
        ValueError: there is a single share, or a concentration is missing or not above 0.
    """
    stated = [1.0] * len(names) if concentration is None else concentration
    given = tuple(float(each) for each in stated)
    if not 2 <= len(names) == len(given) or not all(0.0 < each < math.inf for each in given):
        raise ValueError(
            f"shares {', '.join(names)}: concentration = {concentration}: must be one number above "
            f"0 for each of two or more shares."
        )
    return tuple(
        Parameter(name, 0.0, 1.0, unit, concentrations=given, place=place)
        for place, name in enumerate(names)
    )


@dataclass(frozen=True)
class Column:
    """One number of a record, and what is publicly known of it.

    Attributes:
        name: what it goes by.
        low, high: public bounds; what lies outside counts as the nearer one, in the data and in
            what is simulated.
        whole: whether it is a whole number, such as a count or a code.
    """

    name: str
    low: float
    high: float
    whole: bool = False

    def __post_init__(self) -> None:
        """Check the bounds.

        Raises:
            ValueError: they are not finite, or do not rise, or there is nothing between them.
        """
        check_texts("a column", name=self.name)
        take_plain(self, f"column {self.name}", ("low", "high"))
        bounds = f"column {self.name}: low = {self.low:g}, high = {self.high:g}"
        if not self.low < self.high:
            raise ValueError(f"{bounds}: must be low < high.")
        if self.whole and math.ceil(self.low) > math.floor(self.high):
            raise ValueError(f"{bounds}: no whole number lies between them.")


@dataclass(frozen=True)
class Model:
    """A model of records, and what may be released of them.

    Attributes:
        name: by which it is chosen; lower case with hyphens.
        title: the name in words.
        parameters: the p unknowns.
        columns: the d numbers of a record.
        unit: whose privacy is protected, with its article: one record is one "person".
        simulate: generator, parameters ``(k, p)`` and n to records ``(k, n, d)``.
        statistics: numbers of the data that may be released; none, if distances have to do.
        sizes: numbers n of records that are looked at, rising.
        neighbours: ``replace``: one record is replaced by another, and n is public;
            ``add-remove``: one record is added or removed, and n is private. Then data sets are
            filled up to n records with such that are all NaN.
        independent: whether a data set of n records is n draws of the same law, so that the first
            of them are a smaller data set. Where records depend on each other there is one size.
        prior: draws parameters ``(size, p)`` together, instead of each by its own prior.
        log_prior: its log-density ``(m,)`` at parameters ``(m, p)``, up to a constant.
        failures: what happens where a simulation fails, which is where it makes NaN that is no
            absent record, or no record at all, or raises: the model is ``refused``, or such draws
            are ``excluded``, so that the prior is the one given that simulations do not fail.
        truth: parameters at which data are simulated that stand for the private ones; a draw from
            the prior if not given.
        distance: between data sets: ``numbers``, of their statistics, the default where there are
            any; or ``records``, a kernel distance of records, where n is public.
        accepted: draws that a study accepts unless it is told otherwise.
        pool_size: draws in the pool unless told otherwise; if not given :data:`USUAL`, or as many
            as are needed. See :meth:`draws`.
        is_series: whether the numbers of the statistics follow one another in time.
        module, file: that state it; known once they are read.
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
    prior: Law | None = field(default=None, repr=False)
    truth: tuple[float, ...] | None = None
    distance: Literal["", "numbers", "records"] = ""
    accepted: int = 10
    pool_size: int | None = None
    log_prior: LogDensity | None = field(default=None, repr=False)
    failures: Literal["refused", "excluded"] = "refused"
    is_series: bool = False
    module: str = field(default="", compare=False)
    file: str = field(default="model", compare=False)

    def __post_init__(self) -> None:
        """Check that all that is stated fits together.

        Raises:
            ValueError: it does not; what and where.
        """
        check_texts("model", name=self.name, title=self.title, unit=self.unit)
        kinds = {"parameters": Parameter, "columns": Column, "statistics": OwnStatistic}
        for name, kind in (kinds | {"sizes": object}).items():
            given = getattr(self, name)
            if not isinstance(given, Iterable):
                raise ValueError(f"model {self.name}: {name} = {given}: must be a tuple, as (…,).")
            several = tuple(given)
            for wrong in (each for each in several if not isinstance(each, kind)):
                raise ValueError(f"model {self.name}: {name}: {wrong} is no {kind.__name__}.")
            object.__setattr__(self, name, several)
        for reason in _reasons(self):
            raise ValueError(f"model {self.name}: {reason}")

    def draws(self, needed: int = FEWEST) -> int:
        """Draws in a pool: of large data sets fewer than ``pool_size``.

        As many as may be simulated of the largest size, as of any scenario, or as many as are
        needed.

        Args:
            needed: how many that is.
        """
        wanted = max(USUAL, needed) if self.pool_size is None else self.pool_size
        return min(wanted, max(needed, most_draws(max(self.sizes))))

    def scenario(self, module: str, file: str) -> ModuleType:
        """The model as a scenario.

        Args:
            module: name of the module that states it, by which what it makes is kept.
            file: name of its file, for what is said of errors in it.
        """
        # Inside the function: who writes a model needs no distances yet.
        from abcdp_core.own_model import contract

        return contract.scenario(dataclasses.replace(self, module=module, file=file))

    @property
    def low(self) -> Array:
        """Lower bounds of a record's numbers ``(d,)``."""
        return np.array([column.low for column in self.columns])

    @property
    def high(self) -> Array:
        """Upper bounds of a record's numbers ``(d,)``."""
        return np.array([column.high for column in self.columns])

    @property
    def distance_kind(self) -> str:
        """``numbers`` or ``records``."""
        return self.distance or ("numbers" if self.statistics else "records")

    def protected(self, *, by_numbers: bool) -> str:
        """Whose privacy is protected, and on what condition where somebody declared something.

        Args:
            by_numbers: whether noise follows the sensitivity of the statistics.
        """
        said = [each.name for each in self.statistics if each.kind == "declared"]
        if not (by_numbers and said):
            return self.unit
        return f"{self.unit}, if the sensitivity declared for {' and '.join(said)} holds"

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Parameters ``(size, p)`` from the prior.

        Raises:
            OwnError: the person's prior raises, or makes something else.
        """
        count = len(self.parameters)
        if self.prior is not None:
            drawn = call(self.file, "prior", self.prior, rng, size)
            # A copy: the function may return the same array, with other numbers, next time.
            theta = np.array(drawn, dtype=np.float64)
        else:
            columns: list[Array] = []
            for each in (each for each in self.parameters if each.place == 0):
                values = np.asarray(call(self.file, f"prior of {each.name}", each.draw, rng, size))
                if values.shape != (size,) and not each.concentrations:
                    raise OwnError(
                        f"{self.file}: prior of {each.name} makes an array {values.shape}; it "
                        f"must be ({size},)."
                    )
                columns.extend(values.T if each.concentrations else [values])
            theta = np.stack(columns, axis=1).astype(np.float64)
        if theta.shape != (size, count):
            raise OwnError(
                f"{self.file}: prior makes an array {theta.shape}; it must be ({size}, {count})."
            )
        for each, values in zip(self.parameters, theta.T, strict=True):
            if not ((each.low <= values) & (values <= each.high)).all():
                raise OwnError(
                    f"{self.file}: prior of {each.name} draws a value outside {each.low:g} to "
                    f"{each.high:g}."
                )
            if each.whole and not np.array_equal(values, np.rint(values)):
                raise OwnError(f"{self.file}: prior of {each.name} draws what is no whole number.")
            if size >= MANY and np.ptp(values) == 0.0:
                raise OwnError(
                    f"{self.file}: prior of {each.name} draws {values[0]:g} alone, so there is "
                    f"nothing to learn of it; leave it out."
                )
        return theta

    @property
    def prior_law(self) -> priors.Prior:
        """The prior with its density; without one where a function draws and none is given."""
        laws: tuple[priors.Law, ...] = tuple(
            each.law if self.prior is None else priors.Uniform(each.low, each.high, each.whole)
            for each in self.parameters
            if each.place == 0
        )
        densities = self._log_priors()
        if not densities:
            return priors.Prior(laws)
        known = all(function is not None for _, function, _ in densities)
        relative = self._log_relative if known else None
        return priors.Prior(laws, self.draw, relative, is_normalised=False)

    def _log_priors(self) -> list[tuple[str, LogDensity | None, int | slice]]:
        """Of each function that draws: its log-density's name, that, and of which parameters."""
        if self.prior is not None:
            return [("log_prior", self.log_prior, slice(None))]
        return [
            (f"log_prior of {each.name}", each.log_prior, place)
            for place, each in enumerate(self.parameters)
            if callable(each.prior)
        ]

    def _log_relative(self, theta: Array) -> Array:
        """Log-density ``(m,)`` of parameters ``(m, p)`` relative to the laws that are stated.

        Raises:
            OwnError: a person's function raises, or makes something else.
        """
        found = np.zeros(len(theta))
        for what, function, place in self._log_priors():
            given = theta[:, place].copy()
            values = np.asarray(call(self.file, what, function, given))  # type: ignore[arg-type]
            if values.shape != found.shape or values.dtype.kind not in "fiub":
                raise OwnError(
                    f"{self.file}: {what} makes an array {values.shape} of {values.dtype}; it must "
                    f"be {found.shape}, of numbers."
                )
            if not (values < math.inf).all():
                raise OwnError(f"{self.file}: {what} makes NaN or infinity.")
            found = found + values
        return found

    def records(self, rng: np.random.Generator, theta: Array, n: int) -> Array:
        """Data sets ``(k, n, d)`` at parameters ``(k, p)``, within the public bounds.

        Where simulations that fail are excluded, theirs are all NaN; see :meth:`failed`.

        Raises:
            OwnError: the person's simulator fails unless that is excluded, makes something else, or
                changes the parameters that it is given.
        """
        made, said = self.tried(rng, theta, n)
        if said and self.failures == "refused":
            raise OwnError(said)
        return made

    def failed(self, records: Array) -> NDArray[np.bool_]:
        """Which data sets ``(k, n, d)`` are of simulations that failed, ``(k,)``."""
        return np.asarray(self._misplaced(records).any(axis=(1, 2)))

    def _misplaced(self, records: Array) -> NDArray[np.bool_]:
        """Where data sets hold NaN that is no absent record, or there is no record at all."""
        missing = np.asarray(np.isnan(records))
        if self.neighbours == "add-remove":
            absent = np.asarray(missing.all(axis=-1), dtype=np.bool_)
            empty = np.asarray(absent.all(axis=1), dtype=np.bool_)
            missing &= (~absent | empty[:, None])[..., None]
        return missing

    def tried(self, rng: np.random.Generator, theta: Array, n: int) -> tuple[Array, str]:
        """Data sets as of :meth:`records`, all NaN where that fails, and how it fails first.

        Args:
            rng: source of all chance.
            theta: parameters ``(k, p)``.
            n: records of each data set.

        Returns:
            Data sets ``(k, n, d)``, and a sentence, empty if none failed.

        Raises:
            OwnError: the simulator makes something else, or changes its parameters; or it fails at
                many parameters, at none of them alone, and failures are refused.
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
        failed, said = misplaced.any(axis=(1, 2)), ""
        if failed.any():
            row, _, column = np.argwhere(misplaced)[0].tolist()
            partly = f"NaN in column {self.columns[column].name}"
            why = reasons.get(row, "nothing but NaN" if np.isnan(made[row]).all() else partly)
            named = zip(self.parameters, theta[row], strict=True)
            where = ", ".join(f"{each.name} = {value:.6g}" for each, value in named)
            said = f"{self.file}: simulate fails at {where} ({why})."
        elif error is not None and self.failures == "refused":
            raise error
        made = np.clip(made, self.low, self.high)
        made[failed] = np.nan
        return made, said

    def _simulated(self, rng: np.random.Generator, theta: Array, n: int) -> Array:
        """What the person's simulator makes ``(k, n, d)``.

        Raises:
            OwnError: it raises, makes no such array, or changes the parameters.
        """
        what, given = f"simulate with parameters {theta.shape}", theta.copy()
        made = call(self.file, what, self.simulate, rng, given, n)
        if not np.array_equal(given, theta):
            raise OwnError(f"{self.file}: simulate changes the parameters that it is given.")
        if np.ma.isMaskedArray(made):
            raise OwnError(f"{self.file}: simulate: {MASKED}")
        records = np.asarray(made)
        expected = (len(theta), n, len(self.columns))
        if records.shape != expected:
            raise OwnError(
                f"{self.file}: simulate makes an array {records.shape}; it must be {expected}."
            )
        if records.dtype.kind not in "fiub":
            raise OwnError(f"{self.file}: simulate makes an array of {records.dtype}, no numbers.")
        return records.astype(np.float64, copy=False)

    def numbers(self, records: Array) -> Array:
        """All numbers ``(..., k)`` of data sets ``(..., n, d)``, each in its unit.

        Whatever the records are, they count as if they were within the public bounds.

        Raises:
            OwnError: a person's statistic raises, or makes something else.
        """
        parts = []
        for each in self.statistics:
            # Each has a copy of its own, which it may spoil.
            within = np.clip(records, self.low, self.high)
            found = call(self.file, f"statistic {each.name}", each.numbers, within, self.neighbours)
            if not np.isfinite(found).all():
                raise OwnError(f"{self.file}: statistic {each.name} makes NaN or infinity.")
            parts.append(found)
        return np.concatenate(parts, axis=-1)

    def moves(self) -> tuple[float, float]:
        """L1 and L2 sensitivity of all numbers together, each in its unit."""
        each = [statistic.moves(self.neighbours) for statistic in self.statistics]
        room = 1.0 + 1e-12
        return room * sum(one for one, _ in each), room * math.hypot(*(two for _, two in each))


def _reasons(model: Model) -> list[str]:
    """Why a model cannot be used, a sentence each."""
    sizes = list(model.sizes)
    derived = all(each.kind != "declared" for each in model.statistics)
    single = not model.independent or model.neighbours == "add-remove" or not derived
    names = [column.name for column in model.columns]
    unknowns = [parameter.name for parameter in model.parameters]
    statistics = [each.name for each in model.statistics]
    numbers = [name for each in model.statistics for name in each.names]
    cases = {
        "name must be in lower case with hyphens.": not NAME.fullmatch(model.name),
        "parameters must not be empty.": not unknowns,
        "columns must not be empty.": not names,
        "two parameters have one name.": len(set(unknowns)) < len(unknowns),
        "two columns have one name.": len(set(names)) < len(names),
        "two numbers of the statistics have one name.": len(set(numbers)) < len(numbers),
        # Cells of one name count as one group, of which a record is in one cell at most.
        "two statistics have one name.": len(set(statistics)) < len(statistics),
        f"sizes = {model.sizes}: must be rising whole numbers above 0.": not sizes
        or sizes != sorted(set(sizes))
        or not all(isinstance(size, int) and size > 0 for size in sizes),
        f"sizes = {model.sizes}: must be one, as records depend on each other, their number is "
        f"private, or a statistic is declared.": single and len(sizes) > 1,
        f"neighbours = {model.neighbours}: must be replace or add-remove.": model.neighbours
        not in ("replace", "add-remove"),
        "a mean needs a public number of records; use total.": model.neighbours == "add-remove"
        and any(each.kind == "mean" for each in model.statistics),
        "statistics must not be empty where records are added or removed.": model.neighbours
        == "add-remove"
        and not model.statistics,
        f"distance = {model.distance}: must be numbers or records.": model.distance
        not in ("", "numbers", "records"),
        "distance = records: needs a public number of records.": model.distance == "records"
        and model.neighbours == "add-remove",
        "distance = numbers: there are no statistics.": model.distance == "numbers"
        and not model.statistics,
        f"pool_size = {model.pool_size}: must be a whole number from {FEWEST} up.": (
            model.pool_size is not None
            and (not isinstance(model.pool_size, int) or model.pool_size < FEWEST)
        ),
        "log_prior: needs a function for prior.": model.log_prior is not None
        and model.prior is None,
        "prior: shares of a whole have a prior of their own.": model.prior is not None
        and any(each.concentrations for each in model.parameters),
        "shares of a whole must be next to each other, in their order.": [
            (each.concentrations, each.place) for each in model.parameters
        ]
        != [
            (each.concentrations, place)
            for each in model.parameters
            if each.place == 0
            for place in range(max(len(each.concentrations), 1))
        ],
        f"failures = {model.failures}: must be refused or excluded.": model.failures
        not in ("refused", "excluded"),
        f"truth = {model.truth}: must be one number for each parameter.": model.truth is not None
        and len(model.truth) != len(unknowns),
    }
    return [reason for reason, wrong in cases.items() if wrong]


def one_at_a_time(simulate: Callable[[np.random.Generator, Array, int], Array]) -> Simulator:
    """A simulator of many parameters from one that takes a single set ``(p,)`` to ``(n, d)``."""

    def many(rng: np.random.Generator, theta: Array, n: int) -> Array:
        return np.stack([simulate(rng, each, n) for each in theta])

    return many

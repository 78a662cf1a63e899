"""Parameters: default, bounds, unit, label and help of everything that a person can set.

The ``Params`` of a study is a frozen dataclass whose fields are made by :meth:`Parameter.field`.
Widgets, links, the command line and tests all read the same :class:`Parameter`. A value outside its
range is a :class:`ParameterError`, one line with the name, the value and the range.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

Scalar = float | int | bool | str
Kind = Literal["real", "integer", "switch", "choice"]

WORK_LIMIT = 200_000_000
"""Largest ``n * pool_size``: simulated points of one pool."""

ALWAYS_POSSIBLE = 1000
"""Draws that a pool may hold at any size of data, because a regression needs that many."""

MOST_ROWS = 5_000_000
"""Largest number of rows of a result: about a gigabyte while it is made."""

LONGEST_LIST = 100
"""Most values of one parameter; a longer list is refused before it is parsed."""

LONGEST_NUMBER = 100
"""Most characters of a number."""

LONGEST_SHOWN = 60
"""Most characters of a value in a sentence."""

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A number in text. Python also reads 1_0, other scripts and words such as Infinity."""


class ParameterError(ValueError):
    """A parameter is unknown, of the wrong type or out of range; one line says which and why."""


@dataclass(frozen=True)
class Parameter:
    """One thing a person can set.

    Attributes:
        kind: type of its values.
        label: a few words for a widget.
        help: one or two sentences.
        low, high: inclusive bounds of a real or an integer.
        options: the only allowed values (a choice, or an integer on a fixed grid).
        steps: suggested round values within the bounds, for a slider; empty for an even scale.
        special: values allowed outside the bounds, such as ``inf`` for no noise.
        unit: unit of a real, empty if it has none.
    """

    kind: Kind
    label: str
    help: str = ""
    low: float = -math.inf
    high: float = math.inf
    options: tuple[Scalar, ...] = ()
    steps: tuple[float, ...] = ()
    special: tuple[Scalar, ...] = ()
    unit: str = ""

    def field(self, default: Any, *, many: bool = False) -> Any:
        """Return a dataclass field of several values if ``many`` or if the default is a tuple."""
        if many and not isinstance(default, tuple):
            default = (default,)
        many = isinstance(default, tuple)
        return dataclasses.field(default=default, metadata={"parameter": self, "many": many})

    def allowed(self) -> str:
        """Return the allowed values in words."""
        special = "".join(f" or {shown(value)}" for value in self.special)
        if self.kind == "switch":
            return "true or false"
        if self.options:
            return "one of " + ", ".join(shown(value) for value in self.options) + special
        what = "a whole number" if self.kind == "integer" else "a number"
        return f"{what} from {shown(self.low)} to {shown(self.high)}{special}"

    def check(self, name: str, value: Any) -> Scalar:
        """Return the value in the parameter's type.

        Raises:
            ParameterError: the value is of another type, is not a number or lies out of range.
        """
        for item in self.special:
            if isinstance(value, type(item)) and value == item:
                return item
        checked = self._typed(value)
        in_range = checked is not None and (
            checked in self.options
            if self.options
            else self.kind == "switch" or self.low <= float(checked) <= self.high
        )
        if checked is None or not in_range:
            raise ParameterError(f"{name} = {shown(value)}: must be {self.allowed()}.")
        return checked

    def _typed(self, value: Any) -> Scalar | None:
        # A numpy bool is not an instance of Python's.
        is_bool = type(value).__name__ in ("bool", "bool_")
        if self.kind == "switch":
            return bool(value) if is_bool else None
        if self.kind == "choice":
            return value if isinstance(value, str) else None
        if is_bool or not isinstance(value, numbers.Real):
            return None
        try:
            number = float(value)
        except OverflowError:
            return None
        if self.kind == "real":
            # Without the sign of a zero, which a shared result would show.
            return None if math.isnan(number) else number + 0.0
        return int(number) if number.is_integer() else None

    def parse(self, name: str, text: str) -> Scalar:
        """Return the value of a text from a command line or a link.

        Raises:
            ParameterError: the text is not an allowed value.
        """
        text = text.strip()
        value: Any = text
        if self.kind == "switch":
            value = {"true": True, "false": False}.get(text.lower(), text)
        elif self.kind in ("real", "integer"):
            number = number_in(text)
            special = {text_of(item): item for item in self.special}
            value = special.get(text, text) if number is None else number
        return self.check(name, value)

    def nearest(self, value: float) -> Scalar:
        """Return the allowed number closest to ``value``."""
        numeric = [float(option) for option in self.options or self.steps]
        clamped = min(max(value, self.low), self.high)
        if numeric:
            clamped = min(numeric, key=lambda option: abs(option - clamped))
        return round(clamped) if self.kind == "integer" else clamped


def choice(label: str, help: str, options: Sequence[Any]) -> Parameter:
    """Return a parameter that is one of some words."""
    return Parameter("choice", label, help, options=tuple(options))


def scale(label: str, help: str, steps: Sequence[float], **more: Any) -> Parameter:
    """Return a numeric parameter from the first to the last of its suggested values.

    Args:
        label, help: as in :class:`Parameter`.
        steps: suggested values, rising; if all are whole numbers, so is the parameter.
        more: other attributes, such as a ``low`` below the first step.
    """
    whole = all(isinstance(step, int) for step in steps)
    bounds: dict[str, Any] = {"low": steps[0], "high": steps[-1], "steps": tuple(steps)}
    return Parameter("integer" if whole else "real", label, help, **bounds | more)


def number_in(text: str) -> float | None:
    """Return the finite number that a text holds, or ``None``."""
    if len(text) > LONGEST_NUMBER or not NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def shown(value: Any) -> str:
    """Return a value as printable text for a sentence; a long one without its middle."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > 1023:
        return "a number beyond 1e308"
    if isinstance(value, int) and abs(value) < 10**15:
        return str(value)
    if isinstance(value, int | float):
        return f"{value:.6g}"
    try:
        text = value if isinstance(value, str) and value.isprintable() else repr(value)
    except ValueError:
        # A whole number in the list has more digits than Python writes.
        return "numbers beyond 1e308"
    return cut(text, LONGEST_SHOWN)


def cut(text: str, longest: int) -> str:
    """Return a text of at most so many characters; a longer one loses its middle."""
    if len(text) <= longest:
        return text
    kept = longest - 3
    return f"{text[: kept - kept // 2]}...{text[len(text) - kept // 2 :]}"


@dataclass(frozen=True)
class Params:
    """Base of the parameters of all studies: checks each field, then all together."""

    def __post_init__(self) -> None:
        """Check every field and convert it to its type."""
        specification = self.specification(getattr(self, "scenario", None))
        for field in dataclasses.fields(self):
            parameter = specification[field.name]
            value = getattr(self, field.name)
            if field.metadata["many"]:
                checked: Any = self._check_many(field.name, parameter, value)
            else:
                checked = parameter.check(field.name, value)
            object.__setattr__(self, field.name, checked)
        self.check_together()

    @staticmethod
    def _check_many(name: str, parameter: Parameter, value: Any) -> tuple[Scalar, ...]:
        several = isinstance(value, Iterable) and not isinstance(value, str)
        # The iterable may be endless.
        values = tuple(itertools.islice(value, LONGEST_LIST + 1)) if several else (value,)
        if len(values) > LONGEST_LIST:
            raise _too_long(name)
        if not values:
            raise ParameterError(f"{name} = empty list: each must be {parameter.allowed()}.")
        return tuple(dict.fromkeys(parameter.check(name, item) for item in values))

    def check_together(self) -> None:
        """Check fields against each other; for subclasses to override."""

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:  # noqa: ARG003 - part of the interface
        """Return name -> parameter; overridden if scenarios have their own bounds."""
        return {field.name: field.metadata["parameter"] for field in dataclasses.fields(cls)}

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:  # noqa: ARG003 - part of the interface
        """Return a scenario's own defaults; overridden if there are any."""
        return {}

    @classmethod
    def for_scenario(cls, scenario: str, **settings: Any) -> Self:
        """Return a scenario's defaults with some settings changed.

        Raises:
            ParameterError: there is no such scenario, or a value is not allowed.
        """
        cls.specification()["scenario"].check("scenario", scenario)
        return cls(**{"scenario": scenario} | cls.defaults(scenario) | settings)

    @classmethod
    def takes_many(cls, name: str) -> bool:
        """Whether the parameter holds a tuple of values."""
        return next(bool(f.metadata["many"]) for f in dataclasses.fields(cls) if f.name == name)

    @classmethod
    def from_text(cls, settings: Mapping[str, str], base: Self | None = None) -> Self:
        """Return parameters from ``key -> text``, the others from ``base`` or the defaults.

        Raises:
            ParameterError: a key is unknown or a value is not allowed.
        """
        scenario = settings.get("scenario")
        specification = cls.specification(scenario or getattr(base, "scenario", None))
        values: dict[str, Any] = {}
        for name, text in settings.items():
            if name not in specification:
                known = ", ".join(specification)
                raise ParameterError(
                    f"{shown(name)} = {shown(text)}: unknown parameter; known are {known}."
                )
            parameter = specification[name]
            if cls.takes_many(name):
                if text.count(",") > LONGEST_LIST:
                    raise _too_long(name)
                items = [item for item in text.split(",") if item.strip()]
                values[name] = tuple(parameter.parse(name, item) for item in items)
            else:
                values[name] = parameter.parse(name, text)
        if scenario != getattr(base, "scenario", None) and "scenario" in values:
            values = cls.defaults(values["scenario"]) | values
        return dataclasses.replace(base, **values) if base is not None else cls(**values)

    def to_text(self) -> dict[str, str]:
        """Return every parameter as ``key -> text``, the inverse of :meth:`from_text`."""
        return {
            field.name: text_of(getattr(self, field.name)) for field in dataclasses.fields(self)
        }


def _too_long(name: str) -> ParameterError:
    return ParameterError(f"{name} = a long list: must have at most {LONGEST_LIST} values.")


def text_of(value: Any) -> str:
    """Return a value as text for a command line or a link; lists are joined by commas."""
    if isinstance(value, tuple):
        return ",".join(text_of(item) for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def check_work(n: int, pool_size: int) -> None:
    """Refuse a pool that is too large, before anything is allocated.

    Raises:
        ParameterError: it has more draws than :func:`most_draws`.
    """
    if pool_size > most_draws(n):
        raise ParameterError(
            f"n * pool_size = {n * pool_size:,}: must be at most {WORK_LIMIT:,}; "
            f"with n = {n} the pool may hold {most_draws(n):,} draws."
        )


def most_draws(n: int) -> int:
    """Return the largest number of draws in a pool of data sets of ``n`` records."""
    return max(WORK_LIMIT // n, ALWAYS_POSSIBLE)


def check_accepted(c: int, pool_size: int) -> None:
    """Refuse to keep more draws than the pool has.

    Raises:
        ParameterError: ``c`` is above ``pool_size``.
    """
    if c > pool_size:
        raise ParameterError(f"c = {c}: must be a whole number from 1 to pool_size = {pool_size}.")


def check_rows(runs: int, of_a_run: int) -> None:
    """Refuse a result that is too large for memory, before anything is computed.

    Args:
        runs: number of runs.
        of_a_run: most rows that one run can have.

    Raises:
        ParameterError: together they can have more than :data:`MOST_ROWS`.
    """
    if runs * of_a_run > MOST_ROWS:
        most = MOST_ROWS // of_a_run
        rather = f"must be at most {most}, or c smaller" if most else "shorten the lists"
        raise ParameterError(
            f"runs = {runs}: {rather}; a result may have {MOST_ROWS:,} rows, and with these "
            f"settings each run can have {of_a_run:,}."
        )


def _one_two_five(low: int, high: int) -> tuple[float, ...]:
    steps = (m * 10.0**e for e in range(low, high + 1) for m in (1, 2, 5))
    return tuple(float(f"{step:.3g}") for step in steps if step <= 10.0**high)


EPSILON_TOTAL = Parameter(
    kind="real",
    label="ε_total · privacy budget",
    help="How much one release may reveal about one person. Smaller is more private and noisier.",
    low=0.001,
    high=1000.0,
    steps=_one_two_five(-3, 3),
)
EPSILON_TOTAL_DEFAULT = 0.2
"""Budget of one release; at 1, the result hardly differs from the result without noise."""
EPSILON_TOTAL_OR_INF = dataclasses.replace(EPSILON_TOTAL, special=(math.inf,))
DELTA = scale(
    "δ · additive part of the guarantee",
    "Used only by mechanisms that are not pure, such as those with Gaussian noise. Replacing one "
    "record changes the probability of any set of outcomes by at most the factor e^ε_total, plus "
    "δ. Choose δ much smaller than 1/N. A smaller δ needs only slightly more noise.",
    (1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
    low=1e-12,
)
"""The δ of approximate differential privacy."""
ACCOUNTANT = choice(
    "Accountant",
    "How the noise is computed from ε_total and δ. exact: the least noise. rdp: by autodp. "
    "rdp-classic: as in the paper.",
    ("exact", "rdp", "rdp-classic"),
)
EPSILON_ABC_MMD = Parameter(
    kind="real",
    label="ε_abc · how close is close enough",
    help="The largest distance that counts as close enough, before noise. It is not a privacy "
    "budget.",
    low=0.001,
    high=math.sqrt(2.0),
    steps=(
        *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25),
        *(0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2, 1.4),
    ),
)
"""For the maximum mean discrepancy, which is at most √2."""
C = Parameter(
    kind="integer",
    label="c · draws to keep",
    help="The run stops after keeping this many draws. Each one uses up budget, so a larger c "
    "needs more noise.",
    low=1,
    high=1000,
    steps=_one_two_five(0, 3),
)
POOL_SIZE = scale(
    "T · draws in the pool",
    "Public draws that are compared with the data, in order, until c are kept.",
    (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000),
    low=10,
)
RESAMPLE = Parameter(
    kind="switch",
    label="Redraw the threshold noise after each kept draw",
    help="Algorithm 1 allows both. Redrawing needs about twice the noise for the same ε_total.",
)
SENSITIVITY = choice(
    "Sensitivity Δ of the distance",
    "The most that one record can change a distance. For kernel distances, sharp is the smallest "
    "correct value, √2/N, and published is 2/N, from the paper's Lemma 1. Other distances have "
    "one value for both.",
    ("sharp", "published"),
)
BANDWIDTH = Parameter(
    kind="real",
    label="Bandwidth of the kernel",
    help="A number, or median for the median heuristic on simulated data.",
    low=0.05,
    high=5.0,
    special=("median",),
)
DRAWS = scale("Draws", "Number of distances shown.", (10, 20, 50, 100, 200, 500, 1000))
NOISE_DRAW = Parameter(
    kind="integer",
    label="Number of the noise draw",
    help="Each number gives its own noise; the data and the pool stay the same.",
    low=0,
    high=1_000_000,
)
RUNS = scale(
    "Runs",
    "Repetitions, each with its own data, pool and noise.",
    (1, 2, 3, 5, 10, 20, 30, 60, 100, 200),
    high=1000,
)

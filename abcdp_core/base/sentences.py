"""Numbers and comparisons in words, shared by studies, reports and commands."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from abcdp_core.base.parameters import Params


ROUNDING = 1e-6
"""Relative excess over a bound that counts as rounding."""

EQUAL = 1e-9
"""A log-ratio below this counts as 0."""

LARGE = 10.0
"""A factor above e to this is written as a power."""

NEGLIGIBLE = 1e-12
"""A difference of probabilities or distances up to this size counts as rounding."""


def counted(count: int, one: str, several: str | None = None) -> str:
    """Return a number with its noun, such as ``1 run`` or ``2 runs``.

    Args:
        count: at least 0.
        one: the noun in the singular.
        several: the noun in the plural; ``one`` with an s if ``None``.
    """
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words: "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def duration(seconds: float) -> str:
    """Return a time in a suitable unit."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= size:
            return f"{plain(seconds / size, 2)} {unit}"
    return f"{plain(1000.0 * seconds, 2)} ms"


def runs_in_words(table: pd.DataFrame) -> str:
    """Return the number of runs in a table."""
    return counted(table.run.nunique(), "run")


def budget_name(epsilon_total: float) -> str:
    """Return a budget in words; infinity means no noise."""
    return "no noise" if math.isinf(epsilon_total) else f"ε_total = {epsilon_total:,g}"


def with_budget(epsilon_total: float) -> str:
    """Return "with" a budget or "without noise"."""
    name = budget_name(epsilon_total)
    return "without noise" if math.isinf(epsilon_total) else f"with {name}"


SYMBOLS = {
    "epsilon_total": "ε_total",
    "epsilon_abc": "ε_abc",
    "n": "N",
    "c": "c",
    "pool_size": "T",
    "sigma": "σ",
    "bound": "B_ρ",
    "delta": "δ",
    "dimension": "d",
    "correlation": "correlation",
    "t": "people",
}
"""Parameter -> its symbol."""

AXES = {
    "epsilon_total": "privacy budget ε_total",
    "epsilon_abc": "threshold ε_abc",
    "n": "size of the data N",
    "c": "draws to keep c",
    "mae": "mean absolute error",
    "mse": "mean squared error",
    "effective_sample_size": "effective sample size",
    "half_width": "half-width, in σ",
    "error_mu": "mean absolute error of μ",
    "error_sigma": "mean absolute error of σ",
    "t": "people who have answered",
    "dimension": "d, values per person",
    "asked": "values asked for",
    "bandwidth": "bandwidth of the kernel",
}
"""Column -> title of its axis."""


def setting(name: str, value: Any) -> str:
    """Return one value of a parameter, such as ``N = 5,000``."""
    if name == "epsilon_total":
        return budget_name(value)
    if name == "pseudo_n":
        return f"{value:,} simulated points"
    if name == "bound_quantile":
        return "not clipped" if value == 1.0 else f"clipped at the {percent(value)} quantile"
    if name == "resample":
        return "new noisy threshold after each kept draw" if value else "fixed noisy threshold"
    if name in ("family", "noise"):
        named = value if value in ("normal", "logistic") else value.capitalize()
        return f"{named} {'values' if name == 'family' else 'noise'}"
    if isinstance(value, str):
        return value
    return f"{SYMBOLS[name]} = {value:,g}"


def settings_line(
    params: Params, names: Sequence[str], varying: Collection[str] = (), runs: int = 0
) -> str:
    """Return the settings of a whole figure, such as ``N = 5,000, T = 1,000, 10 runs``.

    Args:
        params: parameters of the study.
        names: parameters to show unless they vary; the first of several values.
        varying: names of the parameters that vary.
        runs: number of runs so far; 0 if the study has none.
    """
    texts = []
    for name in names:
        value = vars(params)[name]
        if name not in varying and value != "same":
            texts.append(setting(name, value[0] if isinstance(value, tuple) else value))
    return ", ".join([*texts, counted(runs, "run")] if runs else texts)


def from_to(values: Iterable[float], digits: int = 3) -> str:
    """Return the smallest and the largest number, or one if both look the same."""
    every = list(values)
    return " to ".join(dict.fromkeys(amount(end, digits) for end in (min(every), max(every))))


def ranges(values: Iterable[float], digits: int = 3) -> str:
    """Return :func:`from_to` with its verb, such as ``is 0.1`` or ``ranges from 0.1 to 0.2``."""
    ends = from_to(values, digits)
    return f"ranges from {ends}" if " to " in ends else f"is {ends}"


def compared(value: float, other: float, nearly: float = 0.01) -> str:
    """Compare two sizes, to be followed by the other one, such as ``25 % more than``.

    Args:
        value: at least 0.
        other: above 0.
        nearly: relative difference below which they count as equal.
    """
    ratio = value / other
    if abs(ratio - 1.0) < nearly:
        return "about as much as"
    if ratio < NEGLIGIBLE:
        return "almost nothing compared with"
    if ratio >= 2.0:
        return f"{plain(ratio, 2)} times as much as"
    return f"{percent(abs(ratio - 1.0))} {'more' if ratio > 1.0 else 'less'} than"


ALIKE = 1.1
"""Factor up to which two errors or distances count as about the same."""


def against_no_noise(private: float, plain: float, noun: str = "error") -> str:
    """Compare an error with the error without noise, to follow "is".

    Args:
        private: error with noise, at least 0.
        plain: error without noise, at least 0.
        noun: name of the quantity, if not an error.
    """
    if plain * ALIKE < private:
        times = f"{amount(private / plain, 2)} times" if plain > 0.0 else "larger than"
        return f"{times} the {noun} without noise"
    if private < plain / ALIKE:
        return "smaller than without noise"
    return "about the same as without noise"


def overpaid(epsilon_total: float, accountant: str, exact: str) -> str:
    """Return a sentence about an accountant that adds more noise than needed, or nothing.

    Args:
        epsilon_total: the budget that the noise was made for.
        accountant: name of the accountant that made it.
        exact: the exact privacy loss, in digits.
    """
    if accountant == "exact":
        return ""
    return (
        f" The noise was set with the {accountant} accountant for ε_total = {epsilon_total:,g}, "
        f"which is more noise than needed; the exact loss is {exact}."
    )


NEARLY = 0.95
"""Fraction of the prior's error above which an estimate is hardly better than the prior."""


def little(error: float, prior: float, than: str = "the prior") -> str:
    """Return that an estimate is no, or hardly, better than the prior; empty if it is better.

    Args:
        error: error of the estimate.
        prior: error of the prior mean, which uses no data.
        than: name of the prior.
    """
    if error < NEARLY * prior:
        return ""
    return f"{'no' if error >= prior else 'hardly'} better than {than}"


def noise_cost(error: float, plain: float, prior: float, than: str = "the prior") -> str:
    """Describe the effect of noise on an error in a clause.

    Args:
        error: error with noise.
        plain: error without noise.
        prior: error of the prior mean, which uses no data.
        than: name of the prior.
    """
    noisy, noiseless = (little(each, prior, than) for each in (error, plain))
    if noisy and noiseless:
        return f"the estimate is {noiseless}, even without noise"
    if noisy:
        return f"noise leaves the estimate {noisy}"
    if noiseless:
        # Noise may help if the threshold keeps few draws, or none.
        return f"only with noise is the estimate clearly better than {than}"
    return f"the error is {against_no_noise(error, plain)}"


# ------------------------------------------------------------------------- numbers and bounds


def plain(value: float, digits: int = 3) -> str:
    """Return :func:`amount`, or "below 0.000001" for tiny numbers.

    Args:
        value: at least 0.
        digits: significant digits, at least 1; whole numbers have all of theirs.
    """
    return "below 0.000001" if value != 0.0 and value < 1e-6 else amount(value, digits)


def amount(value: float, digits: int = 3) -> str:
    """Return a number of any size with some significant digits and without an exponent.

    Args:
        value: any number, also NaN.
        digits: significant digits, at least 1; whole numbers have all of theirs.
    """
    if value < 0.0:
        return f"\u2212{amount(-value, digits)}"
    if value >= 10.0**digits - 0.5:
        return f"{value:,.0f}"
    if value == 0.0:
        return "0"
    if not value < PLAIN:
        return f"{value:.{digits}g}"
    return f"{value:.{_decimals(value, digits)}f}".rstrip("0")


def percent(share: float, level: float | None = None) -> str:
    """Return a share in percent with two digits, or with one digit of what is missing to 100 %.

    It is never rounded to 0, to 100 %, or across a level.

    Args:
        share: at least 0.
        level: share that rounding must not cross.
    """
    value = 100.0 * share
    missing = 100.0 - value
    for end, which in ((value, f"less than {LEAST:g}"), (missing, f"more than {100.0 - LEAST:g}")):
        if 0.0 < end < LEAST:
            return f"{which} %"
    if missing > 0.0 and missing < value:
        first = _decimals(missing, 1)
    else:
        first = decimals(value) if value > 0.0 else 0
    texts = [f"{value:.{places}f}" for places in range(first, 15)]
    if level is not None:
        texts = [text for text in texts if (float(f"{text}e-2") > level) == (share > level)]
    text = texts[0] if texts else repr(value)
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


LEAST = 0.001
"""Smallest percentage written as a number."""


def decimals(width: float) -> int:
    """Return the decimals that show two digits of a spread; three if the spread is 0."""
    return _decimals(width, 2) if width > 0.0 else 3


def fixed(value: float, places: int) -> str:
    """Return a number with so many decimals, and 0 without a minus."""
    text = f"{value:.{places}f}"
    return text.replace("-", "\u2212") if float(text) else text.removeprefix("-")


def interval(low: float, high: float) -> str:
    """Return an interval with two digits of its width, such as ``[49.29, 49.52]``."""
    if not 1e-12 < high - low < 1e6:
        return f"[{low:.4g}, {high:.4g}]".replace("-", "\u2212")
    places = decimals(high - low)
    return f"[{fixed(low, places)}, {fixed(high, places)}]"


def estimate(mean: float, sd: float) -> str:
    """Return a mean and its standard deviation to two digits, such as ``49.87 ± 0.31``.

    If the standard deviation is 0, as for a single particle, return the mean alone.
    """
    if sd == 0.0:
        return f"{mean:.4g}".replace("-", "\u2212")
    if not 1e-12 < sd < 1e6:
        return f"{mean:.4g} ± {sd:.2g}".replace("-", "\u2212")
    places = decimals(sd)
    return f"{fixed(mean, places)} ± {fixed(sd, places)}"


def above(value: float, bound: float) -> str:
    """Return a number in two digits, or in as many as show that it is above a bound.

    Args:
        value: above ``bound``.
        bound: at least 0.
    """
    texts = (amount(value, digits) for digits in range(2, 18))
    return next(text for text in texts if float(text.replace(",", "")) > bound)


PLAIN = 1e-3
"""From here on, formatting by digits writes no exponent; below a tenth of this it would."""


def exact(value: float) -> str:
    """Return a number in as many digits as distinguish it from all others."""
    short = f"{value:g}"
    return short if float(short) == value else f"{value!r}".removesuffix(".0")


def one_in(probability: float) -> str:
    """Return a probability in [0, 1]; a small one as "one in 15,000"."""
    if probability >= PLAIN:
        return f"{probability:.3g}"
    if probability < 1e-6:
        return "below one in a million"
    times = 1.0 / probability
    return f"one in {round(times, 1 - math.floor(math.log10(times))):,.0f}"


def factor(log_ratio: float) -> str:
    """Return ``e`` to a log-ratio with three digits of its excess over 1."""
    if log_ratio > LARGE:
        return f"e^{log_ratio:.4g}"
    if log_ratio < EQUAL:
        return "1"
    return f"{math.exp(log_ratio):,.{_decimals(math.expm1(log_ratio))}f}"


def at_most(value: float, digits: int = 3) -> str:
    """Return an upper bound: rounded up, without exponent, to at most six decimals."""
    if value <= NEGLIGIBLE:
        return "0"
    decimals = min(6, _decimals(value, digits))
    # A whole number of units, up to rounding, is not rounded up.
    return f"{math.ceil(value * 10**decimals * (1.0 - ROUNDING)) / 10**decimals:.{decimals}f}"


def _decimals(value: float, digits: int = 3) -> int:
    """Return the decimals that show some digits of a positive number."""
    return max(0, digits - 1 - math.floor(math.log10(value)))

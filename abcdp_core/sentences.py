"""Pieces of sentences that studies, reports and commands share."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from abcdp_core.parameters import Params


ROUNDING = 1e-6
"""Relative excess over the bound that counts as rounding."""

EQUAL = 1e-9
"""A log-ratio below this is none."""

LARGE = 10.0
"""A factor of more than e to this is written as a power."""

NEGLIGIBLE = 1e-12
"""A difference of probabilities or distances up to this size is rounding."""


def counted(count: int, one: str, several: str | None = None) -> str:
    """A number of things, in the singular where it is one.

    Args:
        count: how many, at least 0.
        one: what one is called.
        several: what several are called; ``one`` with an s if not given.
    """
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def listed(names: Sequence[str]) -> str:
    """Names one after another: "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def duration(seconds: float) -> str:
    """A time in a unit that people read."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= size:
            return f"{plain(seconds / size, 2)} {unit}"
    return f"{plain(1000.0 * seconds, 2)} ms"


def runs_in_words(table: pd.DataFrame) -> str:
    """How many runs a table has rows of."""
    return counted(table.run.nunique(), "run")


def budget_name(epsilon_total: float) -> str:
    """A budget, of which infinity stands for no noise."""
    return "no noise" if math.isinf(epsilon_total) else f"ε_total = {epsilon_total:g}"


def with_budget(epsilon_total: float) -> str:
    """Under which budget something is so."""
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
"""Parameter -> how it is written."""

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
"""Column -> what an axis of it is called."""


def setting(name: str, value: Any) -> str:
    """One value of a parameter, as ``N = 5,000``."""
    if name == "epsilon_total":
        return budget_name(value)
    if name == "pseudo_n":
        return f"{value:,} simulated points"
    if name == "bound_quantile":
        return "not clipped" if value == 1.0 else f"clipped at the {percent(value)} quantile"
    if name == "resample":
        return f"threshold {'redrawn' if value else 'kept'}"
    if name in ("family", "noise"):
        named = value if value in ("normal", "logistic") else value.capitalize()
        return f"{named} {'values' if name == 'family' else 'noise'}"
    if isinstance(value, str):
        return value
    return f"{SYMBOLS[name]} = {value:,g}"


def settings_line(
    params: Params, names: Sequence[str], varying: Collection[str] = (), runs: int = 0
) -> str:
    """What is the same in a whole figure, as ``N = 5,000, T = 1,000, 10 runs``.

    Args:
        params: of the study.
        names: of the parameters that are named, unless they vary; of several values the first.
        varying: names of those that do.
        runs: how many there are so far; 0 if it has none.
    """
    texts = []
    for name in names:
        value = vars(params)[name]
        if name not in varying and value != "same":
            texts.append(setting(name, value[0] if isinstance(value, tuple) else value))
    return ", ".join([*texts, counted(runs, "run")] if runs else texts)


def from_to(values: Iterable[float], digits: int = 3) -> str:
    """The smallest and the largest of some numbers; one if they are the same in these digits."""
    found = list(values)
    return " to ".join(dict.fromkeys(amount(end, digits) for end in (min(found), max(found))))


def compared(value: float, other: float, nearly: float = 0.01) -> str:
    """How much larger one size is than another that follows, as ``25 % more than``.

    Args:
        value: at least 0.
        other: above 0.
        nearly: relative difference below which they count as equal.
    """
    ratio = value / other
    if abs(ratio - 1.0) < nearly:
        return "about as much as"
    if ratio < NEGLIGIBLE:
        return "next to nothing beside"
    if ratio >= 2.0:
        return f"{plain(ratio, 2)} times as much as"
    return f"{percent(abs(ratio - 1.0))} {'more' if ratio > 1.0 else 'less'} than"


ALIKE = 1.1
"""Factor up to which two errors or distances are about the same."""


def against_no_noise(private: float, plain: float, noun: str = "error") -> str:
    """How large an error is beside the one without noise, for after "is".

    Args:
        private: the error with noise, at least 0.
        plain: the one without, at least 0.
        noun: what else than an error is compared.
    """
    if plain * ALIKE < private:
        times = f"{amount(private / plain, 2)} times" if plain > 0.0 else "larger than"
        return f"{times} the {noun} without noise"
    if private < plain / ALIKE:
        return "smaller than without noise"
    return "about the same as without noise"


def overpaid(epsilon_total: float, accountant: str) -> str:
    """What an accountant that asks for more noise than needed did, after a space; else nothing."""
    if accountant == "exact":
        return ""
    return (
        f" The noise was made for ε_total = {epsilon_total:g} by the accountant {accountant}, "
        f"which asks for more than that needs."
    )


NEARLY = 0.95
"""Part of the prior's error from which on an answer is hardly better than the prior."""


def little(error: float, prior: float, than: str = "the prior") -> str:
    """That an answer tells nothing, or hardly anything; nothing where it tells more.

    Args:
        error: of the answer.
        prior: error of the prior, which looks at no data.
        than: what it is compared with, in words.
    """
    if error < NEARLY * prior:
        return ""
    return f"{'no' if error >= prior else 'hardly'} better than {than}"


def noise_cost(error: float, plain: float, prior: float, than: str = "the prior") -> str:
    """Say what noise does to an error, in a clause to begin or end a sentence with.

    Args:
        error: with the noise.
        plain: without it.
        prior: without any data.
        than: what has that error, in words.
    """
    noisy, noiseless = (little(each, prior, than) for each in (error, plain))
    if noisy and noiseless:
        return f"the estimate is {noiseless}, even without noise"
    if noisy:
        return f"noise leaves the estimate {noisy}"
    if noiseless:
        # A threshold that lets few draws in, or none, may do better with noise.
        return f"only with noise is the estimate clearly better than {than}"
    return f"the error is {against_no_noise(error, plain)}"


# ------------------------------------------------------------------------- numbers and bounds


def plain(value: float, digits: int = 3) -> str:
    """As :func:`amount`, but for tiny numbers, which are given as below a limit.

    Args:
        value: at least 0.
        digits: that are shown, at least 1; more of a number that is larger.
    """
    return "below 0.000001" if value != 0.0 and value < 1e-6 else amount(value, digits)


def amount(value: float, digits: int = 3) -> str:
    """A number of some digits without an exponent: large ones whole, none too small to say.

    What has a unit may be of any size, as an error has one.

    Args:
        value: any number, or none.
        digits: that are shown, at least 1; more of a number that is larger.
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
    """A share in percent: two digits of it, or one of what it is short of all.

    It is never rounded to nothing, to all, or across a level.

    Args:
        share: at least 0.
        level: on whose side of it the number has to be.
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
"""Smallest percentage that is written out."""


def decimals(width: float) -> int:
    """Decimals that show two digits of a number's spread; three if the spread is 0."""
    return _decimals(width, 2) if width > 0.0 else 3


def fixed(value: float, places: int) -> str:
    """A number with so many decimals, and never a minus before a 0."""
    text = f"{value:.{places}f}"
    return text.replace("-", "\u2212") if float(text) else text.removeprefix("-")


def interval(low: float, high: float) -> str:
    """An interval, its ends to two digits of its width, as ``[49.29, 49.52]``."""
    if not 1e-12 < high - low < 1e6:
        return f"[{low:.4g}, {high:.4g}]".replace("-", "\u2212")
    places = decimals(high - low)
    return f"[{fixed(low, places)}, {fixed(high, places)}]"


def estimate(mean: float, sd: float) -> str:
    """A mean to two digits of its standard deviation, and that, as ``49.87 ± 0.31``.

    Without a spread, as a single particle has none, it is the mean alone.
    """
    if sd == 0.0:
        return f"{mean:.4g}".replace("-", "\u2212")
    if not 1e-12 < sd < 1e6:
        return f"{mean:.4g} ± {sd:.2g}".replace("-", "\u2212")
    places = decimals(sd)
    return f"{fixed(mean, places)} ± {fixed(sd, places)}"


def above(value: float, bound: float) -> str:
    """A number that is larger than another, in two digits or in as many as show that it is.

    Args:
        value: above ``bound``.
        bound: at least 0.
    """
    texts = (amount(value, digits) for digits in range(2, 18))
    return next(text for text in texts if float(text.replace(",", "")) > bound)


PLAIN = 1e-3
"""From here on a format by digits writes no exponent; it would below a tenth of this."""


def exact(value: float) -> str:
    """A number that somebody gave, in as many digits as tell it from all others."""
    short = f"{value:g}"
    return short if float(short) == value else f"{value!r}".removesuffix(".0")


def one_in(probability: float) -> str:
    """A probability, as one in so many where it is small.

    Args:
        probability: in [0, 1].
    """
    if probability >= PLAIN:
        return f"{probability:.3g}"
    if probability < 1e-6:
        return "below one in a million"
    times = 1.0 / probability
    return f"one in {round(times, 1 - math.floor(math.log10(times))):,.0f}"


def factor(log_ratio: float) -> str:
    """``e`` to a size of a log-ratio, with three digits of what it is above 1."""
    if log_ratio > LARGE:
        return f"e^{log_ratio:.4g}"
    if log_ratio < EQUAL:
        return "1"
    return f"{math.exp(log_ratio):,.{_decimals(math.expm1(log_ratio))}f}"


def at_most(value: float, digits: int = 3) -> str:
    """A number that is not exceeded: rounded up, in plain digits, to a millionth at the finest."""
    if value <= NEGLIGIBLE:
        return "0"
    decimals = min(6, _decimals(value, digits))
    # What is a whole number of units up to rounding stays so.
    return f"{math.ceil(value * 10**decimals * (1.0 - ROUNDING)) / 10**decimals:.{decimals}f}"


def _decimals(value: float, digits: int = 3) -> int:
    """Decimals that show some digits of a positive number."""
    return max(0, digits - 1 - math.floor(math.log10(value)))

r"""Exact privacy loss of releases from pairs of neighboring files, through the command.

Both files of a pair are released in full, from bytes to record, with noise from one seed. A release
is the measured numbers plus noise that depends on the seed alone, so two records differ by their
measured numbers, and the privacy loss of a pair is exact:

$$\max_z \log \frac{P(z \mid Y)}{P(z \mid Y')} = \sum_j \frac{|m_j(Y) - m_j(Y')|}{t_j},$$

with whole numbers $m_j$ and noise of scale $t_j$ in their steps. It must not exceed
$\epsilon_{total}$. The stated scale is tested exactly too: the same seed draws the noise again, and
after its removal the numbers are the same for every seed.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import math
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from abcdp_core.__main__ import main
from abcdp_core.privacy.discrete import laplace
from abcdp_core.release import procedure
from abcdp_core.release.exact_noise import PARTS
from benchmarks.goals import SEED, Measured, goal

EPSILON_TOTAL = 1.0
PAIRS = 200

Pair = tuple[str, str]
"""Contents of two neighboring files."""

# ------------------------------------------------------------------------------ pairs of files

EDGES = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
"""Edges of the five cells of values from 0 to 100."""


def _values(rng: random.Random) -> Pair:
    """Replace one value by any other, also at edges and far outside."""
    values = [_value(rng) for _ in range(rng.randint(10, 40))]
    other = list(values)
    other[rng.randrange(len(values))] = _value(rng)
    return _file(rng, map(repr, values), "income"), _file(rng, map(repr, other), "income")


def _value(rng: random.Random) -> float:
    edge = rng.choice(EDGES)
    near = (edge, math.nextafter(edge, -math.inf), math.nextafter(edge, math.inf))
    return rng.choice((*near, rng.uniform(-10.0, 110.0), -1e300, 1e300, 5e-324))


def _labels(rng: random.Random) -> Pair:
    """Leave out a patient anywhere in the file, with any label."""
    names = rng.sample(NAMES, rng.randint(1, len(NAMES)))
    patients = [rng.choice(names) for _ in range(rng.randint(2, 40))]
    out = rng.randrange(len(patients))
    fewer = patients[:out] + patients[out + 1 :]
    return tuple("\n".join(["strain", *each]) + "\n" for each in (patients, fewer))  # type: ignore[return-value]


NAMES = ("A", "B-2", "1", "2.5", "NA", "none", "patient", "a label", "ß", "中")
"""Labels of strains; some look like numbers, headers or missing values."""


def _sizes(rng: random.Random) -> Pair:
    """Leave out a patient, alone or in a cluster of any size."""
    sizes = [rng.choice((1, 1, 2, 2, 3, 4, 30, 81)) for _ in range(rng.randint(2, 30))]
    place = rng.randrange(len(sizes))
    fewer = list(sizes)
    fewer[place] -= 1
    return _file(rng, map(str, sizes), "size"), _file(rng, map(str, filter(None, fewer)), "size")


def _days(rng: random.Random) -> Pair:
    """Count one more person on some day."""
    counts = [rng.choice((0, 0, 1, 7, 499, 500, 501, 10**6)) for _ in range(18)]
    day = rng.randrange(len(counts))
    more = [count + (each == day) for each, count in enumerate(counts)]
    return _file(rng, map(str, counts), "cases"), _file(rng, map(str, more), "cases")


def _file(rng: random.Random, rows: Iterator[str], name: str) -> str:
    """Return a file in one of several formats, which must make no difference."""
    end = rng.choice(("\n", "\r\n"))
    quote = rng.choice(("", '"'))
    header = rng.choice(([], [name]))
    return end.join([*header, *(f"{quote}{row}{quote}" for row in rows)]) + rng.choice(("", end))


CASES: dict[str, tuple[list[str], Callable[[random.Random], Pair]]] = {
    "incomes": (["uniform-mixture", "--domain", "0,100"], _values),
    "labels": (["tuberculosis-patients", "--kind", "labels", "--missing", "drop"], _labels),
    "sizes": (["tuberculosis-patients", "--kind", "sizes"], _sizes),
    "days": (["covid-people"], _days),
}
"""Name -> arguments of the command, and a function that makes neighboring files."""


# ---------------------------------------------------------------------------------- the attack


def released(asked: list[str], text: str, seed: int) -> dict[str, Any]:
    """Return the record that the command writes for a file, with noise from a seed."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        data, out = Path(folder, "data.csv"), Path(folder, "out.json")
        data.write_text(text, encoding="utf-8", newline="")
        line = ["release", *asked, "--number-of-draws", "100", "--yes"]
        line += ["--data", str(data), "--out", str(out)]
        spend = functools.partial(procedure.spend, randbelow=random.Random(seed).randrange)
        # The posterior is post-processing, and slow.
        with (
            mock.patch.object(procedure, "spend", spend),
            mock.patch.object(procedure, "complete", lambda document, *_: document),
        ):
            code = main([*line, "--epsilon-total", str(EPSILON_TOTAL), "--cumulative", "no"])
        if code:
            raise AssertionError(f"the command ended with {code}.")
        document: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return document


def scales(document: dict[str, Any]) -> list[float]:
    """Return the scale t of the noise on each whole number, as the record states it."""
    event = document["event"]
    steps = event.get("whole") or [1] * event["cells"]
    return [step * event["scale"] for step in steps]


def whole_numbers(document: dict[str, Any]) -> list[int]:
    """Return the released whole numbers."""
    found = document["release"]
    numbers: list[int] = found["counts"] if "counts" in found else found["whole_numbers"]
    return numbers


def without_noise(document: dict[str, Any], seed: int) -> list[int]:
    """Return the numbers after removing noise of the stated scales, drawn again."""
    randbelow = random.Random(seed).randrange
    noise = [laplace(int(scale * PARTS), randbelow, PARTS) for scale in scales(document)]
    return [number - each for number, each in zip(whole_numbers(document), noise, strict=True)]


def loss(case: str, pair: Pair, seed: int) -> float:
    """Return the privacy loss of a pair as a share of ε_total; infinite if the noise is wrong."""
    asked = CASES[case][0]
    one, other = (released(asked, text, seed) for text in pair)
    again = released(asked, pair[0], seed + 1)
    if one["event"] != other["event"] or without_noise(one, seed) != without_noise(again, seed + 1):
        return math.inf
    moved = [
        abs(a - b) / scale
        for a, b, scale in zip(whole_numbers(one), whole_numbers(other), scales(one), strict=True)
    ]
    return sum(moved) / EPSILON_TOTAL


def worst(case: str, pairs: int) -> float:
    """Return the largest loss over random pairs, as a share of ε_total."""
    rng = random.Random(f"{SEED} {case}")
    return max(loss(case, CASES[case][1](rng), number) for number in range(pairs))


@goal("own-data-pairs-incomes", at_most=1.0, case="incomes")
@goal("own-data-pairs-labels", at_most=1.0, case="labels")
@goal("own-data-pairs-sizes", at_most=1.0, case="sizes")
@goal("own-data-pairs-days", at_most=1.0, case="days")
def pairs_of_files(case: str) -> Measured:
    """Largest exact privacy loss over 200 pairs of files, as a share of ε_total = 1."""
    return Measured(worst(case, PAIRS), math.nan, math.nan, PAIRS)

r"""Attacks on releases by pairs of neighbouring files, through the command.

Both files of a pair go all the way, from bytes to document, with noise from one seed. What is
released is what was measured plus noise that depends on the seed alone; so the difference of two
documents is that of what was measured, without noise, and the privacy loss of a pair is exact:

$$\max_z \log \frac{P(z \mid Y)}{P(z \mid Y')} = \sum_j \frac{|m_j(Y) - m_j(Y')|}{t_j},$$

with whole numbers $m_j$ and noise of scale $t_j$ in their steps. It must not be above
$\epsilon_{total}$. That the noise has the scale which the document states is found exactly too: the
same seed draws it once more here, and what is left is the same for every seed.
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
"""Contents of two neighbouring files."""

# ------------------------------------------------------------------------------ pairs of files

EDGES = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
"""Of the five cells of values from 0 to 100."""


def _values(rng: random.Random) -> Pair:
    """One value is replaced by any other, at edges and far outside too."""
    values = [_value(rng) for _ in range(rng.randint(10, 40))]
    other = list(values)
    other[rng.randrange(len(values))] = _value(rng)
    return _file(rng, map(repr, values), "income"), _file(rng, map(repr, other), "income")


def _value(rng: random.Random) -> float:
    edge = rng.choice(EDGES)
    near = (edge, math.nextafter(edge, -math.inf), math.nextafter(edge, math.inf))
    return rng.choice((*near, rng.uniform(-10.0, 110.0), -1e300, 1e300, 5e-324))


def _labels(rng: random.Random) -> Pair:
    """A patient is left out, wherever in the file, whatever the label."""
    names = rng.sample(NAMES, rng.randint(1, len(NAMES)))
    patients = [rng.choice(names) for _ in range(rng.randint(2, 40))]
    out = rng.randrange(len(patients))
    fewer = patients[:out] + patients[out + 1 :]
    return tuple("\n".join(["strain", *each]) + "\n" for each in (patients, fewer))  # type: ignore[return-value]


NAMES = ("A", "B-2", "1", "2.5", "NA", "none", "patient", "a label", "ß", "中")
"""Labels of strains: some look like numbers, headers or nothing at all."""


def _sizes(rng: random.Random) -> Pair:
    """A patient is alone, or in a cluster of any size, and left out."""
    sizes = [rng.choice((1, 1, 2, 2, 3, 4, 30, 81)) for _ in range(rng.randint(2, 30))]
    place = rng.randrange(len(sizes))
    fewer = list(sizes)
    fewer[place] -= 1
    return _file(rng, map(str, sizes), "size"), _file(rng, map(str, filter(None, fewer)), "size")


def _days(rng: random.Random) -> Pair:
    """A person is counted on some day, or not."""
    counts = [rng.choice((0, 0, 1, 7, 499, 500, 501, 10**6)) for _ in range(18)]
    day = rng.randrange(len(counts))
    more = [count + (each == day) for each, count in enumerate(counts)]
    return _file(rng, map(str, counts), "cases"), _file(rng, map(str, more), "cases")


def _file(rng: random.Random, rows: Iterator[str], name: str) -> str:
    """A file as people write them; what its form is must make no difference."""
    end = rng.choice(("\n", "\r\n"))
    quote = rng.choice(("", '"'))
    header = rng.choice(([], [name]))
    return end.join([*header, *(f"{quote}{row}{quote}" for row in rows)]) + rng.choice(("", end))


CASES: dict[str, tuple[list[str], Callable[[random.Random], Pair]]] = {
    "incomes": (["uniform-mixture", "--domain", "0,100", "--draws", "100"], _values),
    "labels": (
        ["tuberculosis-patients", "--kind", "labels", "--missing", "drop", "--draws", "100"],
        _labels,
    ),
    "sizes": (["tuberculosis-patients", "--kind", "sizes", "--draws", "100"], _sizes),
    "days": (["covid-people", "--draws", "100"], _days),
}
"""Name -> what the command is asked for, and neighbouring files for it."""


# ---------------------------------------------------------------------------------- the attack


def released(asked: list[str], text: str, seed: int) -> dict[str, Any]:
    """The document that the command writes of a file, with noise from a seed."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        data, out = Path(folder, "data.csv"), Path(folder, "out.json")
        data.write_text(text, encoding="utf-8", newline="")
        line = ["release", *asked, "--data", str(data), "--out", str(out), "--yes"]
        spend = functools.partial(procedure.spend, randbelow=random.Random(seed).randrange)
        # What follows from the numbers is post-processing, and takes long.
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
    """Scale t of the noise on each whole number, from what the document states."""
    event = document["event"]
    steps = event.get("whole") or [1] * event["cells"]
    return [step * event["scale"] for step in steps]


def whole_numbers(document: dict[str, Any]) -> list[int]:
    """What was released."""
    found = document["release"]
    numbers: list[int] = found["counts"] if "counts" in found else found["whole_numbers"]
    return numbers


def without_noise(document: dict[str, Any], seed: int) -> list[int]:
    """What is left once noise of the stated scales is drawn again and taken away."""
    randbelow = random.Random(seed).randrange
    noise = [laplace(int(scale * PARTS), randbelow, PARTS) for scale in scales(document)]
    return [number - each for number, each in zip(whole_numbers(document), noise, strict=True)]


def loss(case: str, pair: Pair, seed: int) -> float:
    """Privacy loss of a pair, as a share of ε_total; infinite if its noise is not as stated."""
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
    """The largest loss over random pairs, as a share of ε_total."""
    rng = random.Random(f"{SEED} {case}")
    return max(loss(case, CASES[case][1](rng), number) for number in range(pairs))


@goal("own-data-pairs-incomes", at_most=1.0, case="incomes")
@goal("own-data-pairs-labels", at_most=1.0, case="labels")
@goal("own-data-pairs-sizes", at_most=1.0, case="sizes")
@goal("own-data-pairs-days", at_most=1.0, case="days")
def pairs_of_files(case: str) -> Measured:
    """Largest exact privacy loss found, as a share of ε_total = 1, over 200 neighbouring files."""
    return Measured(worst(case, PAIRS), math.nan, math.nan, PAIRS)

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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

from abcdp_core.__main__ import main
from abcdp_core.privacy.discrete import laplace
from abcdp_core.release import procedure
from abcdp_core.release.exact_noise import PARTS

EPSILON_TOTAL = 1.0

Pair = tuple[str, str]
"""Contents of two neighboring files."""

# ------------------------------------------------------------------------------ pairs of files


def _values(rng: random.Random) -> Pair:
    """Replace one value by any other, also at edges of the five cells and far outside."""

    def value() -> float:
        edge = rng.choice((0.0, 20.0, 40.0, 60.0, 80.0, 100.0))
        near = (edge, math.nextafter(edge, -math.inf), math.nextafter(edge, math.inf))
        return rng.choice((*near, rng.uniform(-10.0, 110.0), -1e300, 1e300, 5e-324))

    values = [value() for _ in range(rng.randint(10, 40))]
    other = list(values)
    other[rng.randrange(len(values))] = value()
    return _file(rng, values, "income"), _file(rng, other, "income")


NAMES = ("A", "B-2", "1", "2.5", "NA", "none", "patient", "a label", "ß", "中")
"""Labels of strains; some look like numbers, headers or missing values."""


def _labels(rng: random.Random) -> Pair:
    """Leave out a patient anywhere in the file, with any label."""
    names = rng.sample(NAMES, rng.randint(1, len(NAMES)))
    patients = [rng.choice(names) for _ in range(rng.randint(2, 40))]
    fewer = list(patients)
    del fewer[rng.randrange(len(patients))]
    return "\n".join(["strain", *patients, ""]), "\n".join(["strain", *fewer, ""])


def _sizes(rng: random.Random) -> Pair:
    """Leave out a patient, alone or in a cluster of any size."""
    sizes = [rng.choice((1, 1, 2, 2, 3, 4, 30, 81)) for _ in range(rng.randint(2, 30))]
    fewer = list(sizes)
    fewer[rng.randrange(len(sizes))] -= 1
    return _file(rng, sizes, "size"), _file(rng, filter(None, fewer), "size")


def _days(rng: random.Random) -> Pair:
    """Count one more person on some day."""
    counts = [rng.choice((0, 0, 1, 7, 499, 500, 501, 10**6)) for _ in range(18)]
    more = list(counts)
    more[rng.randrange(len(counts))] += 1
    return _file(rng, counts, "cases"), _file(rng, more, "cases")


def _file(rng: random.Random, rows: Iterable[float], name: str) -> str:
    """Return a file in one of several formats, which must make no difference."""
    end, quote = rng.choice(("\n", "\r\n")), rng.choice(("", '"'))
    header = rng.choice(([], [name]))
    return end.join([*header, *(f"{quote}{row!r}{quote}" for row in rows)]) + rng.choice(("", end))


AS_IT_IS = ("--cumulative", "no")
"""Take a series that never falls as it is."""

CASES: dict[str, tuple[list[str], Callable[[random.Random], Pair]]] = {
    "incomes": (["uniform-mixture", "--domain", "0,100", *AS_IT_IS], _values),
    "labels": (["tuberculosis-patients", "--kind", "labels", "--missing", "drop"], _labels),
    "sizes": (["tuberculosis-patients", "--kind", "sizes"], _sizes),
    "days": (["covid-people", *AS_IT_IS], _days),
}
"""Name -> arguments of the command, and a function that makes neighboring files."""


# ---------------------------------------------------------------------------------- the attack


def released(asked: list[str], text: str, seed: int) -> dict[str, Any]:
    """Return the record that the command writes for a file, with noise from a seed."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        data, out = Path(folder, "data.csv"), Path(folder, "out.json")
        data.write_text(text, encoding="utf-8", newline="")
        line = ["release", *asked, "--number-of-draws", "100", "--yes"]
        line += ["--epsilon-total", str(EPSILON_TOTAL)]
        spend = functools.partial(procedure.spend, randbelow=random.Random(seed).randrange)
        # The posterior is post-processing, and slow.
        with (
            mock.patch.object(procedure, "spend", spend),
            mock.patch.object(procedure, "complete", lambda document, *_: document),
        ):
            code = main([*line, "--data", str(data), "--out", str(out)])
        if code:
            raise AssertionError(f"the command ended with {code}.")
        document: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return document


def scales(document: dict[str, Any]) -> list[float]:
    """Return the scale t of the noise on each whole number, as the record states it."""
    event = document["event"]
    return [step * event["scale"] for step in event.get("whole") or [1] * event["cells"]]


def whole_numbers(document: dict[str, Any]) -> list[int]:
    """Return the released whole numbers."""
    found = document["release"]
    return found.get("counts") or found["whole_numbers"]


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
    numbers = zip(whole_numbers(one), whole_numbers(other), scales(one), strict=True)
    return sum(abs(a - b) / scale for a, b, scale in numbers) / EPSILON_TOTAL


def worst(case: str, pairs: int) -> float:
    """Return the largest loss over random pairs, as a share of ε_total."""
    rng = random.Random(f"1 {case}")
    return max(loss(case, CASES[case][1](rng), number) for number in range(pairs))

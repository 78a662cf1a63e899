"""Make the draws of the story, the app's first page: ``python -m tools.story_draws``.

Writes ``assets/story/draws.bin``: gzip of the length of a JSON text (4 bytes, little-endian), that
text, and the arrays that it lists. The bytes of an array are sorted by their place in a number,
which makes them smaller. Arrays, for the pool of ``abcdp run posterior`` with seed 1:

* ``rho N``: distances ``(T,)`` of the data of N people from each simulated data set;
* ``theta``: the first four of five shares of each guess ``(T, 4)``, in parts of 65,535;
* ``simulated``: people in the first four intervals, in the simulated data of the guesses that a run
  without noise looks at ``(stop, 4)``;
* ``moved``: how much each distance changes when one person answers differently ``(T,)``, in parts
  of the most that it can.
"""

from __future__ import annotations

import gzip
import itertools
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base import parameters as par
from abcdp_core.base.arrays import Array
from abcdp_core.base.places import ASSETS
from abcdp_core.evaluation import one_release
from abcdp_core.evaluation.one_release import ReleaseParams
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models.pool.comparing import DistanceTable, observed_data
from abcdp_core.models.pool.making import Pool, open_pool
from abcdp_core.models.simulators import uniform_mixture

PATH = ASSETS / "story" / "draws.bin"
SEED = 1
SIZES = (1000, 3000, 5000, 10_000, 20_000)
SHOWN = ReleaseParams()
ANSWERS = np.arange(51)[:, None] / 10
"""What a person may say instead."""


def main() -> None:
    """Write the file."""
    PATH.write_bytes(packed())


def packed() -> bytes:
    """Return the file's content."""
    tables = {n: one_release.comparison_of(ReleaseParams(n=n), SEED) for n in SIZES}
    shown = tables[SHOWN.n]
    plain, _ = sparse_vector.non_private(shown.rho, SHOWN.epsilon_abc, SHOWN.c)
    pool = open_pool(one_release.pool_key(SHOWN, SEED))
    said, instead, other = most_telling(pool, shown)
    step = shown.sensitivity() / 32_767
    simulated = pool.summaries["counts"][SHOWN.n][: plain.stopped_at, :4]
    arrays: dict[str, NDArray[Any]] = {
        **{f"rho {n}": table.rho.astype(np.float32) for n, table in tables.items()},
        "theta": np.rint(shown.theta[:, :4] * 65_535).astype(np.uint16),
        "simulated": simulated.astype(np.uint16),
        "moved": np.rint((other - shown.rho) / step).astype(np.int16),
    }
    told = {
        "seed": SEED,
        "sizes": SIZES,
        "shown": SHOWN.n,
        "most": int(par.C.high),
        "delta": {n: table.sensitivity() for n, table in tables.items()},
        "truth": uniform_mixture.TRUTH.tolist(),
        "people": {n: _counts(n) for n in SIZES},
        "you": {"said": round(said, 1), "instead": instead},
        "spy": telling_threshold(shown.rho, other, SHOWN.c),
        "step": step,
        "arrays": [(name, str(each.dtype), each.size) for name, each in arrays.items()],
    }
    text = json.dumps(told).encode()
    planes = [each.reshape(-1, 1).view(np.uint8).T.tobytes() for each in arrays.values()]
    return gzip.compress(len(text).to_bytes(4, "little") + text + b"".join(planes), 9, mtime=0)


def most_telling(pool: Pool, shown: DistanceTable) -> tuple[float, float, Array]:
    """Find whose other answer moves the distances of close draws most, on average.

    Returns:
        What that person said, what to say instead (a multiple of 0.1), and all distances then.
    """
    statistics, distance = pool.statistics[SHOWN.n], shown.distance
    people = observed_data(pool.key, SHOWN.n)
    close = shown.rho <= SHOWN.epsilon_abc
    # To first order, a distance moves by the part of the statistic's move along their difference.
    along = (shown.statistic - statistics[close]) / shown.rho[close, None]
    said, instead = (along @ distance.statistic(each[:, None]).T for each in (people, ANSWERS))
    moves = np.stack([np.abs(new[:, None] - said).mean(axis=0) for new in instead.T])
    # There and back are the same move; this one is to say less.
    moves[people.T <= ANSWERS] = 0.0
    answer, person = np.unravel_index(moves.argmax(), moves.shape)
    both = distance.statistic(np.stack([people[person], ANSWERS[answer]])[:, None])
    other = distance.compare(statistics, shown.statistic + (both[1] - both[0]) / SHOWN.n)
    return float(people[person, 0]), float(ANSWERS[answer, 0]), other


def telling_threshold(rho: Array, other: Array, c: int) -> float:
    """Return the first of 0.1001, 0.1002, ... by which a run without noise tells both apart."""

    def tells(threshold: float) -> bool:
        mine, others = (sparse_vector.non_private(d, threshold, c)[0] for d in (rho, other))
        return not np.array_equal(mine.indices, others.indices)

    steps = (round(SHOWN.epsilon_abc + step / 10_000, 4) for step in itertools.count(1))
    return next(filter(tells, steps))


def _counts(n: int) -> list[int]:
    data = observed_data(one_release.pool_key(ReleaseParams(n=n), SEED), n)
    return [int(count) for count in uniform_mixture.count(data)]


if __name__ == "__main__":
    main()

"""``python -m benchmarks.referee WHAT [FAMILY ...]``: compute cells of these families, or of all.

WHAT is ``weights`` or ``chains``, half an hour each on two processors; ``longer``, chains sixteen
times as long where these two do not agree; or ``answer``, ten minutes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

import pandas as pd

from abcdp_core.posterior.published import referee
from abcdp_core.posterior.published.referee import CELL, FOLDER
from benchmarks.referee.compute import Cell, answer, chains, longer, weights

FILE = FOLDER / "posteriors.csv"


WORK = {"weights": weights, "chains": chains, "longer": longer, "answer": answer}
WAYS = {"weights": ["weights"], "answer": ["infer"]}


def cells(families: Sequence[str] = ()) -> list[Cell]:
    """Return the cells, without those of other families."""
    table = pd.read_csv(FOLDER / "releases.csv")
    return [
        Cell(row.family, float(row.epsilon), int(row.n), tuple(map(float, row.z.split())))
        for row in table.itertuples()
        if not families or row.family in families
    ]


def compute(what: str, families: Sequence[str] = ()) -> None:
    """Compute cells on all processors; write each as it is done, so that Ctrl-C loses none."""
    work, wanted = WORK[what], cells(families)
    if what == "longer":
        known = referee.references(referee.posteriors())
        apart = known[(known.ways == 2) & ~known.agrees][CELL].to_numpy().tolist()
        wanted = [cell for cell in wanted if [cell.family, cell.epsilon, cell.n] in apart]
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as processes:
        futures = {processes.submit(work, cell): cell for cell in wanted}
        for done in as_completed(futures):
            cell = futures[done]
            _write(cell, pd.DataFrame(done.result()), what)
            print(cell.family, cell.epsilon, cell.n, flush=True)


def _write(cell: Cell, made: pd.DataFrame, what: str) -> None:
    """Write the rows of one cell in place of its former ones."""
    ways = WAYS.get(what, ["chains", "fixed"])
    if FILE.exists():
        known = pd.read_csv(FILE)
        same = (known[CELL] == [getattr(cell, name) for name in CELL]).all(axis=1)
        made = pd.concat([known[~(same & known.way.isin(ways))], made])
    made = made.sort_values([*CELL, "way"], kind="stable")
    made.to_csv(FILE, index=False, float_format="%.6g", lineterminator="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.referee", description=__doc__)
    parser.add_argument("what", choices=[*WORK])
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    compute(**vars(parser.parse_args()))

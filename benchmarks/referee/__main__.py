"""``python -m benchmarks.referee WHAT [FAMILY ...]``: compute cells of these families, or of all.

WHAT is ``reference``, which takes an hour on two processors, or ``answer``, ten minutes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

import pandas as pd

from abcdp_core.posterior.published.referee import CELL, FOLDER
from benchmarks.referee.compute import Cell, answer, reference

FILE = FOLDER / "posteriors.csv"


def cells(families: Sequence[str] = ()) -> list[Cell]:
    """Return the cells, without those of other families; those without results come first."""
    table = pd.read_csv(FOLDER / "releases.csv")
    known = pd.read_csv(FILE)[CELL].apply(tuple, axis=1).tolist() if FILE.exists() else []
    table = table.assign(known=table[CELL].apply(tuple, axis=1).isin(known)).sort_values(
        "known", kind="stable"
    )
    return [
        Cell(row.family, float(row.epsilon), int(row.n), tuple(map(float, row.z.split())))
        for row in table.itertuples()
        if not families or row.family in families
    ]


def main() -> None:
    """Compute cells on all processors; write each as it is done, so that Ctrl-C loses none."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.referee", description=__doc__)
    parser.add_argument("what", choices=["reference", "answer"])
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    options = parser.parse_args()
    work = {"reference": reference, "answer": answer}[options.what]
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as processes:
        futures = {processes.submit(work, cell): cell for cell in cells(options.families)}
        for done in as_completed(futures):
            cell, made = futures[done], pd.DataFrame(done.result())
            _write(made, options.what)
            print(cell.family, cell.epsilon, cell.n, flush=True)


def _write(made: pd.DataFrame, what: str) -> None:
    """Write the rows of one cell in place of its former ones."""
    if FILE.exists():
        known = pd.read_csv(FILE)
        same = (known[CELL] == made[CELL].iloc[0]).all(axis=1)
        same &= (known.way == "infer") == (what == "answer")
        made = pd.concat([known[~same], made])
    made = made.sort_values([*CELL, "way"], kind="stable")
    made.to_csv(FILE, index=False, float_format="%.6g", lineterminator="\n")


if __name__ == "__main__":
    main()

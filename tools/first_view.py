"""What the first page needs of a fresh server, so that it has its pictures at once.

``python -m tools.first_view`` makes the files in ``assets/first`` again (under a minute): what
a cache holds once the first page was drawn with nothing moved. Arrays and labels are apart, because
a change of code makes new labels far more often than new numbers. A file of other code than what
runs is as if it were not there (:mod:`abcdp_core.cache`), so after a change of the scenario, its
distance, the pool or the sparse vector the command has to be run again; a test says so.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from abcdp_core import cache, runner, studies
from abcdp_core.parameters import EPSILON_TOTAL_DEFAULT
from abcdp_core.tasks import with_values

SEED = 1
BUDGET = EPSILON_TOTAL_DEFAULT
KINDS = ("comparison", "distances", "error-curve", "paired-distances", "public-distances")


def make(folder: Path) -> None:
    """Compute what the first page needs, and put it into a folder."""
    with tempfile.TemporaryDirectory() as fresh:
        before = os.environ.get("ABCDP_CACHE_DIR")
        os.environ["ABCDP_CACHE_DIR"] = fresh
        try:
            draw()
            _ship(Path(fresh), folder)
        finally:
            os.environ.pop("ABCDP_CACHE_DIR")
            os.environ |= {"ABCDP_CACHE_DIR": before} if before else {}


def draw() -> None:
    """Compute what the first page shows when nothing was moved, and the base rates of flips."""
    for name in ("posterior", "expected-error", "flip-probability"):
        study = studies.load(name)
        budget = (BUDGET,) if study.Params.takes_many("epsilon_total") else BUDGET
        params = with_values(study.Params(), epsilon_total=budget)
        runner.run_to_end(study, params, SEED)


def _ship(fresh: Path, folder: Path) -> None:
    for former in folder.glob("*.npz"):
        former.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    labels = {}
    for file in sorted(path for kind in KINDS for path in fresh.glob(f"{kind}-*.npz")):
        with zipfile.ZipFile(file) as archive:
            label = archive.read(cache.LABEL).decode()
        arrays = cache.load(cache.Entry(file, label)) or {}
        np.savez(folder / file.name, allow_pickle=False, **arrays)
        labels[file.name] = {"label": label}
    (folder / cache.LABELS).write_text(json.dumps(labels, indent=1) + "\n")


if __name__ == "__main__":
    shipped = cache.SHIPPED
    cache.SHIPPED = shipped / "none"
    make(shipped)

"""Make what the pages of a fresh server need to have their pictures at once.

``python -m tools.first_view`` makes the files in ``assets/first`` again (under a minute): what
a cache holds once the first page was drawn with nothing moved. Arrays and labels are apart, because
a change of code makes new labels far more often than new numbers. A file of other code than what
runs is as if it were not there (:mod:`abcdp_core.base.cache`), so after a change of the scenario,
its distance, the pool or the sparse vector the command has to be run again; a test says so.

``python -m tools.first_view results`` makes the files that ``assets/results`` lacks (all: fifteen
minutes): whole results of what pages ask for with nothing moved, in every view, and of what the
steps of lessons need (:mod:`abcdp_core.run.store`). Files that nothing asks for are removed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from streamlit.testing.v1 import AppTest

from abcdp_core import __version__, studies
from abcdp_core.base import cache
from abcdp_core.base.parameters import EPSILON_TOTAL_DEFAULT
from abcdp_core.base.places import ROOT
from abcdp_core.publish import lessons
from abcdp_core.run import runner, store, workers
from abcdp_core.run.tasks import with_values
from ui.jobs import progress, queue
from ui.jobs.job import Request
from ui.parts.lesson_print import requests_of
from ui.view import controls_spec, page_table

SEED = 1
BUDGET = EPSILON_TOTAL_DEFAULT
KINDS = ("comparison", "distances", "error-curve", "paired-distances", "public-distances")


def make(folder: Path) -> None:
    """Compute the files of the first page and write them to a folder."""
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
    """Compute the first page with its defaults, and the base rates of flips."""
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


COMPUTED = (
    *("change-one-person", "distance-forms", "error-bound", "poll", "posterior"),
    "unit-of-privacy",
)
"""Studies that a page computes: they take moments, or measure times of the computer they run on."""


def requests() -> list[Request]:
    """Return what pages ask for with nothing moved, in every view, and what lessons need."""
    of_lessons = [each for lesson in lessons.load().values() for each in requests_of(lesson)]
    asked: dict[Request, None] = {}
    for page in page_table.TABLE:
        for view in controls_spec.find(page.view).parameter.options if page.view else ("",):
            query = {page.view: str(view)} if view else {}
            asked |= dict.fromkeys(_asked_by(page.file, query))
    of_pages = [each for each in asked if each.experiment not in COMPUTED]
    return [*dict.fromkeys([*of_lessons, *of_pages])]


def _asked_by(page: str, query: dict[str, str]) -> list[Request]:
    """Return what a page asks for; what takes long is not waited for."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    app.query_params.update({"version": __version__} | query)
    app.switch_page(f"pages/{page}.py").run()
    while True:
        known = progress.JOBS in app.session_state
        asked = app.session_state[progress.JOBS].asked.values() if known else ()
        found = [each for each in asked if isinstance(each, Request)]
        jobs = [job for each in found if (job := queue.current().find(each)) is not None]
        if not any(job.active and not job.result for job in jobs):
            return found
        for job in jobs:
            job.ended.wait(1.0)
        app.run()


def make_results() -> None:
    """Compute the results that are missing, one after the other."""
    wanted = requests()
    files = {store.shipped_file(each.experiment, each.params, each.seed): each for each in wanted}
    for file in {*store.SHIPPED.glob("*.npz")} - {*files}:
        file.unlink()
    for request in (each for file, each in files.items() if not file.exists()):
        study = studies.load(request.experiment)
        with tempfile.TemporaryDirectory() as fresh:
            folder = runner.Store(Path(fresh), keep_all=True)
            asked = study, request.params, request.seed
            for _ in runner.run(*asked, workers.processes(), folder):
                pass
            entries = folder.entries(study, study.tasks(request.params, request.seed))
            kept = [tables for entry in entries if (tables := folder.load(entry)) is not None]
        assert len(kept) == len(entries), "every task was kept"
        tables = runner.joined(kept)
        arrays = store.arrays_of(tables)
        file = store.shipped_file(request.experiment, request.params, request.seed)
        np.savez_compressed(file, allow_pickle=False, **arrays)


if __name__ == "__main__":
    if sys.argv[1:] == ["results"]:
        make_results()
    else:
        usual = cache.SHIPPED
        cache.SHIPPED = usual / "none"
        make(usual)

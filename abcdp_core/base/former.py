"""Former names of modules, so that plug-ins and scripts written for 0.3.0 still import them."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any

NAMES = {
    "cache": "base.cache",
    "claims": "publish.claims",
    "cluster": "run.cluster",
    "demonstration": "evaluation.one_release",
    "distances": "models.distances",
    "documents": "publish.output.documents",
    "error_curve": "evaluation.error_curve",
    "error_gaps": "evaluation.error_gaps",
    "fingerprint": "base.fingerprint",
    "flips": "evaluation.flips",
    "glossary": "base.glossary",
    "inference_data": "release.inference_data",
    "interruption": "base.interruption",
    "lessons": "publish.lessons",
    "libraries": "base.libraries",
    "output": "publish.output",
    "output.atomic": "base.atomic",
    "own_model": "models.own_model",
    "own_model.validation": "evaluation.held_out",
    "parameters": "base.parameters",
    "places": "base.places",
    "planning": "evaluation.planning",
    "planning.test_cases": "evaluation.planning.cases",
    "pool": "models.pool",
    "posterior.normalizing": "models.normalizing",
    "posterior.priors": "models.priors",
    "predictive": "evaluation.predictive",
    "published": "posterior.published",
    "registry": "base.registry",
    "results": "run.results",
    "runner": "run.runner",
    "schemas": "base.schemas",
    "sentences": "base.sentences",
    "simulators": "models.simulators",
    "statistic": "base.statistic",
    "store": "run.store",
    "streams": "base.streams",
    "study": "studies.engine",
    "study.engine": "studies.engine.study",
    "summaries": "base.summaries",
    "syntax": "base.syntax",
    "tabular": "base.tabular",
    "tasks": "run.tasks",
    "theory": "evaluation.theory",
    "transforms": "base.transforms",
    "trials": "evaluation.cases",
    "workers": "run.workers",
}
"""Module or package in 0.3.0 -> its place now; what is in a package moved with it."""


class Former(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Find modules by their former names."""

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        """Return where a former name leads, if it is one."""
        return importlib.util.spec_from_loader(name, self) if now(name) != name else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the module at its place."""
        return importlib.import_module(now(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module at its place was executed when it was imported."""


def now(name: str) -> str:
    """Return the full name that a module has now."""
    parts = name.split(".")
    if parts[0] == "abcdp_core":
        for end in range(len(parts), 1, -1):
            if place := NAMES.get(".".join(parts[1:end])):
                return ".".join(("abcdp_core", place, *parts[end:]))
    return name


def provide() -> None:
    """Make the former names importable, before a package looks for them in its folder."""
    sys.meta_path.insert(0, Former())

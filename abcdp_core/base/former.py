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
    "cluster": "run.cluster",
    "demonstration": "evaluation.one_release",
    "documents": "output.documents",
    "error_curve": "evaluation.error_curve",
    "error_gaps": "evaluation.error_gaps",
    "fingerprint": "base.fingerprint",
    "flips": "evaluation.flips",
    "glossary": "base.glossary",
    "inference_data": "release.inference_data",
    "interruption": "base.interruption",
    "libraries": "base.libraries",
    "output.atomic": "base.atomic",
    "parameters": "base.parameters",
    "places": "base.places",
    "planning.test_cases": "planning.cases",
    "predictive": "evaluation.predictive",
    "registry": "base.registry",
    "results": "run.results",
    "runner": "run.runner",
    "schemas": "base.schemas",
    "sentences": "base.sentences",
    "statistic": "base.statistic",
    "store": "run.store",
    "streams": "base.streams",
    "summaries": "base.summaries",
    "syntax": "base.syntax",
    "tasks": "run.tasks",
    "transforms": "base.transforms",
    "trials": "evaluation.cases",
    "workers": "run.workers",
}
"""Name in this package in 0.3.0 -> its place now."""


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
    package, _, rest = name.partition(".")
    return f"abcdp_core.{NAMES[rest]}" if package == "abcdp_core" and rest in NAMES else name


def provide() -> None:
    """Make the former names importable."""
    sys.meta_path.append(Former())

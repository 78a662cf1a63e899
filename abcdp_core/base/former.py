"""Former names of modules, so that plug-ins and scripts written for 0.3.0 still import them."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any

MOVED = {
    "base": (
        "cache fingerprint glossary interruption libraries parameters places registry schemas "
        "sentences statistic streams summaries syntax tabular transforms"
    ),
    "publish": "claims lessons output",
    "run": "cluster results runner store tasks workers",
    "models": "distances own_model pool simulators",
    "evaluation": "error_curve error_gaps flips planning predictive theory",
}
"""Room -> modules and packages of 0.3.0 that are in it now."""

NAMES = {old: f"{room}.{old}" for room, moved in MOVED.items() for old in moved.split()} | {
    "demonstration": "evaluation.one_release",
    "documents": "publish.output.documents",
    "inference_data": "release.inference_data",
    "output.atomic": "base.atomic",
    "own_model.validation": "evaluation.held_out",
    "planning.test_cases": "evaluation.planning.cases",
    "posterior.normalizing": "models.normalizing",
    "posterior.priors": "models.priors",
    "published": "posterior.published",
    "study": "studies.engine",
    "study.engine": "studies.engine.study",
    "trials": "evaluation.cases",
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

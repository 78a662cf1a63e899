"""The arrows of the design: which part of the project may import which.

A new part is entered in the table here. Importing from the table upwards, or sideways where no
arrow is, means that something is in the wrong place.
"""

from __future__ import annotations

import ast
import functools
import graphlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "abcdp_core"

CORE_ARROWS: dict[str, set[str]] = {
    # the ground: these know nothing of the project
    "parameters": set(),
    "places": set(),
    "streams": set(),
    "syntax": set(),
    "schemas": {"parameters"},
    "registry": {"syntax"},
    "cache": {"syntax"},
    "fingerprint": {"registry", "syntax"},
    "interruption": set(),
    "libraries": set(),
    "summaries": {"streams"},
    "documents": {"figures"},
    "sentences": {"parameters"},
    "figures": {"privacy", "results", "sentences", "summaries"},
    "transforms": set(),
    "statistic": set(),
    # what is public, what is private, what follows from theory
    "distances": {"streams", "libraries"},
    # draws from a posterior, of any prior, simulator and noise
    "posterior": {"parameters", "sentences", "streams", "summaries"},
    "simulators": {
        *("distances", "parameters", "posterior", "registry", "statistic", "streams", "transforms"),
    },
    # a person's own file says what it is; it joins by the registry, which does not know this part
    "own_model": {
        *("cache", "distances", "fingerprint", "mechanisms", "parameters", "posterior"),
        *("registry", "schemas", "sentences", "statistic", "streams", "summaries", "transforms"),
        "tabular",
    },
    # what people's files hold
    "tabular": {"parameters"},
    "pool": {
        *("cache", "distances", "fingerprint", "interruption", "parameters", "registry"),
        *("simulators", "statistic", "streams", "transforms", "libraries"),
    },
    "predictive": {"cache", "fingerprint", "pool"},
    "flips": {"mechanisms", "pool", "predictive", "simulators", "streams", "theory"},
    "demonstration": {
        *("mechanisms", "parameters", "pool", "privacy", "sentences", "simulators", "streams"),
    },
    "privacy": {"sentences"},
    "mechanisms": {
        *("distances", "parameters", "posterior", "privacy", "registry", "statistic"),
        *("summaries", "transforms"),
    },
    "theory": {"summaries"},
    "adaptive": {"parameters", "privacy", "sentences", "streams", "summaries", "libraries"},
    "error_curve": {"cache", "fingerprint", "mechanisms", "pool", "simulators", "theory"},
    "error_gaps": {"sentences"},
    # somebody else's release, and nothing private
    "published": {
        *("figures", "own_model", "parameters", "posterior", "privacy", "registry", "schemas"),
        *("sentences", "streams", "tabular"),
    },
    # studies, and what runs, keeps and judges them
    "results": {"parameters", "privacy"},
    "trials": {
        *("mechanisms", "parameters", "pool", "privacy", "simulators", "streams", "summaries"),
    },
    "planning": {
        *("cache", "distances", "error_curve", "fingerprint", "mechanisms", "parameters", "pool"),
        *("privacy", "sentences", "simulators", "statistic", "streams", "summaries", "transforms"),
    },
    "tasks": {"parameters", "results"},
    "study": {
        *(
            "figures",
            "mechanisms",
            "adaptive",
            "parameters",
            "pool",
            "privacy",
            "results",
            "sentences",
            "simulators",
            "streams",
            "summaries",
            "tasks",
            "trials",
        ),
    },
    "studies": {
        *("distances", "error_curve", "error_gaps", "figures", "flips", "mechanisms", "adaptive"),
        *("parameters", "planning", "pool", "posterior", "predictive", "privacy", "published"),
        *(
            "registry",
            "demonstration",
            "results",
            "sentences",
            "simulators",
            "streams",
            "summaries",
        ),
        *("study", "tasks", "theory", "trials"),
    },
    "store": {"cache", "studies", "fingerprint", "results"},
    "cluster": {"fingerprint", "interruption", "parameters", "registry"},
    "workers": {"cluster", "studies", "interruption", "parameters", "registry", "libraries"},
    "runner": {
        *("studies", "interruption", "parameters", "results", "store", "workers"),
    },
    "output": {
        *("documents", "studies", "figures", "interruption", "adaptive", "parameters"),
        *("privacy", "registry", "results", "sentences"),
    },
    "lessons": {
        *("documents", "studies", "figures", "output", "parameters", "results", "schemas"),
        *("streams", "summaries"),
    },
    "claims": {
        *("cache", "documents", "studies", "figures", "adaptive", "output", "parameters"),
        *(
            "results",
            "runner",
            "schemas",
            "sentences",
            "store",
            "streams",
            "summaries",
            "tasks",
            "workers",
        ),
    },
    # somebody's own data: never the runner or the ledger, which keep what they are given; of the
    # cache see below
    "release": {
        *("cache", "documents", "figures", "fingerprint", "interruption", "mechanisms", "output"),
        *("own_model", "parameters", "pool", "posterior", "privacy", "registry", "results"),
        *("schemas", "sentences", "simulators", "statistic", "streams", "summaries", "tabular"),
    },
    "cli": {
        *("studies", "figures", "interruption", "claims", "mechanisms", "output", "release"),
        *("own_model", "parameters", "pool", "posterior", "published", "registry"),
        *("results", "runner", "sentences", "simulators", "store", "streams", "syntax"),
        *("tabular", "workers"),
    },
    "__main__": {"cli", "interruption", "output", "parameters", "registry"},
}
"""Part of the core -> other parts that it may import."""

UI_MAY_IMPORT = {
    *("cache", "studies", "output", "figures", "claims", "lessons", "mechanisms"),
    *("release", "own_model", "parameters", "pool", "posterior", "privacy", "published"),
    *("registry", "demonstration", "results", "runner", "sentences", "tabular", "workers"),
}
"""Parts of the core that what knows Streamlit may import; the rest it reaches by experiments."""

UI_FLOORS = {
    **{"server": 0, "jobs": 1, "view": 2},
    **{"figures": 3, "widgets": 3, "parts": 4, "release": 4},
}
"""Room of the interface -> its floor: a room imports from its own floor and from those below."""

UI_STAIRS = {"ui.server.start", "ui.view.router", "ui.figures.verbatim"}
"""Modules that may import from above, and the one that all may import."""

UI_LONGEST = 350
"""Lines of a module of the interface."""

OUTSIDE: dict[str, set[str]] = {
    "abcdp_core": {"abcdp_core"},
    "ui": {"abcdp_core", "ui", "streamlit"},
    "pages": {"ui", "streamlit"},
    "app.py": {"ui", "streamlit"},
    "benchmarks": {"abcdp_core", "benchmarks", "streamlit"},
}
"""Folder or file -> what of the project, and of Streamlit, it may import."""

SHOWN = "abcdp_core.results.Result"
"""What pages are given, so that they may name it."""

OURS = {"abcdp_core", "ui", "pages", "app", "benchmarks", "tests", "streamlit"}


def files_of(place: str) -> list[Path]:
    path = ROOT / place
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def imports_of(file: Path) -> list[str]:
    """Dotted names of all that a file imports, wherever in it, down to what is taken from where."""
    return imports_in(file.read_text(encoding="utf-8"), file)


@functools.cache
def imports_in(text: str, file: Path) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.relative_to(ROOT)}: relative import"
            found += (f"{node.module}.{alias.name}" for alias in node.names)
    return found


def core_parts() -> set[str]:
    """Modules and packages right below the core."""
    packages = {path.parent.name for path in CORE.glob("*/__init__.py")}
    return packages | {path.stem for path in CORE.glob("*.py")} - {"__init__"}


def core_imports(file: Path) -> set[str]:
    """Parts of the core that a file imports; where the files are, all may know."""
    names = [name.split(".") for name in imports_of(file)]
    found = {name[1] for name in names if name[0] == "abcdp_core" and len(name) > 1}
    return found & core_parts() - {"places"}


def part_files(part: str) -> list[Path]:
    return [*CORE.glob(f"{part}.py"), *(CORE / part).rglob("*.py")]


def test_every_part_of_the_core_is_in_the_table() -> None:
    assert core_parts() <= CORE_ARROWS.keys()


def test_the_arrows_go_round_in_no_circle() -> None:
    graphlib.TopologicalSorter(CORE_ARROWS).prepare()


def test_studies_do_not_import_studies() -> None:
    """What several share is in a part of its own, named after what it is."""
    files = {file: study_of(file) for file in files_of("abcdp_core/studies")}
    studies = {*files.values()} - {"__init__"}
    found = {file: (studies_of(file) & studies) - {study} for file, study in files.items()}
    assert not {file: others for file, others in found.items() if others}


def study_of(file: Path) -> str:
    """The study that a file is, or is a part of."""
    return Path(file.relative_to(CORE / "studies").parts[0]).stem


def studies_of(file: Path) -> set[str]:
    """Modules of the folder of experiments that a file imports."""
    names = [name.split(".") for name in imports_of(file)]
    return {name[2] for name in names if name[:2] == ["abcdp_core", "studies"] and name[2:]}


@pytest.mark.parametrize("part", CORE_ARROWS)
def test_a_part_of_the_core_imports_along_the_arrows(part: str) -> None:
    allowed = CORE_ARROWS[part] | {part}
    wrong = {
        file.name: core_imports(file) - allowed
        for file in part_files(part)
        if core_imports(file) - allowed
    }
    assert wrong == {}


def test_of_somebodys_own_data_only_what_is_simulated_is_kept() -> None:
    """The module knows the public pool, and none of the records."""
    kept = {file.name for file in part_files("release") if "cache" in core_imports(file)}
    assert kept == {"simulated.py"}


def test_the_interface_reaches_the_core_by_its_upper_parts_only() -> None:
    wrong = {
        file.name: core_imports(file) - UI_MAY_IMPORT
        for file in files_of("ui")
        if core_imports(file) - UI_MAY_IMPORT
    }
    assert wrong == {}


def ui_arrows() -> dict[str, set[str]]:
    """Modules of the interface, each with those that it imports."""
    imported = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): {*imports_of(file)}
        for file in files_of("ui")
    }
    # What is imported is a module, or something in one.
    return {
        name: imported.keys() & (found | {each.rpartition(".")[0] for each in found})
        for name, found in imported.items()
    }


def test_modules_of_the_interface_import_each_other_in_no_circle() -> None:
    arrows = ui_arrows()
    graphlib.TopologicalSorter(arrows).prepare()
    assert sum(map(len, arrows.values())) > len(arrows)


def test_a_room_of_the_interface_imports_from_its_floor_or_below() -> None:
    def floor(module: str) -> int:
        return UI_FLOORS[module.split(".")[1]]

    wrong = {
        (name, other)
        for name, others in ui_arrows().items()
        for other in others - UI_STAIRS
        if name not in UI_STAIRS and floor(other) > floor(name)
    }
    assert wrong == set()


def test_a_module_of_the_interface_can_be_read_at_once() -> None:
    lines = {file: file.read_text(encoding="utf-8").count("\n") for file in files_of("ui")}
    assert {file.name: count for file, count in lines.items() if count > UI_LONGEST} == {}


def outside(file: Path) -> set[str]:
    """Packages that a file imports from."""
    return {name.split(".")[0] for name in imports_of(file) if name != SHOWN}


@pytest.mark.parametrize("place", OUTSIDE)
def test_pages_use_the_interface_it_uses_the_core_and_never_the_other_way(place: str) -> None:
    wrong = {
        str(file.relative_to(ROOT)): found
        for file in files_of(place)
        if (found := outside(file) & OURS - OUTSIDE[place])
    }
    assert wrong == {}


def test_a_wrong_import_would_be_seen(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(
        "def late():\n    from abcdp_core.simulators import load\n"
        "import abcdp_core.pool as p\nfrom abcdp_core import __version__, theory\n",
        encoding="utf-8",
    )
    assert core_imports(file) == {"simulators", "pool", "theory"}
    file.write_text(
        "import abcdp_core.studies.posterior\n"
        "from abcdp_core.studies import Experiment, coverage as c\n"
        "from abcdp_core.studies.soft_abc import work\n",
        encoding="utf-8",
    )
    assert studies_of(file) == {"posterior", "Experiment", "coverage", "soft_abc"}

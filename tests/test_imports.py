"""Which part of the project may import which.

A new part is entered in the table here. An import that the table forbids means that something is
in the wrong place.
"""

from __future__ import annotations

import ast
import functools
import graphlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "abcdp_core"

CORE_ARROWS = {
    # The ground: these parts know nothing of the project.
    "parameters": "",
    "places": "",
    "streams": "",
    "syntax": "",
    "schemas": "parameters",
    "registry": "syntax",
    "cache": "syntax",
    "fingerprint": "registry syntax",
    "glossary": "",
    "interruption": "",
    "libraries": "",
    "summaries": "streams",
    "documents": "figures",
    "sentences": "parameters",
    "figures": "privacy results sentences summaries",
    "transforms": "",
    "statistic": "",
    # What is public, what is private, what follows from theory.
    "distances": "libraries streams",
    # Draws from the posterior for any prior, simulator and noise.
    "posterior": "parameters sentences streams summaries",
    "simulators": "distances parameters posterior registry statistic streams transforms",
    # A person's own model. It joins through the registry, which does not know this part.
    "own_model": (
        "cache distances fingerprint mechanisms parameters posterior registry schemas "
        "sentences statistic streams summaries tabular transforms"
    ),
    # What people's files hold.
    "tabular": "parameters",
    "pool": (
        "cache distances fingerprint interruption libraries parameters registry simulators "
        "statistic streams transforms"
    ),
    "predictive": "cache fingerprint pool",
    "flips": "mechanisms pool predictive simulators streams theory",
    "demonstration": "mechanisms parameters pool privacy sentences simulators streams",
    "privacy": "sentences",
    "mechanisms": "distances parameters posterior privacy registry statistic summaries transforms",
    "theory": "summaries",
    "adaptive": "libraries parameters privacy sentences streams summaries",
    "error_curve": "cache fingerprint mechanisms pool simulators theory",
    "error_gaps": "sentences",
    # Somebody else's release, and nothing private.
    "published": (
        "figures own_model parameters posterior privacy registry schemas sentences streams tabular"
    ),
    # Studies, and what runs, keeps and judges them.
    "results": "parameters privacy",
    "trials": "mechanisms parameters pool privacy sentences simulators streams summaries",
    "planning": (
        "cache distances error_curve fingerprint mechanisms parameters pool privacy "
        "sentences simulators statistic streams summaries transforms"
    ),
    "tasks": "parameters results",
    "study": (
        "adaptive figures mechanisms parameters pool privacy results sentences simulators "
        "streams summaries tasks trials"
    ),
    "studies": (
        "adaptive demonstration distances error_curve error_gaps figures flips mechanisms "
        "parameters planning pool posterior predictive privacy published registry results "
        "sentences simulators streams study summaries tasks theory trials"
    ),
    "store": "cache fingerprint parameters results studies",
    "cluster": "fingerprint interruption parameters registry",
    "workers": "cluster interruption libraries parameters registry studies",
    "runner": "interruption parameters results store studies workers",
    "output": (
        "adaptive documents figures interruption parameters privacy registry results "
        "sentences studies tabular"
    ),
    "lessons": "documents figures output parameters results schemas streams studies summaries",
    "claims": (
        "adaptive cache documents figures output parameters results runner schemas sentences "
        "store streams studies summaries tasks workers"
    ),
    # Somebody's own data. Never the runner or the claims, which keep what they are given.
    "release": (
        "cache documents figures fingerprint interruption mechanisms output own_model "
        "parameters pool posterior privacy registry results schemas sentences simulators "
        "statistic streams summaries tabular"
    ),
    "cli": (
        "adaptive claims figures interruption mechanisms output own_model parameters pool "
        "posterior published registry release results runner schemas sentences simulators "
        "store streams studies syntax tabular workers"
    ),
    "inference_data": "output release",
    "__main__": "cli interruption output parameters registry",
}
"""Part of the core -> other parts that it may import."""

UI_MAY_IMPORT = (
    "adaptive cache claims demonstration figures glossary lessons mechanisms output own_model "
    "parameters pool posterior privacy published registry release results runner sentences "
    "simulators store studies tabular workers"
)
"""Parts of the core that the interface may import; it reaches the others through studies."""

UI_FLOORS = {
    **{"server": 0, "jobs": 1, "view": 2},
    **{"figures": 3, "widgets": 3, "parts": 4, "release": 4, "poll": 4},
}
"""Room of the interface -> its floor: a room imports from its own floor and from those below."""

UI_STAIRS = {"ui.server.start", "ui.view.router", "ui.figures.verbatim"}
"""Two modules that may import from above, and the one that all may import."""

UI_LONGEST = 350
"""Lines of a module of the interface."""

OUTSIDE = {
    "abcdp_core": {"abcdp_core"},
    "ui": {"abcdp_core", "ui", "streamlit"},
    "pages": {"ui", "streamlit"},
    "app.py": {"ui", "streamlit"},
    # An exact answer that a goal compares with is one of the tests'.
    "benchmarks": {"abcdp_core", "benchmarks", "streamlit", "tests"},
}
"""Folder or file -> what of the project, and of Streamlit, it may import."""

SHOWN = "abcdp_core.results.Result"
"""The type that pages are given, so they may name it."""

OURS = {"abcdp_core", "ui", "pages", "app", "benchmarks", "tests", "streamlit"}


def files_of(place: str) -> list[Path]:
    path = ROOT / place
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def imports_of(file: Path) -> list[str]:
    """Return the dotted name of everything that a file imports, wherever in it."""
    return imports_in(file.read_text(encoding="utf-8"))


@functools.cache
def imports_in(text: str) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import:\n{text[:200]}"
            found += (f"{node.module}.{alias.name}" for alias in node.names)
    return found


def core_parts() -> set[str]:
    packages = {path.parent.name for path in CORE.glob("*/__init__.py")}
    return packages | {path.stem for path in CORE.glob("*.py")} - {"__init__"}


def core_imports(file: Path) -> set[str]:
    """Return the parts of the core that a file imports; anyone may import `places`."""
    names = [name.split(".") for name in imports_of(file)]
    found = {name[1] for name in names if name[0] == "abcdp_core" and len(name) > 1}
    return found & core_parts() - {"places"}


def part_files(part: str) -> list[Path]:
    return [*CORE.glob(f"{part}.py"), *(CORE / part).rglob("*.py")]


def test_the_table_has_every_part_of_the_core_and_no_circle() -> None:
    assert core_parts() <= CORE_ARROWS.keys()
    arrows = {part: others.split() for part, others in CORE_ARROWS.items()}
    graphlib.TopologicalSorter(arrows).prepare()


@pytest.mark.parametrize("part", CORE_ARROWS)
def test_a_part_of_the_core_imports_along_the_arrows(part: str) -> None:
    allowed = {part, *CORE_ARROWS[part].split()}
    files = part_files(part)
    assert {file.name: bad for file in files if (bad := core_imports(file) - allowed)} == {}


def test_studies_do_not_import_studies() -> None:
    """Code that studies share is in a part of its own."""
    files = {file: study_of(file) for file in files_of("abcdp_core/studies")}
    studies = {*files.values()} - {"__init__"}
    found = {file.name: studies_of(file) & studies - {study} for file, study in files.items()}
    assert {name: others for name, others in found.items() if others} == {}


def study_of(file: Path) -> str:
    """Return the study that a file is, or is a part of."""
    return Path(file.relative_to(CORE / "studies").parts[0]).stem


def studies_of(file: Path) -> set[str]:
    """Return the modules in the folder of studies that a file imports."""
    names = [name.split(".") for name in imports_of(file)]
    return {name[2] for name in names if name[:2] == ["abcdp_core", "studies"] and name[2:]}


def test_of_somebodys_own_data_only_simulated_numbers_are_cached() -> None:
    """The one module that imports the cache knows the public pool and none of the records."""
    kept = {file.name for file in part_files("release") if "cache" in core_imports(file)}
    assert kept == {"simulated.py"}


def test_the_interface_imports_only_upper_parts_of_the_core() -> None:
    allowed = {*UI_MAY_IMPORT.split()}
    files = files_of("ui")
    assert {file.name: bad for file in files if (bad := core_imports(file) - allowed)} == {}


def ui_arrows() -> dict[str, set[str]]:
    """Return the modules of the interface, each with those that it imports."""
    imported = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): {*imports_of(file)}
        for file in files_of("ui")
    }
    # A name that is imported is a module, or something in one.
    return {
        name: imported.keys() & (found | {each.rpartition(".")[0] for each in found})
        for name, found in imported.items()
    }


def test_the_interface_has_no_circles_and_imports_from_the_same_floor_or_below() -> None:
    arrows = ui_arrows()
    graphlib.TopologicalSorter(arrows).prepare()
    assert sum(map(len, arrows.values())) > len(arrows)

    def floor(module: str) -> int:
        return UI_FLOORS[module.split(".")[1]]

    pairs = ((name, other) for name in arrows for other in arrows[name] - UI_STAIRS)
    assert [(a, b) for a, b in pairs if a not in UI_STAIRS and floor(b) > floor(a)] == []


def test_no_module_of_the_interface_is_too_long_to_be_read_at_once() -> None:
    lines = {file.name: len(file.read_text().splitlines()) for file in files_of("ui")}
    assert {name: count for name, count in lines.items() if count > UI_LONGEST} == {}


@pytest.mark.parametrize("place", OUTSIDE)
def test_pages_import_the_interface_which_imports_the_core_and_not_the_reverse(place: str) -> None:
    def outside(file: Path) -> set[str]:
        packages = {name.split(".")[0] for name in imports_of(file) if name != SHOWN}
        return packages & OURS - OUTSIDE[place]

    assert {str(file): bad for file in files_of(place) if (bad := outside(file))} == {}


def test_a_forbidden_import_is_found(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(
        "def late():\n    from abcdp_core.simulators import load\n"
        "import abcdp_core.pool as p\nfrom abcdp_core import __version__, theory\n"
        "import abcdp_core.studies.posterior\n"
        "from abcdp_core.studies import Experiment, coverage as c\n"
    )
    assert core_imports(file) == {"simulators", "pool", "theory", "studies"}
    assert studies_of(file) == {"posterior", "Experiment", "coverage"}

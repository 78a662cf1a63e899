"""Which part of the project may import which.

A new part is entered on its floor. An import that is refused here means that something is in the
wrong place.
"""

from __future__ import annotations

import functools
import graphlib
from pathlib import Path

import pytest

from tests.sources import ROOT, files_of, imports_of

CORE = ROOT / "abcdp_core"

FLOORS = (
    "base",
    "models privacy",
    "adaptive run",
    "figures",
    "posterior",
    "mechanisms",
    "evaluation",
    "studies",
    "publish",
    "release",
    "cli",
    "__main__",
)
"""Rooms of the core; each imports only from floors above it in this list."""

WITHIN = {
    "base": ("rest", "tabular"),
    "models": ("distances mixtures priors", "normalizing simulators", "own_model pool"),
    "posterior": ("rest", "published"),
    "evaluation": ("theory", "rest", "planning"),
    "studies": ("engine", "rest"),
    "publish": ("output", "claims lessons"),
}
"""Room -> the floors inside it, of its packages and modules; ``rest`` is all that is not named."""

NEVER = {
    # Somebody's own data: nothing that keeps what it is given, or runs for claims.
    "release": "evaluation publish.claims publish.lessons run.store run.tasks run.workers studies",
    "posterior.published": "models.pool models.simulators",
    "mechanisms": "base.cache base.fingerprint base.tabular run",
    "studies": "base.cache base.tabular models.own_model",
    "ui": "cli evaluation.planning evaluation.theory models.distances studies.engine",
}
"""Part of the project -> rooms and modules on floors above it that it does not import all the same.

The interface reaches these through studies.
"""

UI_FLOORS = {
    **{"verbatim": 0, "server": 1, "jobs": 2, "view": 3, "figures": 4, "widgets": 4},
    **{"parts": 5, "release": 5, "poll": 5, "router": 6, "start": 6},
}
"""Room or module of the interface -> its floor: it imports from there and from those below."""

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

SHOWN = "abcdp_core.run.results.Result"
"""The type that pages are given, so they may name it."""

OURS = {"abcdp_core", "ui", "pages", "app", "benchmarks", "tests", "streamlit"}


@functools.cache
def core_parts() -> set[str]:
    packages = {path.parent.name for path in CORE.glob("*/__init__.py")}
    return packages | {path.stem for path in CORE.glob("*.py")} - {"__init__"}


def core_imports(file: Path) -> set[str]:
    """Return the parts of the core that a file imports."""
    names = [name.split(".") for name in imports_of(file)]
    found = {name[1] for name in names if name[0] == "abcdp_core" and len(name) > 1}
    return found & core_parts()


def core_modules(file: Path) -> set[str]:
    """Return what a file imports of the core, as ``room`` and as ``room.module``."""
    names = [name.split(".") for name in imports_of(file) if name.startswith("abcdp_core.")]
    return core_imports(file) | {".".join(name[1:3]) for name in names}


def part_files(part: str) -> list[Path]:
    place = part if part == "ui" else f"abcdp_core/{part.replace('.', '/')}"
    return files_of(place if (ROOT / place).is_dir() else f"{place}.py")


def studies_of(file: Path) -> set[str]:
    """Return the modules in the folder of studies that a file imports."""
    names = [name.split(".") for name in imports_of(file)]
    return {name[2] for name in names if name[:2] == ["abcdp_core", "studies"] and name[2:]}


def test_each_room_of_the_core_has_its_floor_and_imports_only_from_lower_ones() -> None:
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms.split()}
    assert floor.keys() == core_parts()
    wrong = [
        f"{file.relative_to(ROOT)} imports {other}"
        for room in floor
        for file in part_files(room)
        for other in core_imports(file) - {room}
        if floor[other] >= floor[room]
    ]
    assert wrong == []


@pytest.mark.parametrize("room", WITHIN)
def test_inside_a_room_imports_point_down_too(room: str) -> None:
    floor = {part: number for number, parts in enumerate(WITHIN[room]) for part in parts.split()}
    for part in floor.keys() - {"rest"}:
        assert part_files(f"{room}.{part}")
    wrong = []
    for file in part_files(room):
        part = file.relative_to(CORE / room).with_suffix("").parts[0]
        others = {name for name in core_modules(file) if name.startswith(f"{room}.")}
        for other in {name.split(".")[1] for name in others} - {part, "__init__"}:
            ours, theirs = (floor.get(name, floor.get("rest", -1)) for name in (part, other))
            if theirs > ours or (theirs == ours and {part, other} & floor.keys()):
                wrong.append(f"{file.relative_to(ROOT)} imports {room}.{other}")
    assert wrong == []


@pytest.mark.parametrize("part", NEVER)
def test_some_parts_do_not_import_from_some_that_are_lower(part: str) -> None:
    refused = {*NEVER[part].split()}
    files = part_files(part)
    assert {file.name: bad for file in files if (bad := core_modules(file) & refused)} == {}


def test_studies_do_not_import_studies() -> None:
    """Code that studies share is in a part of its own."""
    folder = CORE / "studies"
    files = {file: file.relative_to(folder).parts[0] for file in files_of("abcdp_core/studies")}
    studies = {Path(name).stem for name in files.values()} - {"__init__", "engine"}
    found = {
        file.name: studies_of(file) & studies - {Path(name).stem} for file, name in files.items()
    }
    assert {name: others for name, others in found.items() if others} == {}


def test_of_somebodys_own_data_only_simulated_numbers_are_cached() -> None:
    """The one module that imports the cache knows the public pool and none of the records."""
    kept = {file.name for file in part_files("release") if "base.cache" in core_modules(file)}
    assert kept == {"simulated.py"}


def test_the_interface_imports_from_its_floor_or_below() -> None:
    files = files_of("ui")
    imported = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): {*imports_of(file)}
        for file in files
    }
    # A name that is imported is a module, or something in one.
    arrows = {
        name: imported.keys() & (found | {each.rpartition(".")[0] for each in found})
        for name, found in imported.items()
    }
    graphlib.TopologicalSorter(arrows).prepare()
    assert sum(map(len, arrows.values())) > len(arrows)
    floor = {
        name: UI_FLOORS[name.split(".")[1]] for name in arrows if not name.endswith("__init__")
    }
    pairs = ((name, other) for name in floor for other in arrows[name] & floor.keys())
    assert [(a, b) for a, b in pairs if floor[b] > floor[a]] == []
    lines = {file.name: len(file.read_text().splitlines()) for file in files}
    assert {name: count for name, count in lines.items() if count > UI_LONGEST} == {}


@pytest.mark.parametrize("place", OUTSIDE)
def test_pages_import_the_interface_which_imports_the_core_and_not_the_reverse(place: str) -> None:
    def outside(file: Path) -> set[str]:
        packages = {name.split(".")[0] for name in imports_of(file) if name != SHOWN}
        return packages & OURS - OUTSIDE[place]

    assert {str(file): bad for file in files_of(place) if (bad := outside(file))} == {}


def test_a_forbidden_import_is_found_and_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(
        "def late():\n    from abcdp_core.models.simulators import load\n"
        "import abcdp_core.models.pool as p\nfrom abcdp_core import __version__, evaluation\n"
        "import abcdp_core.studies.posterior\n"
        "from abcdp_core.studies import Experiment, coverage as c\n"
    )
    assert core_imports(file) == {"models", "evaluation", "studies"}
    assert studies_of(file) == {"posterior", "Experiment", "coverage"}
    with pytest.raises(AssertionError, match="looks at nothing"):
        files_of("abcdp_core/moved")

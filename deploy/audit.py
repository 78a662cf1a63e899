"""Licences of the packages the app needs, and what is known to be vulnerable in them.

``make audit`` runs it. The check is pip-audit's, from an environment of its own; it asks the
database for the versions in the lock files, of which nothing is installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("requirements.lock", "requirements-test.lock")

OPTIONS = ("--require-hashes", "--disable-pip", "--progress-spinner", "off")
REPORT = re.compile(r"No known vulnerabilities found|Found \d+ known vulnerabilit")


def locked(file: Path) -> list[str]:
    """Names of the packages in a lock file."""
    return re.findall(r"^([A-Za-z0-9._-]+)==", file.read_text(encoding="utf-8"), re.MULTILINE)


def licence(name: str) -> str:
    """The licence that an installed package states; empty if it states none."""
    about = metadata.metadata(name)
    classifiers = [text for text in about.get_all("Classifier", []) if text.startswith("License")]
    stated = about.get("License-Expression") or ", ".join(
        text.rpartition(" :: ")[2] for text in classifiers
    )
    return stated or (about.get("License") or "").partition("\n")[0]


def licences(names: list[str]) -> list[str]:
    """A line for each package: name, version, licence."""
    lines = []
    for name in names:
        try:
            stated = licence(name) or "states no licence"
            lines.append(f"{name:28} {metadata.version(name):16} {stated}")
        except metadata.PackageNotFoundError:
            lines.append(f"{name:28} {'not installed':16} for another system")
    return lines


def check(auditor: Path) -> int:
    """Ask the database about every lock; the exit code is 1 where something is known.

    Args:
        auditor: pip-audit; it is not there if it could not be fetched.
    """
    found = 0
    for lock in LOCKS:
        asked = [str(auditor), *OPTIONS, "--requirement", str(ROOT / lock)]
        try:
            done = subprocess.run(asked, capture_output=True, text=True, check=False)
        except OSError:
            print(f"{lock}: NOT checked for known vulnerabilities (pip-audit is not there).")
            continue
        said = f"{done.stdout}\n{done.stderr}".strip()
        # Anything else is what went wrong on the way to the database.
        if REPORT.search(said):
            print(f"{lock}: {said}")
            found |= done.returncode
        else:
            last = said.splitlines()[-1] if said else f"exit code {done.returncode}"
            print(f"{lock}: NOT checked for known vulnerabilities ({last}).")
    return found


if __name__ == "__main__":
    print("\n".join(licences(locked(ROOT / LOCKS[0]))))
    sys.exit(check(Path(sys.argv[1])))

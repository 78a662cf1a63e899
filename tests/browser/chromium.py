"""Find a Chromium for the browser tests, and install one where there is none.

`find` is what the tests call; `python -m tests.browser.chromium` is what `make test` calls.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APT_INSTALL = ("apt-get", "install", "-y", "--no-install-recommends", "chromium")


def find() -> str | None:
    """Return the path of a Chromium: ``$CHROMIUM``, one on the PATH, or Playwright's own.

    Raises:
        FileNotFoundError: ``$CHROMIUM`` is set and names no program.
    """
    if chosen := os.environ.get("CHROMIUM"):
        if path := shutil.which(chosen):
            return path
        raise FileNotFoundError(f"CHROMIUM={chosen} is not a program that can be started.")
    on_path = (path for name in NAMES if (path := shutil.which(name)))
    return next(on_path, None) or _playwright_own()


def _playwright_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    """Install Debian's package when root, else Playwright's own download."""
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get") is not None
    playwright = [sys.executable, "-m", "playwright", "install", "chromium"]
    if as_root and _runs("apt-get", "update") and _runs(*APT_INSTALL):
        return
    # Away from Debian (Ubuntu has no such package) root also needs the libraries.
    _runs(*playwright, *(["--with-deps"] if as_root else []))


def _runs(*command: str) -> bool:
    print("+", *command, flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=environment, check=False).returncode == 0


def main() -> str:
    """Print the path of a Chromium, installing one first if there is none; return it."""
    try:
        path = find()
        if path is None:
            install()
            path = find()
    except FileNotFoundError as error:
        sys.exit(str(error))
    if path is None:
        sys.exit("No Chromium found or installed: install one and set CHROMIUM to its path.")
    print(f"Browser for the tests: {path}")
    return path


if __name__ == "__main__":
    main()

"""What the container is made of and does, without a container: step by step, from its files."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from abcdp_core.own_data import budget_ledger, series
from tests.browser.conftest import free_port
from ui import export, gate, served

ROOT = Path(__file__).parents[1]
NGINX = ROOT / "deploy" / "nginx.conf.template"

Instruction = tuple[str, str]


def instructions(text: str) -> list[Instruction]:
    """A Dockerfile's instructions with their arguments, in order."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


STEPS = instructions((ROOT / "Dockerfile").read_text())


def arguments_of(word: str) -> list[str]:
    """What follows a kind of instruction, each time it is there."""
    return [rest for name, rest in STEPS if name == word]


def from_outside() -> list[tuple[str, str]]:
    """Source and target of what is copied from this folder into the image."""
    copies = [rest.split() for rest in arguments_of("COPY") if not rest.startswith("--from")]
    return [(source, target) for source, target in copies]


def environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for rest in arguments_of("ENV") for pair in shlex.split(rest))


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return found


def test_the_image_has_what_is_copied_and_its_user_is_not_root() -> None:
    allowed = [
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    assert sorted(allowed) == sorted(source for source, _ in from_outside())
    assert all((ROOT / source).exists() for source in allowed)
    assert arguments_of("USER") == ["10001:10001"]
    assert STEPS.index(("USER", "10001:10001")) < [name for name, _ in STEPS].index("CMD")


def test_packages_are_the_locked_ones_by_their_hashes() -> None:
    (install,) = [rest for rest in arguments_of("RUN") if " pip install " in rest]
    assert {"--require-hashes", "/requirements.lock"} <= set(install.split())
    locked = (ROOT / "requirements.lock").read_text().replace("\\\n", " ")
    lines = [line for line in locked.splitlines() if "==" in line]
    assert len(lines) > 50
    for line in lines:
        assert "--hash=sha256:" in line, line
        name, version = re.match(r"(\S+)==(\S+)", line).groups()  # type: ignore[union-attr]
        with contextlib.suppress(metadata.PackageNotFoundError):
            assert metadata.version(name) == version


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    """The folder of the app as the image has it, which nobody may write to."""
    tree = tmp_path / "app"
    for source, target in from_outside():
        place = tree / target.removeprefix("/")
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / source, place)
    every = [tree, *tree.rglob("*")]
    for path in every:
        path.chmod(0o555)
    yield tree
    for path in every:
        path.chmod(0o755)


def unprivileged() -> list[str]:
    """Begins a command that may do no more than its user, even if that is root."""
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
    return drop if os.geteuid() == 0 else []


def test_the_app_starts_on_a_read_only_disk_and_is_healthy(tree: Path, tmp_path: Path) -> None:
    port = str(free_port())
    (tmp_path / "cache").mkdir()
    places = {"/packages/bin": str(Path(sys.executable).parent), "/cache": f"{tmp_path}/cache"}
    own = environment() | {"HOME": str(tmp_path), "ABCDP_HOSTS": "abc.example.org"}
    for inside, here in places.items():
        own = {name: text.replace(inside, here) for name, text in own.items()}
    before = sorted(tree.rglob("*"))

    def command(text: str) -> list[str]:
        return [*unprivileged(), *(word.replace("8501", port) for word in json.loads(text))]

    write = [*unprivileged(), "touch", str(tree / "ui" / "written")]
    assert subprocess.run(write, capture_output=True, check=False).returncode != 0
    (start,), (health,) = arguments_of("CMD"), arguments_of("HEALTHCHECK")
    check = command(health.partition(" CMD ")[2])
    assert subprocess.run(check, env=own, capture_output=True, check=False).returncode != 0
    with (tmp_path / "log.txt").open("w") as log:
        server = subprocess.Popen(command(start), cwd=tree, env=own, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and server.poll() is None:
            if subprocess.run(check, env=own, capture_output=True, check=False).returncode == 0:
                break
            time.sleep(0.2)
        subprocess.run(check, env=own, check=True)
        page = [*unprivileged(), "python", "-c", PAGE]
        subprocess.run(page, cwd=tree, env=own, check=True)
    finally:
        server.terminate()
        assert server.wait(timeout=20) in (0, -15)
    assert sorted(tree.rglob("*")) == before
    assert "rror" not in (tmp_path / "log.txt").read_text()


PAGE = """
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=60)
app.switch_page("pages/papers.py").run()
assert not app.exception, app.exception
assert [title.value for title in app.title] == ["Papers"]
"""
"""A page that reads what comes with the program."""


def test_the_app_is_closed_in_and_only_the_proxy_is_open() -> None:
    services = compose()["services"]
    for service in services.values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert compose()["networks"]["inside"]["internal"]
    assert services["app"]["networks"] == ["inside"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    kept = {volume.split(":")[1] for volume in services["app"]["volumes"]}
    assert kept == set(arguments_of("VOLUME"))
    # /tmp, where the home is, is empty at each start.
    assert str(Path(environment()[budget_ledger.PLACE]).parent) in kept
    for mounted in services["proxy"]["volumes"]:
        source = mounted.split(":")[0]
        assert (ROOT / source).exists() or source == "./deploy/certificate"


def test_there_are_threads_for_all_visitors() -> None:
    """Each may wait for a page and for downloads, and has timers for those and for its numbers."""
    each = 1 + export.OF_ONE + 2
    assert compose()["services"]["app"]["pids_limit"] > gate.MOST_VISITORS * each


def test_what_visitors_make_it_log_does_not_fill_the_disk() -> None:
    for service in compose()["services"].values():
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}


def test_the_settings_are_those_that_the_app_reads() -> None:
    given = compose()["services"]["app"]["environment"]
    assert given.keys() == {
        *(served.SERVED, served.HOSTS, served.WORK_LIMIT, served.OWN_DATA, served.PROXY),
        *(served.RUN_BY, served.BUDGET, served.VISITS),
    }
    usual = {name: re.sub(r"\$\{.*\}", "", text) for name, text in given.items()}
    settings = served.read(usual | {served.HOSTS: "abc.example.org"})
    assert settings == served.Served(
        ("abc.example.org",),
        served.USUAL_LIMIT,
        own_data=False,
        behind_proxy=True,
        to_others=True,
    )
    # A block with headers of its own has none of those of the block around it.
    server = NGINX.read_text().split("listen 8443 ssl;")[1]
    said = re.findall(r"proxy_set_header (Host|X-Real-IP) (.*);", server)
    assert said == [("Host", "$http_host"), ("X-Real-IP", "$remote_addr")] * 2


def test_the_proxy_hands_on_what_the_app_takes() -> None:
    text = NGINX.read_text()
    assert text.count("{") == text.count("}")
    (port,) = arguments_of("EXPOSE")
    assert set(re.findall(r"proxy_pass (.*);", text)) == {f"http://app:{port}"}
    proxy = compose()["services"]["proxy"]
    assert set(re.findall(r"\$\{(\w+)\}", text)) == proxy["environment"].keys()
    assert set(re.findall(r"proxy_set_header Host (.*);", text)) == {"$http_host"}
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    (largest,) = re.findall(r"client_max_body_size (\d+)m;", text)
    assert config["server"]["maxUploadSize"] * 2**20 == series.LARGEST_FILE
    # A form is a little larger than the file in it.
    assert int(largest) == config["server"]["maxUploadSize"] + 1
    # Its files are in memory: 300 slow readers, or writers, of one address kept 800 MB of it.
    assert "proxy_max_temp_file_size 0;" in text
    assert "proxy_request_buffering off;" in text
    ports = re.findall(r"listen (\d+)", text)
    assert set(ports) == {entry.split(":")[1] for entry in proxy["ports"]}


def test_a_class_behind_one_address_gets_its_files_through_the_proxy() -> None:
    """Of 80 browsers, each with six connections, all lost a script and stayed white."""
    text, own = NGINX.read_text(), (NGINX.parent / "nginx.conf").read_text()
    limits = dict(re.findall(r"limit_conn (\w+) (\d+);", text))
    assert set(limits) == set(re.findall(r"limit_conn_zone \S+ zone=(\w+):", text))
    assert int(limits["files"]) >= 6 * 150
    # An open page keeps no file waiting: what is said in a block stands for what is around it.
    stream = text.split("location = /_stcore/stream {")[1].split("}")[0]
    assert f"limit_conn pages {limits['pages']};" in stream
    assert int(limits["pages"]) >= gate.MOST_VISITORS
    (connections,) = re.findall(r"worker_connections (\d+);", own)
    assert int(connections) >= 2 * sum(map(int, limits.values()))
    volumes = compose()["services"]["proxy"]["volumes"]
    assert "./deploy/nginx.conf:/etc/nginx/nginx.conf:ro" in volumes
    # Addresses, what links say, and names of sessions stay out of its log.
    assert "access_log off;" in own
    assert "error_log stderr crit;" in own
    # 900 who read nothing took all of the system's memory for connections, in both directions.
    most = {text.split()[-1] for text in compose()["services"]["proxy"]["sysctls"].values()}
    assert most == {str(2**18)}
    assert re.findall(r"listen 8443 .*sndbuf=(\d+)k;", text) == ["64"]

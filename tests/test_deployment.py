"""The container has the right files, the app runs in it, and nginx accepts its configuration."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.browser.server import free_port
from ui.server import settings
from ui.server.http_filter import EMBED

ROOT = Path(__file__).parents[1]
HOST = "abc.example.org"
SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
SITE = (ROOT / "deploy" / "nginx.conf.template").read_text()
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\s*\\\n\s*", " ", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def arguments_of(word: str) -> list[str]:
    return [rest for name, rest in instructions() if name == word]


def copied() -> dict[str, str]:
    """Return sources in this folder -> targets in the image."""
    pairs = [rest.split() for rest in arguments_of("COPY") if not rest.startswith("--from")]
    return dict(pairs)


def test_the_image_has_exactly_the_allowed_files_and_its_user_is_not_root() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = [line.removeprefix("!") for line in lines if line.startswith("!")]
    assert sorted(allowed) == sorted(copied())
    assert all((ROOT / source).exists() for source in allowed)
    assert arguments_of("USER") == ["10001:10001"]
    assert [word for word, _ in instructions() if word in ("USER", "CMD")] == ["USER", "CMD"]


def test_containers_are_restricted_and_only_nginx_has_ports() -> None:
    for service in SERVICES.values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert {"pids_limit", "mem_limit", "ulimits"} <= service.keys()
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}
    assert SERVICES["app"]["networks"] == ["inside"]
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]
    kept = {volume.split(":")[1] for volume in SERVICES["app"]["volumes"]}
    assert kept == set(arguments_of("VOLUME"))


def test_the_app_runs_with_the_files_of_the_image_and_writes_none(tmp_path: Path) -> None:
    """The disk of the container is read-only."""
    port, tree, cache = str(free_port()), tmp_path / "app", tmp_path / "cache"
    for source, target in copied().items():
        place = tree / target.lstrip("/")
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / source, place)
    pairs = [pair.split("=", 1) for rest in arguments_of("ENV") for pair in shlex.split(rest)]
    own = {name: text.replace("/cache", str(cache)) for name, text in pairs}
    path = f"{Path(sys.executable).parent}:{os.defpath}"
    own |= {"HOME": str(tmp_path), "ABCDP_HOSTS": HOST, "PATH": path}
    start, health = (
        json.loads(arguments_of(word)[0].rpartition(" CMD ")[2].replace("8501", port))
        for word in ("CMD", "HEALTHCHECK")
    )
    before = sorted(tree.rglob("*"))
    with (tmp_path / "log.txt").open("w") as log:
        server = subprocess.Popen(start, cwd=tree, env=own, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while subprocess.run(health, env=own, capture_output=True, check=False).returncode:
            assert time.monotonic() < deadline, (tmp_path / "log.txt").read_text()
            time.sleep(0.2)
    finally:
        server.terminate()
        server.wait(timeout=20)
    assert sorted(tree.rglob("*")) == before
    assert "rror" not in (tmp_path / "log.txt").read_text()


def test_the_header_of_a_space_fits_the_image_and_frames_a_page_that_knows_it() -> None:
    _, header, _ = (ROOT / "deploy" / "space.md").read_text(encoding="utf-8").split("---\n", 2)
    space = yaml.safe_load(header)
    assert (space["sdk"], [str(space["app_port"])]) == ("docker", arguments_of("EXPOSE"))
    assert EMBED.decode() in space["base_path"]
    named = re.findall(r"^ +(ABCDP_\w+) = ", (ROOT / "docs" / "host.md").read_text(), re.MULTILINE)
    places = {"ABCDP_CACHE_DIR", "ABCDP_LEDGER", "ABCDP_POLLS"}
    known = {settings.SERVED, settings.HOSTS, settings.RUN_BY, settings.FRAMES}
    assert set(named) == places | known


def test_compose_and_nginx_fit_the_settings_of_the_app() -> None:
    assert SERVICES["app"]["environment"].keys() == {
        *(settings.SERVED, settings.HOSTS, settings.WORK_LIMIT, settings.FRAMES),
        *(settings.OWN_DATA, settings.POLL, settings.BUDGET, settings.RUN_BY),
    }
    assert set(re.findall(r"proxy_pass http://app:(\d+);", SITE)) == set(arguments_of("EXPOSE"))
    assert set(re.findall(r"\$\{(\w+)\}", SITE)) == SERVICES["proxy"]["environment"].keys()
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    (largest,) = re.findall(r"client_max_body_size (\d\d+)k;", SITE)
    # A form is a little larger than its file.
    assert 0 < int(largest) - 1024 * config["server"]["maxUploadSize"] < 200


@pytest.mark.skipif(
    not (NGINX and shutil.which("openssl") and Path("/etc/nginx/mime.types").exists()),
    reason="nginx or openssl is not installed",
)
def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=abc"]
    key += ["-keyout", f"{tmp_path}/privkey.pem", "-out", f"{tmp_path}/fullchain.pem"]
    subprocess.run(key, check=True, capture_output=True)
    site = SITE.replace("${ABCDP_HOST}", HOST).replace("app:8501", "127.0.0.1:8501")
    (tmp_path / "site.conf").write_text(site.replace("/certificate/", f"{tmp_path}/"))
    own = (ROOT / "deploy" / "nginx.conf").read_text().replace(" /tmp/", f" {tmp_path}/")
    (tmp_path / "nginx.conf").write_text(own.replace("/etc/nginx/conf.d/*", f"{tmp_path}/site"))
    check = [str(NGINX), "-t", "-c", f"{tmp_path}/nginx.conf"]
    done = subprocess.run(check, capture_output=True, text=True)
    assert (done.returncode, "[warn]" in done.stderr) == (0, False), done.stderr

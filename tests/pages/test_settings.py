"""The settings of a served instance, the sentences for those that are not allowed, their pages."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import opened, texts
from ui.server import settings, start
from ui.server.settings import ServerSettings, SettingsError, read
from ui.view import page_table

OTHERS = {"ABCDP_SERVED": "1", "ABCDP_HOSTS": "class.example.org"}
NAMES = ("SERVED", "HOSTS", "WORK_LIMIT", "OWN_DATA", "BUDGET", "RUN_BY")


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, ServerSettings()),
        ({f"ABCDP_{name}": " " for name in NAMES}, ServerSettings()),
        ({"ABCDP_SERVED": "0"}, ServerSettings()),
        # Others get less, unless more is said.
        (OTHERS, ServerSettings(("class.example.org",), 60.0, False, to_others=True)),
        (
            {
                **OTHERS,
                "ABCDP_WORK_LIMIT": "none",
                "ABCDP_OWN_DATA": "1",
                "ABCDP_BUDGET": "semester",
                "ABCDP_RUN_BY": "Statistics, X",
            },
            ServerSettings(
                ("class.example.org",), None, True, "semester", "Statistics, X", to_others=True
            ),
        ),
        # Each holds for a person alone, too.
        (
            {"ABCDP_HOSTS": "laptop.local", "ABCDP_WORK_LIMIT": "5", "ABCDP_OWN_DATA": "0"},
            ServerSettings(("laptop.local",), 5.0, False),
        ),
    ],
)
def test_settings_of_an_environment(environment: dict[str, str], found: ServerSettings) -> None:
    assert read(environment) == found


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("A.Example.org, b ,,b", ("a.example.org", "b")),
        ("192.168.1.5,::1,[FE80::1]", ("192.168.1.5", "[::1]", "[fe80::1]")),
        ("x" * 63 + ".org,1and1.example", ("x" * 63 + ".org", "1and1.example")),
    ],
)
def test_hosts_are_names_and_addresses(text: str, hosts: tuple[str, ...]) -> None:
    assert read({"ABCDP_HOSTS": text}).hosts == hosts


@pytest.mark.parametrize(("text", "seconds"), [("1", 1.0), ("86400", 86400.0), (" 2.5 ", 2.5)])
def test_limits_have_a_range(text: str, seconds: float) -> None:
    assert read({"ABCDP_WORK_LIMIT": text}).work_limit == seconds


REFUSED = {
    "HOSTS": [
        *("http://a.org", "a.org:8501", "a.org/x", "*", "*.org", "a b", "-a.org", "a-.org", "a..b"),
        *(".", "a.org.", "x" * 64, ".".join(["abc"] * 70), "1.2.3", "192.168.1.256", "[a]"),
        *("ü.org", "a\n.org", "a,b.org;c", "127.1"),
    ],
    "WORK_LIMIT": ["0", "0.99", "86401", "-1", "inf", "nan", "a minute", "x" * 999],
    "SERVED": ["yes", "2", "01"],
    "OWN_DATA": ["true", "-1"],
    "RUN_BY": ["x" * (settings.LONGEST_NAME + 1), "a\nb", "a\u202eb"],
    "BUDGET": ["a\nb"],
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in REFUSED.items() for text in texts]
)
def test_what_is_not_allowed_is_refused_in_one_line(name: str, text: str) -> None:
    with pytest.raises(SettingsError) as error:
        read({f"ABCDP_{name}": text})
    assert str(error.value).startswith(f"ABCDP_{name} = ")
    assert "must be" in str(error.value)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 200


def test_a_server_for_others_has_to_say_its_names() -> None:
    with pytest.raises(SettingsError, match="ABCDP_HOSTS has to say"):
        read({"ABCDP_SERVED": "1"})


def test_a_setting_that_is_not_allowed_ends_the_start_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "current", lambda: read({"ABCDP_HOSTS": "http://x"}))
    with pytest.raises(SystemExit, match=r"^ABCDP_HOSTS = http://x: must be names"):
        start.middleware()


# ------------------------------------------------------------------------------------- on the pages

SHARED = ServerSettings(to_others=True, run_by="Statistics ![](http://192.0.2.1) $x$")


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_visitor_of_somebody_elses_server_is_told(
    is_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_shared:
        monkeypatch.setattr(settings, "current", lambda: SHARED)
    app = opened("your_own_data")
    assert app.title[0].value == "Your own data"
    footer = "\n".join(str(each.value) for each in app.sidebar.caption)
    host = f"run by ` {SHARED.run_by} `."
    assert ("Nothing leaves this machine." in footer) != is_shared
    assert (f", {host} What you set goes to this server" in footer) == is_shared
    warned = [f"**This is a shared server**, {host}" in str(each.value) for each in app.warning]
    assert warned == [True] * is_shared


def test_there_is_no_page_for_own_data_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {page.file for page in page_table.shown()}
    monkeypatch.setattr(settings, "current", lambda: ServerSettings(own_data=False))
    assert files - {page.file for page in page_table.shown()} == {"your_own_data"}
    app: AppTest = opened("your_own_data")
    assert not app.exception
    # The overview is there in its place.
    assert [title.value for title in app.title if re.fullmatch(r"\d+ of \d+", title.value)]
    assert "Your own data" not in texts(app)
    assert not app.get("file_uploader")

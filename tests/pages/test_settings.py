"""The settings of a served instance, the sentences for those that are not allowed, their pages."""

from __future__ import annotations

import pytest

from tests.pages.app import opened, texts
from ui.server import settings, start
from ui.server.settings import ServerSettings, read
from ui.view import page_table

OTHERS = {"SERVED": "1", "HOSTS": "class.example.org"}


def settings_of(environment: dict[str, str]) -> ServerSettings:
    return read({f"ABCDP_{name}": text for name, text in environment.items()})


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, ServerSettings()),
        ({"SERVED": "0", "HOSTS": " ", "WORK_LIMIT": " "}, ServerSettings()),
        # Others get less, unless more is said.
        (
            OTHERS,
            ServerSettings(("class.example.org",), 60.0, False, False, to_others=True),
        ),
        (
            OTHERS | {"WORK_LIMIT": "none", "OWN_DATA": "1", "BUDGET": "term", "RUN_BY": "X"},
            ServerSettings(("class.example.org",), None, True, False, "term", "X", to_others=True),
        ),
        # Each holds for a person alone, too.
        ({"WORK_LIMIT": " 2.5 ", "OWN_DATA": "0"}, ServerSettings((), 2.5, False)),
        (
            {"HOSTS": "A.Example.org, b ,,b,192.168.1.5,::1,[FE80::1]"},
            ServerSettings(("a.example.org", "b", "192.168.1.5", "[::1]", "[fe80::1]")),
        ),
    ],
)
def test_settings_of_an_environment(environment: dict[str, str], found: ServerSettings) -> None:
    assert settings_of(environment) == found


REFUSED = {
    "HOSTS": ["http://a.org", "a.org:8501", "*", "a b", "a..b", "192.168.1.256", "ü.org"],
    "WORK_LIMIT": ["0.99", "86401", "nan", "a minute"],
    "SERVED": ["yes"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_allowed_ends_the_start_in_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in REFUSED[name]:
        monkeypatch.setattr(settings, "current", lambda text=text: settings_of({name: text}))
        with pytest.raises(SystemExit, match=rf"^ABCDP_{name} = '.*': must be .*\.$"):
            start.middleware()
    with pytest.raises(settings.SettingsError, match="ABCDP_HOSTS has to say"):
        settings_of({"SERVED": "1"})


SHARED = ServerSettings(to_others=True, run_by="Statistics ![](http://192.0.2.1) $x$")


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_visitor_of_somebody_elses_server_is_told(
    is_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_shared:
        monkeypatch.setattr(settings, "current", lambda: SHARED)
    app = opened("your_own_data")
    footer = "\n".join(str(each.value) for each in app.sidebar.caption)
    host = f"run by ` {SHARED.run_by} `."
    assert ("Nothing leaves this computer." in footer) != is_shared
    assert (f", {host} Your settings go to this server" in footer) == is_shared
    warned = [f"**This is a shared server**, {host}" in str(each.value) for each in app.warning]
    assert warned == [True] * is_shared


def test_there_is_no_page_for_own_data_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {page.file for page in page_table.shown()}
    monkeypatch.setattr(settings, "current", lambda: ServerSettings(own_data=False))
    assert files - {page.file for page in page_table.shown()} == {"your_own_data"}
    app = opened("your_own_data")
    assert not app.exception
    # The overview is there in its place.
    assert app.get("plotly_chart")
    assert "Your own data" not in texts(app)
    assert not app.get("file_uploader")

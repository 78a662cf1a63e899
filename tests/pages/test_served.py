"""The settings of a served instance, and the sentences for those that are not allowed."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import opened, texts
from ui import router, served
from ui.served import Served, ServedError, read

NAMES = (
    *(served.SERVED, served.HOSTS, served.WORK_LIMIT, served.OWN_DATA, served.PROXY),
    *(served.RUN_BY, served.VISITS),
)


def test_who_starts_it_alone_has_everything() -> None:
    assert read({}) == Served(hosts=(), work_limit=None, own_data=True, run_by="", to_others=False)
    assert read(dict.fromkeys(NAMES, " ")) == read({})
    assert read({"ABCDP_SERVED": "0"}) == read({})


def test_others_get_less_unless_more_is_said() -> None:
    one = {"ABCDP_SERVED": "1", "ABCDP_HOSTS": "class.example.org"}
    assert read(one) == Served(
        hosts=("class.example.org",), work_limit=60.0, own_data=False, to_others=True
    )
    more = {"ABCDP_WORK_LIMIT": "none", "ABCDP_OWN_DATA": "1", "ABCDP_RUN_BY": "Statistics, X"}
    assert read(one | more) == Served(
        ("class.example.org",), None, own_data=True, run_by="Statistics, X", to_others=True
    )


def test_each_setting_holds_for_who_serves_nobody_else() -> None:
    found = read({"ABCDP_HOSTS": "laptop.local", "ABCDP_WORK_LIMIT": "5", "ABCDP_OWN_DATA": "0"})
    assert found == Served(("laptop.local",), 5.0, own_data=False)
    assert not read({"ABCDP_VISITS": "0"}).visits


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("A.Example.org, b ,,b", ("a.example.org", "b")),
        ("192.168.1.5,::1,[FE80::1]", ("192.168.1.5", "[::1]", "[fe80::1]")),
        ("x" * 63 + ".org", ("x" * 63 + ".org",)),
        ("1and1.example", ("1and1.example",)),
    ],
)
def test_hosts_are_names_and_addresses(text: str, hosts: tuple[str, ...]) -> None:
    assert read({"ABCDP_HOSTS": text}).hosts == hosts


@pytest.mark.parametrize(
    "text",
    [
        *("http://a.org", "a.org:8501", "a.org/x", "*", "*.org", "a b", "-a.org", "a-.org", "a..b"),
        *(
            ".",
            "a.org.",
            "x" * 64,
            ".".join(["abc"] * 70),
            "1.2.3",
            "192.168.1.256",
            "[a]",
            "ü.org",
        ),
        *("a\n.org", "a,b.org;c", "127.1"),
    ],
)
def test_what_is_no_host_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ServedError) as error:
        read({"ABCDP_HOSTS": text})
    assert str(error.value).startswith("ABCDP_HOSTS = ")
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 200


def test_served_to_others_by_no_name_is_refused() -> None:
    with pytest.raises(ServedError, match="ABCDP_HOSTS has to say"):
        read({"ABCDP_SERVED": "1"})


@pytest.mark.parametrize(("text", "seconds"), [("1", 1.0), ("86400", 86400.0), (" 2.5 ", 2.5)])
def test_limits_within_their_range(text: str, seconds: float) -> None:
    assert read({"ABCDP_WORK_LIMIT": text}).work_limit == seconds


@pytest.mark.parametrize("text", ["0", "0.99", "86401", "-1", "inf", "nan", "a minute", "x" * 999])
def test_limits_out_of_their_range(text: str) -> None:
    with pytest.raises(ServedError, match="must be none or seconds from 1 to 86400") as error:
        read({"ABCDP_WORK_LIMIT": text})
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("name", ["ABCDP_SERVED", "ABCDP_OWN_DATA", "ABCDP_PROXY", "ABCDP_VISITS"])
@pytest.mark.parametrize("text", ["yes", "true", "2", "-1", "01"])
def test_switches_are_0_or_1(name: str, text: str) -> None:
    with pytest.raises(ServedError, match=f"{name} = {text}: must be 0 or 1"):
        read({name: text})


def test_a_proxys_word_is_taken_only_where_that_is_said() -> None:
    assert not read({}).behind_proxy
    assert not read({"ABCDP_SERVED": "1", "ABCDP_HOSTS": "x"}).behind_proxy
    assert read({"ABCDP_PROXY": "1"}).behind_proxy


def test_who_runs_it_is_one_short_line() -> None:
    longest = "x" * served.LONGEST_NAME
    assert read({"ABCDP_RUN_BY": longest}).run_by == longest
    for text in (f"{longest}x", "a\nb", "a\u202eb"):
        with pytest.raises(ServedError, match="ABCDP_RUN_BY"):
            read({"ABCDP_RUN_BY": text})


# ------------------------------------------------------------------------------------- on the pages


def serve(monkeypatch: pytest.MonkeyPatch, settings: Served) -> None:
    """Serve as these settings say until the test ends."""
    monkeypatch.setattr(served, "settings", lambda: settings)


HOST = "Statistics ![](http://192.0.2.1) $x$"


def footer(app: AppTest) -> str:
    return str(app.sidebar.caption[-1].value)


def test_the_footer_says_who_runs_it_and_where_things_go(monkeypatch: pytest.MonkeyPatch) -> None:
    assert footer(opened("overview")).endswith("Nothing leaves this machine.")
    serve(monkeypatch, Served(to_others=True, run_by=HOST))
    said = footer(opened("overview"))
    assert f", run by ` {HOST} `. What you set goes to this server" in said
    assert "machine" not in said


def test_there_is_no_page_for_own_data_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {page.file for page in router.TABLE}
    assert {page.file for page in router.shown()} == files
    serve(monkeypatch, Served(own_data=False))
    assert files - {page.file for page in router.shown()} == {"your_own_data"}
    app = opened("your_own_data")
    assert not app.exception
    assert [title.value for title in app.title if re.fullmatch(r"\d+ of \d+", title.value)]
    assert "Your own data" not in texts(app)
    assert not app.get("file_uploader")


def test_who_gives_a_file_to_somebody_elses_server_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not warnings_of(opened("your_own_data"))
    serve(monkeypatch, Served(to_others=True, run_by=HOST))
    (said,) = warnings_of(opened("your_own_data"))
    assert f"**This is a shared server**, run by ` {HOST} `." in said


def warnings_of(app: AppTest) -> list[str]:
    assert app.title[0].value == "Your own data"
    return [str(warning.value) for warning in app.warning]

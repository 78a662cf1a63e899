"""Links for a class: locked and hidden knobs, the dialog that makes such links, pinned figures."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from abcdp_core import __version__, figures
from tests.pages.app import ROOT, opened, pictures, settled, texts
from ui import asking, knobs, link, locks, router, state

KNOWN = {*router.known_keys()} - {*knobs.EVERYWHERE}


# ------------------------------------------------------------------------------------------- links


@pytest.mark.parametrize(
    ("text", "names", "in_vain"),
    [
        ("", (), ()),
        (" c , n,,c", ("c", "n"), ()),
        ("c,no_such", ("c",), ("no_such",)),
        ("posterior.view,preset,scenario", ("posterior.view", "preset", "scenario"), ()),
        ("![x](http://y),lock", (), ("![x](http://y)", "lock")),
    ],
)
def test_a_list_of_knobs_keeps_names_that_exist(
    text: str, names: tuple[str, ...], in_vain: tuple[str, ...]
) -> None:
    found, notices = link.read_names("lock", text, KNOWN)
    assert found == names
    assert [f"` lock = {name} `: unknown, so left out." for name in in_vain] == [*notices]


def test_a_long_list_is_read_at_once_and_each_name_said_once() -> None:
    text = ",".join(["c"] * 3000 + [f"k{number}" for number in range(3000)] * 2)
    names, notices = link.read_names("hide", text, KNOWN)
    assert names == ("c",)
    assert len(notices) == 3000


def test_pairs_read_back_what_was_written_and_are_brought_into_their_range() -> None:
    known = {key: knobs.find(key) for key in knobs.SHARED}
    values = {"c": 10, "epsilon_total": 0.2, "resample": True, "sensitivity": "published"}
    assert link.read_pairs("pin", link.pairs(values), known) == (values, ())
    found, notices = link.read_pairs("pin", "c:0,c:9999,no:1,<b>,n:x,epsilon_abc:0.3,,", known)
    assert found == {"c": 1000, "n": knobs.find("n").default, "epsilon_abc": 0.3}
    assert len(notices) == 5
    assert all(notice.startswith("In pin: ") for notice in notices)


def test_no_choice_of_a_knob_has_the_signs_between_pairs() -> None:
    for page in router.TABLE:
        for key in page.knobs(None):
            for option in knobs.find(key, page.every).parameter.options:
                assert not {*",:"} & {*str(option)}, key


# ------------------------------------------------------------------------------- locked and hidden


def test_a_locked_knob_is_shown_with_its_value_and_a_hidden_one_is_not() -> None:
    app = opened("posterior", c="20", lock="c", hide="epsilon_abc,noise_draw")
    assert not app.exception
    assert not app.warning
    said = texts(app)
    assert "c = **20** :material/lock:" in said
    assert "Noise draw number" not in said
    assert app.select_slider(key="c").disabled
    assert app.select_slider(key="epsilon_abc").disabled
    assert not app.select_slider(key="n").disabled
    assert not [button for button in app.button if button.key == "new-noise"]
    assert locks.REASON not in said
    titles = "".join(str(each.proto) for each in app.get("html"))
    assert all(f"{name}&nbsp;=&nbsp;{value}" in titles for name, value in (("c", 20), ("N", 100)))
    assert "_abc&nbsp;=&nbsp;0.1" in titles
    assert "Some knobs are locked or hidden by this link." in said
    app = settled(app.button(key="unlock").click().run())
    assert not app.select_slider(key="c").disabled
    assert app.select_slider(key="c").value == 20
    assert app.button(key="new-noise")
    assert "by this link" not in texts(app)


def test_it_stays_from_page_to_page_and_in_the_address() -> None:
    app = opened("posterior", lock="c,n", hide="seed")
    app = settled(app.switch_page("pages/flip_probability.py").run())
    assert app.select_slider(key="c").disabled
    assert app.query_params["lock"] == "c,n"
    assert app.query_params["hide"] == "seed"
    (share,) = [each for each in app.get("bidi_component") if each.key == "share"]
    assert "lock=c%2Cn" in str(share.proto)
    assert "hide=seed" in str(share.proto)


@pytest.mark.parametrize(
    "query",
    [
        {"lock": "no_such,<b>,![](http://x.y/z.png)", "hide": "lesson,step,lock,hide,pin"},
        {"lock": ",".join(f"k{number}" for number in range(1000))},
    ],
)
def test_what_a_list_cannot_have_is_said_as_text(query: dict[str, str]) -> None:
    app = opened("posterior", **query)
    (warning,) = app.warning
    assert "Not everything in the link could be used" in warning.value
    assert "`: " in warning.value
    assert pictures(app)
    assert "by this link" not in texts(app)


@pytest.mark.parametrize("page", [page.file for page in router.TABLE if page.file != "lessons"])
def test_everything_hidden_leaves_what_comes_of_it(page: str) -> None:
    app = opened(page, hide=",".join(sorted(KNOWN)))
    assert not app.exception
    assert not app.warning
    assert pictures(app)
    assert "Privacy label" in texts(app)


def test_what_would_move_a_locked_knob_is_locked_with_it() -> None:
    app = opened("posterior", lock="c")
    assert app.selectbox(key="scenario").disabled, "another scenario has another c"
    assert not app.button_group(key="posterior.view").disabled
    app = opened("gaussian_noise", lock="epsilon_abc")
    view = app.button_group(key="gaussian-noise.view")
    assert view.options == ["soft weights", "rejection", "what it costs"]
    app = opened("privacy_and_accuracy", lock="c,noise_draw")
    assert app.selectbox(key="preset").disabled
    assert app.button(key="new-noise").disabled


def test_a_locked_preset_stays_and_a_locked_seed_moves_no_preset() -> None:
    app = opened("adaptive_truncation", preset="y23-intervals", lock="preset")
    assert app.button_group(key="adaptive-truncation.view").disabled
    assert "Settings = **y23-intervals** :material/lock:" in texts(app)
    app = opened("privacy_and_accuracy", lock="noise_draw,figures.format")
    assert not app.selectbox(key="preset").disabled


@pytest.mark.parametrize(("lock", "budget", "mechanism"), [
    ("", 2.0, "noisy-counts"),
    ("epsilon_total", 0.2, "noisy-counts"),
    ("mechanism-posterior.mechanism", 2.0, "sparse-vector"),
])  # fmt: skip
def test_a_click_moves_no_locked_knob(
    monkeypatch: pytest.MonkeyPatch, lock: str, budget: float, mechanism: str
) -> None:
    held: dict[str, object] = {
        "epsilon_total": 0.2, "mechanism-posterior.mechanism": "sparse-vector", "lock": (lock,),
    }  # fmt: skip
    monkeypatch.setattr(state.st, "session_state", held)
    asking.choose_release(figures.called("noisy-counts"), 2.0)
    assert (held["epsilon_total"], held["mechanism-posterior.mechanism"]) == (budget, mechanism)


def test_a_lesson_sets_its_knobs_and_a_locked_one_is_not_left() -> None:
    app = opened("lessons", lock="c,lesson")
    assert all(button.disabled for button in app.button if button.key.startswith("lesson-begin"))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    asked = {"lesson": "large-data", "step": "2", "lock": "c,lesson", "version": __version__}
    for key, text in asked.items():
        app.query_params[key] = text
    app = settled(app.run())
    assert "c = **100** :material/lock:" in texts(app)
    assert app.button(key="lesson-leave").disabled
    assert not app.button(key="lesson-next").disabled

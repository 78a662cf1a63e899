"""Privacy labels: what is protected, how much, by what noise, and what is public; who else sees."""

from __future__ import annotations

import streamlit as st

from abcdp_core import privacy
from abcdp_core.privacy import Event, Gaussian, Laplace
from abcdp_core.privacy.accounting import NEIGHBOURS
from abcdp_core.results import Result
from ui import served
from ui.verbatim import verbatim

STAMP = (
    "**Demonstration.** The seed is shown, so anybody can draw the same noise again: nothing here "
    "is private."
)


def plain(text: str) -> None:
    """The privacy label of what is no result."""
    with st.container(border=True, key="privacy-label"):
        st.markdown(f"**Privacy label.** {text}")


def show(result: Result, stamp: str = STAMP) -> None:
    """What is protected and how much, in a line; by what noise and what is public, folded."""
    rest = result.privacy.partition(". ")[2]
    kind = "Demonstration. " if stamp else ""
    details = _details(result)
    with st.container(
        border=True,
        key=f"privacy-label-{result.experiment}",
        horizontal=True,
        vertical_alignment="center",
    ):
        st.markdown(f"**Privacy label.** {kind}{promise(result)}.", width="stretch")
        if not (rest or details or stamp):
            return
        with st.popover("Details", help="What is protected, by what noise, and what is public."):
            for text in (result.privacy if rest else "", *details, stamp):
                if text:
                    st.markdown(text)


def also(result: Result, first: Result | None) -> None:
    """The label of a further result on a page, unless it says what that of the first one says.

    That the page demonstrates is said once.
    """
    if first is None or promise(result) != promise(first):
        show(result, stamp="")


def promise(result: Result) -> str:
    """What is protected and how much."""
    return result.privacy.partition(". ")[0].rstrip(".")


def _details(result: Result) -> list[str]:
    """What follows from the event, in lists."""
    found = []
    if result.event and privacy.noise_in_words(result.event) and not _is_script(result):
        found.append(_facts(result, result.event))
    if isinstance(result.event, Laplace | Gaussian):
        found.append(_facts_of_answers(result, result.event))
    return found


def _is_script(result: Result) -> bool:
    return getattr(result.params, "sensitivity", "") == "script"


def _facts(result: Result, event: Event) -> str:
    cost = privacy.cost(event)
    epsilon = privacy.in_digits(cost.epsilon)
    kind = "pure, δ = 0" if cost.delta == 0 else f"approximate, δ = {cost.delta:g}"
    which = getattr(result.params, "sensitivity", "sharp")
    # Where a unit is left out or added, how many there are may be private.
    settings = "ε_abc and c" if NEIGHBOURS["add-remove"] in result.privacy else "ε_abc, c and N"
    return (
        f"- Guarantee: ε_total = {epsilon}, {kind}.\n"
        f"- Noise: {privacy.noise_in_words(event)} ({which}).\n"
        f"- Public: the prior, the simulator, the pool, the distance, {settings}."
    )


def _facts_of_answers(result: Result, event: Laplace | Gaussian) -> str:
    delta = float(getattr(result.params, "delta", 0.0))
    cost = privacy.cost(event, delta)
    epsilon = privacy.in_digits(cost.epsilon)
    kind = "pure, δ = 0" if cost.delta == 0 else f"approximate, δ = {cost.delta:g}"
    noise = "Laplace, scale" if isinstance(event, Laplace) else "Gaussian, standard deviation"
    return (
        f"- Guarantee: ε_total = {epsilon} per person and per answer, {kind}. Neighbours: "
        f"one person's value replaced by any other.\n"
        f"- Noise: {noise} {event.scale:.3g} times the width of the interval that the person is "
        f"asked in.\n"
        f"- Public: the prior, the family of the values, the rule that chooses intervals, and all "
        f"answers. An interval depends on earlier answers only. Whoever answers twice spends "
        f"ε_total twice."
    )


# ----------------------------------------------------------------------------- who runs the server


def run_by() -> str:
    """Who runs this server, after its name; empty if that is not said."""
    who = served.settings().run_by
    return f", run by {verbatim(who)}" if who else ""


def where_to() -> str:
    """Where goes what a visitor sets."""
    if served.settings().to_others:
        return "What you set goes to this server, and from there nowhere."
    return "Nothing leaves this machine."


def who_sees() -> str:
    """Who else can see a file that is given to this server; empty if it serves nobody else."""
    if not served.settings().to_others:
        return ""
    return (
        f"**This is a shared server**{run_by()}. Who runs it can see the numbers that you give it, "
        f"so give it none that you would not show them. To keep your numbers to yourself, run the "
        f"program on your own machine."
    )

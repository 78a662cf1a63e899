"""Write privacy labels: what is protected, how strongly, by what noise, and what is public."""

from __future__ import annotations

import streamlit as st

from abcdp_core import privacy
from abcdp_core.privacy import Event, Gaussian, Laplace
from abcdp_core.privacy.accounting import NEIGHBOURS
from abcdp_core.run.results import Result
from ui.server import settings
from ui.verbatim import verbatim

STAMP = (
    "**Demonstration.** The seed is shown, so anyone can draw the same noise again: nothing here "
    "is private."
)


LARGEST = "budget shown."
"""In a statement about several budgets."""


def plain(text: str) -> None:
    """Show a privacy label for something that is not a result."""
    with st.container(border=True, key="privacy-label"):
        st.markdown(f"**Privacy label.** {text}")


def show(result: Result, stamp: str = STAMP) -> None:
    """Show what is protected and how much in one line, with the details folded."""
    rest = result.privacy.partition(". ")[2]
    promised, kind = promise(result), ""
    if stamp and promised.startswith("Protects"):
        # Its seed is known, so the demonstration itself protects nobody.
        promised = f"Demonstration of a release that p{promised[1:]}"
    elif stamp:
        kind = "Demonstration. "
    details = _details(result)
    key = f"privacy-label-{result.experiment}"
    with st.container(border=True, key=key, horizontal=True, vertical_alignment="center"):
        st.markdown(f"**Privacy label.** {kind}{promised}.", width="stretch")
        if not (rest or details or stamp):
            return
        with st.popover("Details", help="What is protected, by what noise, and what is public."):
            for text in (result.privacy if rest else "", *details, stamp):
                if text:
                    st.markdown(text)


def also(result: Result, first: Result | None) -> None:
    """Show the label of a further result, unless it repeats the first one's."""
    if first is None or promise(result) != promise(first):
        show(result, stamp="")


def promise(result: Result) -> str:
    """Return what is protected and how much; of several budgets, that it is the largest."""
    first, _, rest = result.privacy.partition(". ")
    return first.rstrip(".") + (" (the largest budget shown)" if LARGEST in rest else "")


def _details(result: Result) -> list[str]:
    """Return what follows from the event, in lists."""
    event, which = result.event, getattr(result.params, "sensitivity", "sharp")
    found = []
    if event and privacy.noise_in_words(event) and which != "script":
        # Where a unit is left out or added, how many there are may be private.
        is_private = NEIGHBOURS["add-remove"] in result.privacy
        settings = "ε_abc and c" if is_private else "ε_abc, c and N"
        found.append(_of_release(event, which, settings))
    if isinstance(event, Laplace | Gaussian):
        found.append(_of_answers(event, float(getattr(result.params, "delta", 0.0))))
    return found


def _of_release(event: Event, sensitivity: str, settings: str) -> str:
    """Return guarantee, noise of a sensitivity, and what is public of a release, in Markdown."""
    return (
        f"- Guarantee: ε_total = {', '.join(_guarantee(event, 0.0))}.\n"
        f"- Noise: {privacy.noise_in_words(event)} ({sensitivity}).\n"
        f"- Public: the prior, the simulator, the pool, the distance, {settings}."
    )


def _of_answers(event: Laplace | Gaussian, delta: float) -> str:
    """Return the same of answers that people give one after the other."""
    epsilon, kind = _guarantee(event, delta)
    noise = "Laplace, scale" if isinstance(event, Laplace) else "Gaussian, standard deviation"
    return (
        f"- Guarantee: ε_total = {epsilon} per person and per answer, {kind}. Neighbors: "
        f"one person's value replaced by any other.\n"
        f"- Noise: {noise} {event.scale:.3g} times the width of the interval that the person is "
        f"asked in.\n"
        f"- Public: the prior, the family of the values, the rule that chooses intervals, and all "
        f"answers. An interval depends on earlier answers only. Anyone who answers twice spends "
        f"ε_total twice."
    )


def _guarantee(event: Event, delta: float) -> tuple[str, str]:
    cost = privacy.cost(event, delta)
    kind = "pure, δ = 0" if cost.delta == 0 else f"approximate, δ = {cost.delta:g}"
    return privacy.in_digits(cost.epsilon), kind


def run_by() -> str:
    """Return the operator, to follow the program's name; empty if none is set."""
    who = settings.current().run_by
    return f", run by {verbatim(who)}" if who else ""


def where_to() -> str:
    """Return where a visitor's settings go."""
    if settings.is_local():
        return "Nothing leaves this computer."
    return "Your settings go to this server, and the program sends them nowhere else."


def who_sees() -> str:
    """Return who else can see an uploaded file; empty if the server is the owner's computer."""
    if settings.is_local():
        return ""
    return (
        f"**This is a shared server**{run_by()}. Its operators can see your numbers, so upload "
        f"nothing that you would not show them. To keep your numbers to yourself, run the program "
        f"on your own computer."
    )

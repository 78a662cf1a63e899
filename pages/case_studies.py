"""Show private fits of two real epidemics: what they can say, and what they cannot."""

import streamlit as st

from abcdp_core.run.results import Result
from ui import router
from ui.figures import blocks, captions, downloads, labels
from ui.jobs import progress
from ui.view import params
from ui.view.view import View
from ui.widgets import compare, controls

COVID, TUBERCULOSIS, UNIT = "covid-fit", "tuberculosis-posterior", "unit-of-privacy"


INTRODUCTION = (
    "The paper fits two epidemics privately: 18 days of COVID-19 cases, and a model of how "
    "tuberculosis spreads. Both have few records, which is where privacy costs most."
)


def main(view: View) -> None:
    shown = {"COVID-19": covid, "tuberculosis": tuberculosis}
    shown[blocks.shown(view)](view)


def covid(view: View) -> None:
    found, pinned = compare.result(view, lambda view: params.ask_budget_first(view, COVID))
    blocks.figure(view, "curves", found, pinned=pinned)
    if not view.has_preset:
        controls.page_controls(view, "covid-fit.distance", "covid-fit.runs")
    st.markdown(
        "**This protects one day's national count, not a person.** The counts are cumulative: "
        "anyone counted one day is counted on every later day, so replacing one day does not hide "
        "the people in it. With only 18 days each one matters a lot, so a small budget leaves "
        "little but the prior. Each curve is simulated from one draw that was kept."
    )
    if view.has_preset:
        st.markdown(
            "The paper does not say how it chose the bandwidth of the kernel; here it comes from "
            "simulated data. The published script computes it from the private series, which is "
            "**not private**: no budget covers it."
        )
    blocks.heading(
        "How far the curves spread at each budget",
        "Every run has its own noise and its own order of the pool. The spread without noise comes "
        "from ABC itself; the rest is the cost of privacy.",
    )
    blocks.figure(view, "spread", found, ("spread",))
    labels.show(found)
    people = who_is_protected(
        view,
        found,
        "covid-people",
        "The unit matters: one person, or one day",
        "Each person is confirmed on one day, so one person changes one *daily* count by one case. "
        "A different day could change it by all the cases a day may have, here at most 500, and "
        "hiding that takes 500 times the noise. The polynomial above does not model people. This "
        "model does: a stochastic epidemic in which one in ten infections is confirmed.",
    )
    blocks.verdicts(view, COVID, found)
    st.markdown(INTRODUCTION)
    blocks.theory(COVID, UNIT)
    downloads.block(view, "covid-19", found, people)


def tuberculosis(view: View) -> None:
    sizes = {} if view.has_preset else {"n": (100, 1000)}
    found, pinned = compare.result(view, lambda view: params.ask(view, TUBERCULOSIS, **sizes))
    blocks.figure(view, "posterior", found, ("main", "prior"), pinned=pinned)
    if not view.has_preset:
        controls.page_controls(
            view,
            "tuberculosis-posterior.order",
            "tuberculosis-posterior.burden",
            "tuberculosis-posterior.runs",
        )
    st.markdown(
        "**This protects one of the N outbreaks:** two years of one city may be replaced by any "
        "other two years. All outbreaks are simulated with the same true parameters; the pool of "
        "1,000 draws and all its distances come with the program. An interval that matches "
        "the prior's shows that little was learned."
    )
    blocks.heading(
        "The error of single releases",
        "*By noise*: runs on the same data with different noise. *By data*: how much ten observed "
        "data sets differ after averaging over noise, each with its *own* order of the pool or all "
        "with the *same* order. With the same order this difference nearly vanishes while c is "
        "small, because which draws come first matters more than the data. The paper does not say "
        "how many runs its numbers average. Where a box reaches the dotted line, a release may be "
        "no better than the prior.",
    )
    blocks.figure(view, "error", found, ("errors", "non_private"))
    blocks.small_print(captions.counts(found))
    labels.show(found)
    patients = who_is_protected(
        view,
        found,
        "tuberculosis-patients",
        "The unit matters: one patient in San Francisco, or the whole outbreak",
        "Six numbers summarize the real report: patients, clusters, clusters of one and of two "
        "patients, the largest cluster, and how much larger it is than the fourth largest. One "
        "patient changes them by at most 13/3 in all; a different outbreak could change them by "
        "2,760. So at the same ε_total, a health office that protects each *patient* adds 1/637 of "
        "the noise that hides the whole outbreak.",
    )
    blocks.verdicts(view, TUBERCULOSIS, found)
    st.markdown(INTRODUCTION)
    city = san_francisco(view, found)
    blocks.theory(TUBERCULOSIS, UNIT)
    downloads.block(view, "tuberculosis", found, patients, city)


def who_is_protected(view: View, beside: Result, scenario: str, heading: str, text: str) -> Result:
    """Show the same published numbers, released for one person and for the paper's unit."""
    blocks.heading(heading, text)
    found = progress.result(params.ask_as_published(view, UNIT, scenario))
    blocks.figure(view, UNIT, found, ("main", "widths"))
    labels.also(found, beside)
    return found


def san_francisco(view: View, outbreaks: Result) -> Result:
    blocks.heading(
        "And San Francisco itself?",
        "The real data are a single outbreak, N = 1. The protected record is then all the data, "
        "and Δ is the largest possible distance, 200. At any usual budget the noise hides "
        "everything, as it must: anything learned from one outbreak is learned about that "
        "outbreak. The line *truth* is the posterior mean reported by the model's authors.",
    )
    fixed = {"scenario": "tuberculosis", "n": 1}
    found = progress.result(params.ask(view, "posterior", **fixed))
    blocks.figure(view, "san-francisco", found, ("errors", "main"), of="posterior")
    labels.also(found, outbreaks)
    return found


router.run(main)

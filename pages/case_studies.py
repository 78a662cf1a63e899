"""Case studies: real epidemics, what a private fit says about them, and what it cannot say."""

import streamlit as st

from abcdp_core.results import Result
from ui.figures import blocks, captions, downloads, labels
from ui.jobs import progress
from ui.view import params, router
from ui.view.view import View
from ui.widgets import compare, controls

COVID, TUBERCULOSIS, UNIT = "covid-fit", "tuberculosis-posterior", "unit-of-privacy"


INTRODUCTION = (
    "Two epidemics that the paper fits privately: eighteen days of COVID-19 cases, and a model of "
    "how tuberculosis spreads. Both have few data points, and then privacy costs most."
)


def main(view: View) -> None:
    shown = {"COVID-19": covid, "tuberculosis": tuberculosis}
    shown[blocks.head(view, "Case studies")](view)


def covid(view: View) -> None:
    if not view.has_preset:
        controls.own(view, "covid-fit.distance", "covid-fit.runs")
    found, pinned = compare.result(view, lambda view: params.ask_budget_first(view, COVID))
    blocks.main_figure(view, "curves", found, pinned)
    st.markdown(
        "**What is protected is one day's national count, not a person.** The counts are "
        "cumulative: who is counted on one day is counted on every later day too, so replacing "
        "one day does not hide the people in it. And there are only 18 days: each matters much, so "
        "a small budget leaves little but the prior. Each curve is simulated from one accepted "
        "set of coefficients: a synthetic data set, at no further cost."
    )
    if view.has_preset:
        st.markdown(
            "The paper does not say where the bandwidth of the kernel comes from; here simulated "
            "data give it. The published script computes it from the private series. That is **not "
            "private**: no budget covers it."
        )
    blocks.heading(
        "How far they spread at each budget",
        "Every run has its own noise and its own order of the pool. The spread without noise is "
        "that of ABC itself; what the noise adds to it is the price of privacy.",
    )
    blocks.figure(view, "spread", found, ("spread",))
    labels.show(found)
    people = who_is_protected(
        view,
        found,
        "covid-people",
        "The unit decides: one person, or one day",
        "A person is confirmed on one day, so one person changes one of the *daily* counts by one "
        "case. Another day could change it by all the cases that a day may have, here at most 500, "
        "and to hide that takes 500 times as much noise. The cubic above does not model people; "
        "this one is: a stochastic epidemic in which one in ten infections is confirmed.",
    )
    blocks.verdicts(view, COVID, found)
    st.markdown(INTRODUCTION)
    blocks.theory(COVID, UNIT)
    downloads.block(view, "covid-19", found, people)


def tuberculosis(view: View) -> None:
    if not view.has_preset:
        controls.own(
            view,
            "tuberculosis-posterior.order",
            "tuberculosis-posterior.burden",
            "tuberculosis-posterior.runs",
        )
    sizes = {} if view.has_preset else {"n": (100, 1000)}
    found, pinned = compare.result(view, lambda view: params.ask(view, TUBERCULOSIS, **sizes))
    blocks.main_figure(view, "posterior", found, pinned, ("main", "prior"))
    st.markdown(
        "**What is protected is one of the N outbreaks:** two years of one city may be replaced "
        "by any other two years. All outbreaks are simulated with the same true parameters; the "
        "pool of 1000 draws and all its distances come with the program. Where an interval is "
        "that of the prior, nothing was learnt."
    )
    blocks.heading(
        "How far single releases are off",
        "*By noise*: runs of the same data with other noise. *By data*: how much ten observed "
        "data sets, each with its *own* order of the pool or all with the *same*, differ after "
        "averaging over noise. With the same order this nearly vanishes as long as c is small: "
        "then it matters more which draws come first than which data they meet. The paper does "
        "not say how many runs its numbers rest on. Where a box reaches the dotted line, a "
        "release may say no more than the prior does.",
    )
    blocks.figure(view, "error", found, ("errors", "non_private"))
    st.markdown(captions.counts(found))
    labels.show(found)
    patients = who_is_protected(
        view,
        found,
        "tuberculosis-patients",
        "The unit decides: one patient of San Francisco, or the whole outbreak",
        "Six numbers are kept of the real report: patients, clusters, clusters of one and of two "
        "patients, the largest cluster, and how much larger it is than the fourth. One patient "
        "moves them by at most 13/3 in all, and another outbreak could move them by 2760. So at "
        "the same ε_total a health office that promises privacy to each *patient* adds 1/637 of "
        "the noise that hides the whole outbreak.",
    )
    blocks.verdicts(view, TUBERCULOSIS, found)
    st.markdown(INTRODUCTION)
    city = san_francisco(view, found)
    blocks.theory(TUBERCULOSIS, UNIT)
    downloads.block(view, "tuberculosis", found, patients, city)


def who_is_protected(view: View, beside: Result, scenario: str, heading: str, text: str) -> Result:
    """The same published numbers, released for one person and for the paper's unit."""
    blocks.heading(heading, text)
    found = progress.result(params.ask_as_published(view, UNIT, scenario))
    blocks.figure(view, UNIT, found, ("main", "widths"))
    labels.also(found, beside)
    return found


def san_francisco(view: View, outbreaks: Result) -> Result:
    blocks.heading(
        "And San Francisco itself?",
        "The real data are one outbreak: N = 1. One data point is then all the data, and Δ is as "
        "large as the largest distance, 200. At any usual budget the noise hides everything, and "
        "it has to: whatever is learnt from one outbreak is learnt about that outbreak. What the "
        "line *truth* shows here is the posterior mean reported by the model's authors.",
    )
    fixed = {"scenario": "tuberculosis", "n": 1}
    found = progress.result(params.ask(view, "posterior", **fixed))
    blocks.figure(view, "san-francisco", found, ("errors", "main"), of="posterior")
    labels.also(found, outbreaks)
    return found


router.run(main)

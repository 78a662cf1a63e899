"""Mechanisms: what each makes of the same privacy budget."""

from functools import partial

import streamlit as st

from abcdp_core.results import Result
from ui.figures import blocks, captions, downloads, errors, labels
from ui.jobs import progress
from ui.jobs.job import Job, Request
from ui.view import locks, params, router
from ui.view.view import View
from ui.widgets import compare, controls

COMPARED, POSTERIOR, COVERAGE = "compare-mechanisms", "mechanism-posterior", "coverage"
ACCOUNTING = "accounting"


INTRODUCTION = (
    "Many ways to answer from the same data with the same privacy budget. The published ones pay "
    "for every accepted draw, or for every draw they look at; others pay once, for a few noisy "
    "numbers, and everything else follows from those without further cost."
)


def main(view: View) -> None:
    shown = {"error": error, "what a budget buys": budget, "coverage": coverage}
    shown[blocks.head(view, "Mechanisms")](view)


def error(view: View) -> None:
    if view.has_preset:
        controls.own(view, "mse-curves.metric")
    else:
        controls.own(view, "compare-mechanisms.scenario", "mse-curves.metric")
    job = compare.growing(view, lambda view: params.ask(view, COMPARED), partial(draw_error, view))
    if not view.has_preset:
        controls.more(view, "compare-mechanisms.runs")
    complete = job.result is not None and not job.result.is_partial
    budgets = [other_budgets(view)] if complete and not view.has_preset else []
    release = one_release(view, job.result)
    blocks.theory(COMPARED, POSTERIOR)
    downloads.block(view, "mechanisms", job, release, *(each for each in budgets if each))


def draw_error(view: View, found: Result, pinned: compare.Pinned) -> None:
    params.follow_click()
    click_it = locks.if_free(
        view, "mechanism-posterior.mechanism", "Click a mark to see its posterior below. "
    )

    def click(called: str, epsilon_total: float) -> None:
        params.choose_mechanism(view, called, epsilon_total if view.has_preset else None)

    errors.of_mechanisms(view, found, pinned, ("summary", "grid", "main"), click)
    st.markdown(
        f"{INTRODUCTION} Each mechanism is at its own best ε_abc, chosen on simulated data sets "
        f"and never on those it is scored on. {click_it}A mark is "
        "open where some runs accepted nothing; their estimate is the prior mean. Mechanisms with "
        "a δ promise (ε, δ)-differential privacy, which is less than the pure kind.\n\n"
        "**Why an embedding's noise does not grow with c.** It asks the data one question, what "
        "their mean features are, and pays once; draws are then chosen by looking at the answer. "
        "The sparse vector pays for every *yes*. It is still the right choice where nothing can be "
        "embedded, as with the clipped distances of outbreaks, or for a single question."
    )
    described(found)
    labels.show(found)


def other_budgets(view: View) -> Job | None:
    """The same at many budgets, for who asks: it takes a while."""
    with blocks.folded("At other budgets", key="mechanisms-budgets") as unfolded:
        if not unfolded:
            return None
        budgets = params.with_sidebar(view, COMPARED, "epsilon_total")
        asked = params.ask(view, COMPARED, epsilon_total=budgets)
        return progress.growing(asked, partial(draw_budgets, view), "at-budgets")


def draw_budgets(view: View, found: Result) -> None:
    blocks.figure(view, "at-budgets", found, ("summary",), of=params.error_metric(view))


def described(found: Result) -> None:
    """What each of the mechanisms is, by their names in the figures."""
    with blocks.folded("What the mechanisms are", key="mechanisms-described") as unfolded:
        if unfolded:
            names = captions.mechanisms_of(found)
            with st.grid(2, min_column_width=260, gap="medium"):
                for name in names:
                    st.markdown(captions.mechanism(name))
            blocks.small_print(captions.papers_of(names))


def one_release(view: View, compared: Result | None) -> Result:
    blocks.heading(
        "One release",
        "The posterior that a single release stands for, at the sidebar's ε_total, beside prior "
        "and truth.",
    )
    controls.own(view, "mechanism-posterior.mechanism")
    asked = params.ask(view, POSTERIOR)
    st.markdown(captions.mechanism(asked.params.to_text()["mechanism"]))
    found = progress.result(asked)
    blocks.figure(view, "posterior", found, ("errors", "main"))
    labels.also(found, compared)
    return found


def budget(view: View) -> None:
    controls.own(view, "compare-mechanisms.scenario")
    found, pinned = compare.result(view, lambda view: params.ask_budget_first(view, ACCOUNTING))
    blocks.main_figure(view, "noise", found, pinned)
    st.markdown(
        "Each mark compares a way to add up the costs with the best one here for its mechanism. "
        "The extra noise buys no privacy. Pure guarantees and those with a δ are compared apart."
    )
    blocks.heading(
        "What the budget is spent on",
        "The cost of one part is the most that one person can move it, in units of its noise: ε "
        "for Laplace noise, μ for Gaussian noise. The sparse vector pays for the threshold and "
        "for each accepted sample, rejected draws are free; the embedding pays for its vector, "
        "and any number of samples from it is free.",
    )
    blocks.table(found, "price")
    blocks.heading(
        "What an attacker gets",
        "An attacker who has to tell two neighbouring data sets apart raises false alarms (type I "
        "errors) and misses (type II errors). Each line is what the best one misses; nearer to the "
        "diagonal is more private. "
        "Guarantees that share ε can lie far apart, which is why one pair (ε, δ) is not enough to "
        "compare them. *Exact* is the truth about the noise; a *bound* lies below it; *attained* "
        "is the best attack found. It lies on the truth or above it, because a better attack may "
        "exist, but none below *any pure ε*.",
    )
    blocks.figure(view, "tradeoff", found, ("tradeoff",))
    described(found)
    labels.show(found, stamp="")
    blocks.theory(ACCOUNTING)
    downloads.block(view, "budget", found)


def coverage(view: View) -> None:
    if not view.has_preset:
        controls.own(view, "compare-mechanisms.scenario", "coverage.truths")
    job = compare.growing(view, ask_coverage, partial(draw_coverage, view))
    if not view.has_preset:
        controls.more(view, "coverage.runs")
    blocks.theory(COVERAGE)
    downloads.block(view, "coverage", job)


def ask_coverage(view: View) -> Request:
    if view.has_preset:
        return params.ask(view, COVERAGE)
    smallest = params.with_sidebar(view, COVERAGE, "epsilon_total")[0]
    both = (smallest, float(view["epsilon_total"]))
    return params.ask(view, COVERAGE, epsilon_total=both)


def draw_coverage(view: View, found: Result, pinned: compare.Pinned) -> None:
    blocks.main_figure(view, "coverage", found, pinned, ("summary", "main"))
    st.markdown(
        "A private posterior can be trusted if its 90 % intervals contain the truth nine times in "
        "ten, on average over truths from the prior. The *noise-aware* one is made for that, as it "
        "takes the noise that was added into account. The *noise-ignored* one does not, and can be "
        "far too sure where noise is larger than what the data leave open. Where noise alone "
        "decides what the sparse vector accepts, its draws are a sample of the prior: intervals "
        "from many such draws contain the truth as often, but nothing was learnt."
    )
    if caution := captions.cautions(found):
        st.warning(caution, icon="⚠️")
    blocks.figure(view, "width", found, ("summary", "releases"))
    described(found)
    labels.show(found)


router.run(main)

"""Compare what each mechanism achieves with the same privacy budget."""

from functools import partial

import streamlit as st

from abcdp_core.run.results import Result
from ui import router
from ui.figures import blocks, captions, downloads, errors, labels
from ui.jobs import progress
from ui.jobs.job import Job, Request
from ui.view import locks, params
from ui.view.view import View
from ui.widgets import compare, controls

COMPARED, POSTERIOR, COVERAGE = "compare-mechanisms", "mechanism-posterior", "coverage"
ACCOUNTING = "accounting"


INTRODUCTION = (
    "Each mechanism answers from the same data with the same privacy budget. The published ones "
    "pay for every draw they keep, or for every draw they look at. Others pay once, for a few "
    "noisy numbers; everything computed from those is free."
)


def main(view: View) -> None:
    shown = {"error": error, "what a budget buys": budget, "coverage": coverage}
    shown[blocks.shown(view)](view)


def error(view: View) -> None:
    if view.has_preset:
        controls.page_controls(view, "mse-curves.metric")
    else:
        controls.page_controls(view, "compare-mechanisms.scenario", "mse-curves.metric")
    job = compare.growing(view, lambda view: params.ask(view, COMPARED), partial(draw_error, view))
    if not view.has_preset:
        controls.advanced_controls(view, "compare-mechanisms.runs")
    complete = job.result is not None and not job.result.is_partial
    budgets = [other_budgets(view)] if complete and not view.has_preset else []
    release = one_release(view, job.result)
    blocks.theory(COMPARED, POSTERIOR)
    downloads.block(view, "mechanisms", job, release, *(each for each in budgets if each))


def draw_error(view: View, found: Result, pinned: compare.Pinned) -> None:
    click_it = locks.if_free(
        view, "mechanism-posterior.mechanism", "Click a mark to see its posterior below. "
    )

    def click(called: str, epsilon_total: float) -> None:
        params.choose_mechanism(view, called, epsilon_total if view.has_preset else None)

    errors.of_mechanisms(view, found, pinned, ("summary", "grid", "main"), click)
    st.markdown(
        f"{INTRODUCTION} Each mechanism is at its own best ε_abc, chosen on simulated data sets "
        f"other than those it is scored on. {click_it}An open mark means that some runs kept "
        "nothing, so their estimate is the prior mean. Mechanisms with a δ promise "
        "(ε, δ)-differential privacy, a weaker guarantee. The truth is fixed and c is yours; "
        "*Choose a mechanism* averages over truths and also chooses c, so its errors differ.\n\n"
        "**Why an embedding's noise does not grow with c.** An embedding asks the data one "
        "question, their mean features, and pays once; draws are then compared with the answer. "
        "The sparse vector pays for every *yes*. It is still the right choice where no such "
        "averages exist, as with the clipped distances of outbreaks, or for a single question."
    )
    described(found)
    labels.show(found)


def other_budgets(view: View) -> Job | None:
    """Show the same at many budgets once unfolded: it takes a while."""
    with blocks.folded("At other budgets", key="mechanisms-budgets") as unfolded:
        if not unfolded:
            return None
        budgets = params.with_sidebar(view, COMPARED, "epsilon_total")
        asked = params.ask(view, COMPARED, epsilon_total=budgets)
        return progress.growing(asked, partial(draw_budgets, view), "at-budgets")


def draw_budgets(view: View, found: Result) -> None:
    blocks.figure(view, "at-budgets", found, ("summary",), of=params.error_metric(view))


def described(found: Result) -> None:
    """Describe each mechanism under its name in the figures."""
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
        "The posterior from a single release at the sidebar's ε_total, beside prior and truth.",
    )
    controls.page_controls(view, "mechanism-posterior.mechanism")
    asked = params.ask(view, POSTERIOR)
    st.markdown(captions.mechanism(asked.params.to_text()["mechanism"]))
    found = progress.result(asked)
    blocks.figure(view, "posterior", found, ("errors", "main"))
    labels.also(found, compared)
    return found


def budget(view: View) -> None:
    controls.page_controls(view, "compare-mechanisms.scenario")
    found, pinned = compare.result(view, lambda view: params.ask_budget_first(view, ACCOUNTING))
    blocks.figure(view, "noise", found, pinned=pinned)
    st.markdown(
        "Each mark compares one way of adding up privacy losses with the best one for the same "
        "mechanism. The stated guarantee does not need the extra noise. Pure guarantees and those "
        "with a δ are compared separately."
    )
    blocks.heading(
        "What the budget is spent on",
        "The loss of one part is the most that one person can change it, in units of its noise: ε "
        "for Laplace noise, μ for Gaussian noise. The sparse vector pays for the threshold and for "
        "each draw it keeps; rejected draws are free. The embedding pays for its vector; any "
        "number of draws from it is free.",
    )
    blocks.table(found, "price")
    blocks.heading(
        "What an attacker gets",
        "An attacker who tries to tell two neighboring data sets apart raises false alarms (type I "
        "errors) and misses (type II errors). Each line shows how often the best attacker misses; "
        "closer to the diagonal is more private. Guarantees with the same ε can be far apart, so "
        "one pair (ε, δ) is not enough to compare them. *Exact* is the true curve; a *bound* lies "
        "below it. *Attained* is the best attack found: it lies on the true curve or above, since "
        "a better attack may exist. No attack can do better than *any pure ε* allows.",
    )
    blocks.figure(view, "tradeoff", found, ("tradeoff",))
    described(found)
    labels.show(found, stamp="")
    blocks.theory(ACCOUNTING)
    downloads.block(view, "budget", found)


def coverage(view: View) -> None:
    if not view.has_preset:
        controls.page_controls(view, "compare-mechanisms.scenario", "coverage.truths")
    job = compare.growing(view, ask_coverage, partial(draw_coverage, view))
    if not view.has_preset:
        controls.advanced_controls(view, "coverage.runs")
    blocks.theory(COVERAGE)
    downloads.block(view, "coverage", job)


def ask_coverage(view: View) -> Request:
    if view.has_preset:
        return params.ask(view, COVERAGE)
    smallest = params.with_sidebar(view, COVERAGE, "epsilon_total")[0]
    both = (smallest, float(view["epsilon_total"]))
    return params.ask(view, COVERAGE, epsilon_total=both)


def draw_coverage(view: View, found: Result, pinned: compare.Pinned) -> None:
    blocks.figure(view, "coverage", found, ("summary", "main"), pinned=pinned)
    st.markdown(
        "A private posterior can be trusted if its 90 % intervals contain the truth nine times in "
        "ten, on average over truths from the prior. The *noise-aware* posterior accounts for the "
        "noise that was added. The *noise-ignored* posterior does not, and can be far too sure "
        "where the noise exceeds the uncertainty of the data. Where noise alone decides what the "
        "sparse vector keeps, its draws come from the prior: their intervals contain the truth as "
        "often as they should, but nothing was learned."
    )
    if caution := blocks.words(found, "cautions"):
        st.warning(caution, icon="⚠️")
    blocks.figure(view, "width", found, ("summary", "releases"))
    described(found)
    labels.show(found)


router.run(main)

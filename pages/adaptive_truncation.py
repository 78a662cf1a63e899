"""Show people who answer one after the other, each where the answer should help most."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from abcdp_core.run.results import Result
from ui import router
from ui.figures import blocks, downloads, labels
from ui.jobs import progress
from ui.jobs.job import Request
from ui.parts import player
from ui.view import locks, params
from ui.view.view import View
from ui.widgets import compare, controls

STREAM, BUDGETS = "adaptive-truncation", "truncation-streams"
INTERVAL, WAYS, REPEATS = "truncation-interval", "ways-of-asking", "estimation-accuracy"
VECTORS, GRADIENT = "vector-truncation", "online-gradient"


def main(view: View) -> None:
    shown = {
        "live": live,
        "ways of asking": ways_of_asking,
        "best interval": best_interval,
        "budgets": budgets,
        "repeats": repeats,
        "vectors": several_values,
        "gradient": gradient,
    }
    shown[blocks.shown(view)](view)


def live(view: View) -> None:
    asked = params.ask(view, STREAM)
    ways = player.STUDY.ways(asked.params)
    requests = {way: Request(STREAM, each, asked.seed) for way, each in ways.items()}
    jobs = progress.growing_together(requests, partial(play, view))
    controls.page_controls(view, "adaptive-truncation.score", "adaptive-truncation.sampler")
    controls.advanced_controls(
        view,
        "adaptive-truncation.particles",
        "adaptive-truncation.fixed_width",
        "adaptive-truncation.noise",
        "adaptive-truncation.weight",
        "adaptive-truncation.symmetric",
    )
    blocks.heading(
        "What happens here",
        "A city wants to know what its people earn, and nobody wants to say. So everyone answers "
        "once: the value is clipped to an interval, and noise proportional to the interval's "
        "width is added. A narrow interval in the right place reveals most about the mean, but at "
        "first nobody knows the place. So each person is asked where the earlier answers suggest. "
        "An answer need not be a noisy number: **symbols** cut the line at a few places, and each "
        "person names the part that contains their value, sometimes wrongly on purpose, so that "
        "nobody can be sure.",
    )
    blocks.small_print(player.STUDY.no_symbols(asked.params))
    st.markdown(
        "**At first** the interval jumps about, because little is known: an interval far from the "
        "mean reveals little more than the side on which the mean lies. Moving helps, too: an "
        "interval that never moves shows how many people are on either side of it, but not how far "
        "away they are.  \n"
        "**Without noise** is the precision of the values themselves: after t people, ±1.96 σ/√t "
        "for μ and ±1.96 σ/√(2t) for σ.  \n"
        "**The spread σ** is hardly learned at a small ε_total. Setting *The interval is best for* "
        "to sigma or trace helps. σ is gray until log σ is known clearly better than before the "
        "first answer.  \n"
        "**A single run can be lucky.** "
        f"{locks.if_free(view, 'noise_draw', '*New noise* starts another; ')}*Is this run "
        "typical?* repeats it 30 times with these settings, and *repeats* does so at several "
        "budgets."
    )
    with blocks.folded(
        "Is this run typical? Repeat it with other people and other noise", "other-runs"
    ) as is_open:
        if is_open:
            others = params.ask(view, REPEATS, **player.STUDY.others(asked.params))
            progress.growing(others, partial(draw_others, view), "other-runs")
    with blocks.folded("Data, and the figures as they are in the download", "for-print") as is_open:
        for way, job in jobs.items() if is_open else ():
            if job.result is not None:
                blocks.figure(view, f"{way}-stream", job.result, of="stream")
                blocks.figure(view, f"{way}-particles", job.result, ("particles",), of="particles")
    blocks.theory(STREAM)
    downloads.block(view, "adaptive-truncation", *jobs.values())


def play(view: View, found: Mapping[str, Result], growing: bool) -> None:
    player.headline(found)
    summary = " ".join(result.summary for result in found.values())
    player.show(view, found, growing, summary)
    labels.show(next(iter(found.values())))


def draw_others(view: View, found: Result) -> None:
    st.markdown(player.STUDY.typical_of(found))
    blocks.figure(view, "means-mu", found, ("main", "course"))


def ask_budgets(view: View, study: str) -> Request:
    if view.has_preset:
        return params.ask(view, study)
    return params.ask(view, study, epsilon_total=params.with_sidebar(view, study, "epsilon_total"))


def budgets(view: View) -> None:
    blocks.heading("Several budgets", "The same people with the same noise in every column.")
    job = progress.growing(ask_budgets(view, BUDGETS), partial(draw_budgets, view))
    blocks.verdicts(view, BUDGETS, job.result)
    blocks.theory(BUDGETS)
    downloads.block(view, "truncation-streams", job)


def draw_budgets(view: View, found: Result) -> None:
    blocks.figure(view, "streams", found, ("main", "particles"))
    st.markdown("σ is gray until log σ is known clearly better than before the first answer.")
    labels.show(found)


def ways_of_asking(view: View) -> None:
    weight = ["weight"] if view["ways-of-asking.score"] == "weights" else []
    keys = [f"ways-of-asking.{name}" for name in ("family", "score", *weight)]
    blocks.heading("Ways of asking")
    controls.page_controls(view, *keys)
    found, pinned = compare.result(view, lambda view: params.ask(view, WAYS))
    draw_ways(view, found, pinned)
    blocks.theory(WAYS)
    downloads.block(view, "ways-of-asking", found)


ANSWERS = {"symbols": "symbols", "clipped": "main"}
"""Pictures of one answer, each with the table that it is drawn from."""


def draw_ways(view: View, found: Result, pinned: compare.Pinned) -> None:
    if pinned.result is None:
        answers, tell = st.columns((2, 3), gap="medium")
    else:
        tell, answers = st.container(), st.container()
    with answers:
        for name in ANSWERS:
            blocks.picture(view, name, found)
    with tell:
        st.markdown(blocks.words(found, "why"))
        blocks.figure(view, "information", found, pinned=pinned)
    for place, name in zip(st.columns(2, gap="medium"), ANSWERS, strict=True):
        with place:
            blocks.below(name, found, (ANSWERS[name],))
    labels.show(found, stamp="")


def best_interval(view: View) -> None:
    blocks.heading(
        "The best interval",
        "If you knew μ and σ, which interval should you ask in? Lines join intervals whose answers "
        "carry 50 %, 90 % and 99 % of the information of answers in the best interval.",
    )
    found, pinned = compare.result(view, lambda view: params.ask(view, INTERVAL))
    blocks.figure(view, "surface", found, ("main", "plane", "surface"), pinned=pinned)
    if not view.has_preset:
        controls.page_controls(
            view,
            "truncation-interval.family",
            "truncation-interval.score",
            "truncation-interval.symmetric",
        )
    blocks.heading(
        "For μ, narrower can be better",
        "Clipping loses little about μ, because most of what a value reveals about μ is the side "
        "it is on, and a narrower interval needs less noise. So at a small ε_total the best "
        "interval for μ is narrow, and the curve is flat there; at a large ε_total, where noise "
        "matters little, it is wide. For Laplace-distributed values the side is all that matters, "
        "so the best interval stays narrow.",
    )
    blocks.figure(view, "width", found, ("width", "main"))
    st.markdown(
        "The paper reports the half-widths 0.06, 0.12, 0.54 and 0.96 for ε_total = 1, 2, 5 and 10, "
        "from a search in steps of 0.06 with Monte Carlo noise. The exact maximizers are 0.0706, "
        "0.2234, 0.7281 and 1.2244. Because the curve is flat, little was lost. More important: "
        "the published script's noise is too small by a factor of √2, so its runs spent √2 times "
        "the ε_total they state."
    )
    blocks.heading(
        "And σ?",
        "At a small ε_total an answer in the best interval for μ is a noisy sign. It reveals next "
        "to nothing about σ, even less than a wide fixed interval. An off-center interval helps, "
        "because σ decides how many people lie beyond it, but it reveals less about μ.",
    )
    blocks.figure(view, "ways", found, ("ways",))
    labels.show(found, stamp="")
    blocks.verdicts(view, INTERVAL, found)
    blocks.theory(INTERVAL)
    downloads.block(view, "best-interval", found)


def repeats(view: View) -> None:
    blocks.heading("Many repeats", "Other people and other noise in every run.")
    if not view.has_preset:
        controls.page_controls(view, "estimation-accuracy.runs")
    job = progress.growing(ask_budgets(view, REPEATS), partial(draw_repeats, view))
    blocks.verdicts(view, REPEATS, job.result)
    blocks.theory(REPEATS)
    downloads.block(view, "estimation-accuracy", job)


def draw_repeats(view: View, found: Result) -> None:
    for name in blocks.names(found):
        more = ("main", "course", "chains") if name.startswith("means") else ("main",)
        blocks.figure(view, name, found, more)
    labels.show(found)


def several_values(view: View) -> None:
    by_channel(view, VECTORS, "Several values of each person", partial(draw_values, view))


def draw_values(view: View, found: Result) -> None:
    blocks.figure(view, "error", found, ("main",))
    blocks.figure(view, "told", found, ("told",))
    st.markdown(
        "One budget protects all values of a person. Should it be split among them, or spent on a "
        "few chosen at random? The information in an answer grows with the square of a small "
        "budget and levels off at a large one. So a small budget split in ten gives a hundredth "
        "of the information ten times; it is better spent on one value of each person. A large "
        "budget is better split among several."
    )
    labels.show(found)


def gradient(view: View) -> None:
    by_channel(view, GRADIENT, "A step for each answer", partial(draw_steps, view))


def by_channel(view: View, study: str, title: str, draw: progress.DrawOne) -> None:
    """Show a study that asks through the channel chosen below its title."""
    blocks.heading(title)
    controls.page_controls(view, f"{study}.channel")
    job = progress.growing(params.ask(view, study), draw)
    blocks.theory(study)
    downloads.block(view, study, job)


def draw_steps(view: View, found: Result) -> None:
    for name in blocks.names(found):
        blocks.figure(view, name, found, ("main", "cost"))
    st.markdown(
        "Instead of a posterior, this keeps one estimate that moves a little along the score of "
        "each answer, and stores no answer."
    )
    labels.show(found)


router.run(main)

"""Adaptive truncation: people answer one after the other, each where it should help most."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from abcdp_core.results import Result
from ui.figures import blocks, captions, downloads, labels
from ui.jobs import progress
from ui.jobs.job import Request
from ui.parts import player
from ui.view import locks, params, router
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
    shown[blocks.head(view)](view)


def live(view: View) -> None:
    asked = params.ask(view, STREAM)
    ways = player.STUDY.ways(asked.params)
    requests = {way: Request(STREAM, each, asked.seed) for way, each in ways.items()}
    jobs = progress.growing_together(requests, partial(play, view))
    controls.own(view, "adaptive-truncation.score", "adaptive-truncation.sampler")
    controls.more(
        view,
        "adaptive-truncation.particles",
        "adaptive-truncation.fixed_width",
        "adaptive-truncation.noise",
        "adaptive-truncation.weight",
        "adaptive-truncation.symmetric",
    )
    blocks.heading(
        "What happens here",
        "A city wants to know what its people earn, and nobody wants to tell. So everybody answers "
        "once: the value is cut off at the ends of an interval, and gets noise in proportion to "
        "its width. A narrow interval in the right place tells most about the mean, but nobody "
        "knows that place at first. So each person is asked where the answers of the people "
        "before suggest. An answer need not be a number with noise: **symbols** cut the line at a "
        "few places, and the person says in which part the value lies, now and then wrongly on "
        "purpose, so that nobody can be sure.",
    )
    blocks.small_print(player.STUDY.no_symbols(asked.params))
    st.markdown(
        "**At first** the interval jumps about, because little is known, and an answer from far "
        "away tells little more than on which side the mean lies. Changing places teaches, too: "
        "an interval that never moves tells how many people lie on either side of it, but not how "
        "far away they are.  \n"
        "**Without noise** is how well the values themselves would tell it: ±1.96 σ/√t after t "
        "people for μ, ±1.96 σ/√(2t) for σ.  \n"
        "**The spread σ** is hardly learnt at a small ε_total. *The interval is best for* sigma or "
        "trace helps; σ is grey until log σ is known clearly better than before the first "
        "answer.  \n"
        "**One run is one draw of chance.** "
        f"{locks.if_free(view, 'noise_draw', '*New noise* draws another; ')}*Is this run typical?* "
        "does 30 with these settings; *repeats* does them at several budgets."
    )
    with blocks.folded("Is this run typical? Other people, other noise", "other-runs") as is_open:
        if is_open:
            others = params.ask(view, REPEATS, **player.STUDY.others(asked.params))
            progress.growing(others, partial(draw_others, view), "other-runs")
    with blocks.folded("Numbers, and the figures as the download has them", "for-print") as is_open:
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
    blocks.title("Several budgets", "The same people with the same noise in every column.")
    job = progress.growing(ask_budgets(view, BUDGETS), partial(draw_budgets, view))
    blocks.verdicts(view, BUDGETS, job.result)
    blocks.theory(BUDGETS)
    downloads.block(view, "truncation-streams", job)


def draw_budgets(view: View, found: Result) -> None:
    blocks.figure(view, "streams", found, ("main", "particles"))
    st.markdown("σ is grey until log σ is clearly known better than before the first answer.")
    labels.show(found)


def ways_of_asking(view: View) -> None:
    weight = ["weight"] if view["ways-of-asking.score"] == "weights" else []
    keys = [f"ways-of-asking.{name}" for name in ("family", "score", *weight)]
    blocks.titled(view, "Ways of asking", *keys)
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
        st.markdown(captions.why_symbols(found))
        blocks.main_figure(view, "information", found, pinned)
    for place, name in zip(st.columns(2, gap="medium"), ANSWERS, strict=True):
        with place:
            blocks.below(name, found, (ANSWERS[name],))
    labels.show(found, stamp="")


def best_interval(view: View) -> None:
    blocks.title(
        "The best interval",
        "In which interval would one ask, if one knew μ and σ? Lines join intervals whose "
        "answers tell 50 %, 90 % and 99 % as much as those in the best interval.",
    )
    found, pinned = compare.result(view, lambda view: params.ask(view, INTERVAL))
    blocks.main_figure(view, "surface", found, pinned, ("main", "plane", "surface"))
    if not view.has_preset:
        controls.own(
            view,
            "truncation-interval.family",
            "truncation-interval.score",
            "truncation-interval.symmetric",
        )
    blocks.heading(
        "For μ, narrower can be better",
        "Clipping loses little about μ: most of what a value tells about μ is which side of μ it "
        "lies on. The noise falls with the width. So at a small ε_total the best interval for μ is "
        "narrow, and the curve is flat there; at a large one, where noise counts little, it is "
        "wide. Of Laplace values the side is all that tells about μ, so there it stays narrow.",
    )
    blocks.figure(view, "width", found, ("width", "main"))
    st.markdown(
        "The paper reports the half-widths 0.06, 0.12, 0.54 and 0.96 for ε_total = 1, 2, 5 and 10, "
        "from a search in steps of 0.06 with Monte Carlo noise. The exact maximisers are 0.0706, "
        "0.2234, 0.7281 and 1.2244. As the curve is flat, little was lost. More important: the "
        "published script draws its noise too small by the factor √2, so its runs spent √2 times "
        "the ε_total they state."
    )
    blocks.heading(
        "And σ?",
        "At a small ε_total an answer in the best interval for μ is a noisy sign, which tells next "
        "to nothing about σ, even less than a wide fixed interval does. An interval beside "
        "the middle helps: how many people lie beyond it depends on σ. But it tells less about μ.",
    )
    blocks.figure(view, "ways", found, ("ways",))
    labels.show(found, stamp="")
    blocks.verdicts(view, INTERVAL, found)
    blocks.theory(INTERVAL)
    downloads.block(view, "best-interval", found)


def repeats(view: View) -> None:
    blocks.title("Many repeats", "Other people and other noise in every run.")
    if not view.has_preset:
        controls.own(view, "estimation-accuracy.runs")
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
        "One budget protects all values of a person. Is it better split among them, or spent on a "
        "few of them, drawn by lot? What an answer tells grows with the square of a small budget "
        "and hardly any more with a large one. So a small budget split in ten tells a hundredth "
        "ten times over, and is better "
        "spent on one value of each person; a large one is better split among several."
    )
    labels.show(found)


def gradient(view: View) -> None:
    by_channel(view, GRADIENT, "A step for each answer", partial(draw_steps, view))


def by_channel(view: View, study: str, title: str, draw: progress.DrawOne) -> None:
    """A study that asks by the channel chosen beside its title."""
    blocks.titled(view, title, f"{study}.channel")
    job = progress.growing(params.ask(view, study), draw)
    blocks.theory(study)
    downloads.block(view, study, job)


def draw_steps(view: View, found: Result) -> None:
    for name in blocks.names(found):
        blocks.figure(view, name, found, ("main", "cost"))
    st.markdown(
        "In place of a posterior, an estimate that moves a little along the score of each answer, "
        "and keeps none of them."
    )
    labels.show(found)


router.run(main)

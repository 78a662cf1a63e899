"""Adaptive truncation: people answer one after the other, each where it should help most."""

from collections.abc import Mapping

from ui import (
    asking,
    blocks,
    captions,
    controls,
    export,
    labels,
    locks,
    pin,
    player,
    router,
    state,
    watch,
)
from ui.job import Request

router.guard()

STREAM, BUDGETS = "adaptive-truncation", "truncation-streams"
INTERVAL, WAYS, REPEATS = "truncation-interval", "ways-of-asking", "estimation-accuracy"
VECTORS, GRADIENT = "vector-truncation", "online-gradient"


def main() -> None:
    shown = {
        "live": live,
        "ways of asking": ways_of_asking,
        "best interval": best_interval,
        "budgets": budgets,
        "repeats": repeats,
        "vectors": several_values,
        "gradient": gradient,
    }
    shown[blocks.view_and_presets()]()


def live() -> None:
    params, seed = asking.ask(STREAM)
    ways = player.ways(params)
    requests = {way: Request(STREAM, asked, seed) for way, asked in ways.items()}
    jobs = watch.growing_together(requests, play)
    controls.own("adaptive-truncation.score", "adaptive-truncation.sampler")
    controls.more(
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
    blocks.small_print(player.no_symbols(params))
    blocks.note(
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
        f"{locks.if_free('noise_draw', '*New noise* draws another; ')}*Is this run typical?* "
        "does 30 with these settings; *repeats* does them at several budgets."
    )
    with blocks.folded("Is this run typical? Other people, other noise", "other-runs") as is_open:
        if is_open:
            others = asking.ask(REPEATS, **player.others(params))
            watch.growing_under("other-runs", REPEATS, *others, draw_others)
    with blocks.folded("Numbers, and the figures as the download has them", "for-print") as is_open:
        for way, job in jobs.items() if is_open else ():
            if job.result is not None:
                blocks.figure(f"{way}-stream", job.result, of="stream")
                blocks.figure(f"{way}-particles", job.result, ("particles",), of="particles")
    blocks.theory(STREAM)
    export.block("adaptive-truncation", *jobs.values())


def play(found: Mapping[str, blocks.Found], growing: bool) -> None:
    player.headline(found)
    summary = " ".join(result.summary for result in found.values())
    player.show("people", found, growing, summary)
    labels.show(next(iter(found.values())))


def draw_others(found: blocks.Found) -> None:
    player.judge(found)
    blocks.figure("means-mu", found, ("main", "course"))


def budgets() -> None:
    blocks.title("Several budgets", "The same people with the same noise in every column.")
    fixed = {} if state.has_preset() else {"epsilon_total": asking.budgets(BUDGETS)}
    params, seed = asking.ask(BUDGETS, **fixed)
    job = watch.growing(BUDGETS, params, seed, draw_budgets)
    blocks.verdicts(BUDGETS, job.result)
    blocks.theory(BUDGETS)
    export.block("truncation-streams", job)


def draw_budgets(found: blocks.Found) -> None:
    blocks.figure("streams", found, ("main", "particles"))
    blocks.note("σ is grey until log σ is clearly known better than before the first answer.")
    labels.show(found)


def ways_of_asking() -> None:
    weight = ["weight"] if state.current("ways-of-asking.score") == "weights" else []
    keys = [f"ways-of-asking.{name}" for name in ("family", "score", *weight)]
    blocks.titled("Ways of asking", *keys)
    found, pinned = pin.result(WAYS, lambda: asking.ask(WAYS))
    draw_ways(found, pinned)
    blocks.theory(WAYS)
    export.block("ways-of-asking", found)


ANSWERS = {"symbols": "symbols", "clipped": "main"}
"""Pictures of one answer, each with the table that it is drawn from."""


def draw_ways(found: blocks.Found, pinned: pin.Pinned) -> None:
    if pinned.result is None:
        answers, tell = blocks.cause_and_effect()
    else:
        tell, answers = blocks.above_and_below()
    with answers:
        for name in ANSWERS:
            blocks.picture(name, found)
    with tell:
        blocks.note(captions.why_symbols(found))
        blocks.main_figure("information", found, pinned)
    for place, name in zip(blocks.pair(), ANSWERS, strict=True):
        with place:
            blocks.below(name, found, (ANSWERS[name],))
    labels.show(found, stamp="")


def best_interval() -> None:
    blocks.title(
        "The best interval",
        "In which interval would one ask, if one knew μ and σ? Lines join intervals whose "
        "answers tell 50 %, 90 % and 99 % of the most.",
    )
    found, pinned = pin.result(INTERVAL, lambda: asking.ask(INTERVAL))
    blocks.main_figure("surface", found, pinned, ("main", "plane", "surface"))
    if not state.has_preset():
        controls.own(
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
    blocks.figure("width", found, ("width", "main"))
    blocks.note(
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
    blocks.figure("ways", found, ("ways",))
    labels.show(found, stamp="")
    blocks.verdicts(INTERVAL, found)
    blocks.theory(INTERVAL)
    export.block("best-interval", found)


def repeats() -> None:
    blocks.title("Many repeats", "Other people and other noise in every run.")
    if state.has_preset():
        params, seed = asking.ask(REPEATS)
    else:
        controls.own("estimation-accuracy.runs")
        params, seed = asking.ask(REPEATS, epsilon_total=asking.budgets(REPEATS))
    job = watch.growing(REPEATS, params, seed, draw_repeats)
    blocks.verdicts(REPEATS, job.result)
    blocks.theory(REPEATS)
    export.block("estimation-accuracy", job)


def draw_repeats(found: blocks.Found) -> None:
    for name in ("mu", "sigma"):
        blocks.figure(f"error-{name}", found)
        blocks.figure(f"means-{name}", found, ("main", "course", "chains"))
    labels.show(found)


def several_values() -> None:
    by_channel(VECTORS, "Several values of each person", draw_values)


def draw_values(found: blocks.Found) -> None:
    blocks.figure("error", found, ("main",))
    blocks.figure("told", found, ("told",))
    blocks.note(
        "One budget protects all values of a person. Is it better split among them, or spent on a "
        "few of them, drawn by lot? What an answer tells grows with the square of a small budget "
        "and hardly any more with a large one. So a small budget split in ten tells a hundredth "
        "ten times over, and is better "
        "spent on one value of each person; a large one is better split among several."
    )
    labels.show(found)


def gradient() -> None:
    by_channel(GRADIENT, "A step for each answer", draw_steps)


def by_channel(study: str, title: str, draw: watch.DrawOne) -> None:
    """A study that asks by the channel chosen beside its title."""
    blocks.titled(title, f"{study}.channel")
    job = watch.growing(study, *asking.ask(study), draw)
    blocks.theory(study)
    export.block(study, job)


def draw_steps(found: blocks.Found) -> None:
    for name in blocks.names(found):
        blocks.figure(name, found, ("main", "cost"))
    blocks.note(
        "In place of a posterior, an estimate that moves a little along the score of each answer, "
        "and keeps none of them."
    )
    labels.show(found)


main()

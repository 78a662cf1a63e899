"""Gaussian noise: the older versions of ABCDP, and the figures of their paper."""

from ui import asking, blocks, controls, export, labels, pin, router, state

router.guard()

SOFT, REJECTION, SAN_FRANCISCO = "soft-abc", "gaussian-rejection", "tuberculosis-soft"
LOSS, METRIC = "gaussian-loss", "mse-curves.metric"


INTRODUCTION = (
    "Before the sparse vector technique, ABCDP added Gaussian noise to the distance of every draw "
    "of the pool: to weight all of them softly, or to decide about each. Both pay for the whole "
    "pool, so more draws mean more noise."
)


def main() -> None:
    shown = {
        "soft weights": soft,
        "rejection": rejection,
        "what it costs": loss,
        "San Francisco": san_francisco,
    }
    shown[blocks.head("Gaussian noise")]()


def soft() -> None:
    growing(SOFT, draw_soft, METRIC)


def draw_soft(found: blocks.Found, pinned: pin.Pinned) -> None:
    blocks.main_figure(asking.error_metric(), found, pinned, of=asking.error_metric)
    blocks.note(
        f"{INTRODUCTION} *Accountant*: how the costs of all draws are added up. At ε_total = 1, "
        "δ = 0.0001 the paper's classic conversion adds 38 % more noise than is needed and today's "
        "tight conversion 10 % more. The exact account adds no more than is needed."
    )
    for name in blocks.names(found, without=("mse", "mae")):
        blocks.figure(name, found)
    labels.show(found)


def rejection() -> None:
    growing(REJECTION, draw_rejection, METRIC)


def draw_rejection(found: blocks.Found, pinned: pin.Pinned) -> None:
    blocks.main_figure(asking.error_metric(), found, pinned, of=asking.error_metric)
    blocks.note(
        f"{INTRODUCTION} Every draw of the pool gets a decision, and every decision has to be "
        "paid for: compare the noise below with the thresholds. Where some runs accept nothing "
        "the mark is open; their estimate is the prior mean."
    )
    blocks.figure("noise", found, ("noise",))
    labels.show(found)


def loss() -> None:
    found, pinned = pin.result(LOSS, lambda: asking.ask(LOSS, epsilon_abc=asking.thresholds(LOSS)))
    blocks.main_figure("loss", found, pinned)
    blocks.note(
        "**Is a larger ε_abc more private?** With the same σ: yes for soft weights, where σ is "
        "counted in thresholds. For decisions only up to half the clipping bound: beyond that the "
        "outcome that reveals most is the rejection of a draw at distance 0, and a larger ε_abc "
        "makes it rarer."
    )
    blocks.figure("noise", found, ("noise",))
    labels.show(found, stamp="")
    blocks.theory(LOSS)
    export.block(LOSS, found)


def san_francisco() -> None:
    growing(SAN_FRANCISCO, draw_san_francisco)


def draw_san_francisco(found: blocks.Found, pinned: pin.Pinned) -> None:
    blocks.main_figure("error", found, pinned, ("errors", "non_private"))
    blocks.note(
        "**What is protected is the only outbreak there is.** All that is used of it is its "
        "distance to each draw, clipped at 200, and another outbreak can change that by the full "
        "200. So at any usual budget the weights are nearly those of noise alone."
    )
    blocks.figure("posterior", found, ("shares",))
    labels.show(found)


def growing(experiment: str, draw: pin.DrawTwo, *knobs: str) -> None:
    own_knobs(experiment, *knobs)
    job = pin.growing(experiment, lambda: asking.ask_lists(experiment), draw)
    blocks.verdicts(experiment, job.result)
    blocks.theory(experiment)
    export.block(experiment, job)


def own_knobs(experiment: str, *shared: str) -> None:
    if not state.has_preset():
        controls.own(*shared, f"{experiment}.accountant", f"{experiment}.runs")
    elif shared:
        controls.own(*shared)


main()

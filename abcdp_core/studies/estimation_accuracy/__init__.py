r"""How accurate are estimates from private answers, by way of asking and sampler?

Each run has its own people and noise, the same for all methods. A method combines a way of asking,
in an adaptive or a fixed interval (MATH A5, A9), with a sampler. Online samplers are the paper's
particles (``smc-latent``, MATH A6), our particles (``smc``, A7) and the grid (A8). Batch samplers
start after the last answer: the paper's ``mhaar``, and plain ``mh`` on the exact likelihood (A9).
They need a fixed interval, because adaptive intervals follow the estimate. The error is the
distance between the posterior mean of $\mu$ or $\sigma$ and the truth.

All samplers approximate the same posterior, so they differ only in Monte Carlo error and time. Ways
of asking differ in the information $F$ of an answer (MATH A3, A4). The dotted lines are the mean
absolute error of an estimate that uses all of this information,
$\sqrt{2/\pi}\;\sigma/\sqrt{N F}$, for the best interval at the true parameters and for the fixed
interval. They ignore the prior and the price of exploring. Above the spread of the prior they are
meaningless.

With ``channel``, people also answer with symbols from a table, placed like an adaptive interval
(MATH A14): a *sign* or the *optimal* symbols. The column ``interval`` then has the name of the
channel. Another line shows what a trusted collector with everyone's exact value could achieve by
adding noise once, and so what trust is worth.

The table ``course`` follows the online samplers: spread and error after each part of the people,
and the spread of the interval centers within it. ``reach`` is the number of people until the
standard deviation of $\mu$ stays below $\sigma/\sqrt{10}$, the precision of ten exact values; it is
$N + 1$ if this never happens. ``sigma_width`` is the standard deviation of $\log\sigma$ as a share
of the prior's; near 1, the answers carried no information about $\sigma$.

In the paper's start, every particle is at the first answer. If the fixed interval is wide, this
sampler can stay far from the truth, since each sweep moves $\mu$ by at most about
$\sigma/\sqrt{t}$.

``score`` defines which answers are best. Up to $\epsilon_{total} = 2$, the symbols with the most
information about $\mu$ are signs, which carry none about $\sigma$ when placed right.
``determinant`` covers both parameters.

A posterior interval contains the truth as often as stated, on average over truths from the prior
(simulation-based calibration). For a single truth it may not.

[Y23] shows box plots of 30 runs. Its published script adds noise that is too small by a factor of
$\sqrt{2}$ (MATH A11), so its runs spend more budget than they state. Ours do not.
"""

from __future__ import annotations

from functools import partial

from abcdp_core.run.tasks import Chunk
from abcdp_core.studies.engine import BaseParams, Chain, Continuation, Study
from abcdp_core.studies.engine.estimates import SYMBOL
from abcdp_core.studies.estimation_accuracy.computing import Params, advance, chains
from abcdp_core.studies.estimation_accuracy.drawing import ERRORS, boxes, errors

__all__ = ["COLUMNS", "PRESETS", "Params", "collect", "figures", "tasks", "work"]

EXPERIMENT = "estimation-accuracy"
TITLE = "Accuracy of each way of asking and each sampler"

PRESETS: dict[str, BaseParams] = {
    "y23-figure-3": Params(
        sampler=("smc-latent", "mhaar", "smc"),
        start="paper",
        resampling="multinomial",
        runs=30,
        iterations=100_000,
        burn_in=0.8,
    )
}
KEY = "epsilon_total sampler interval channel run"


def promise(params: Params) -> str:
    """State the guarantee of each answer; symbols spend at most the budget of noisy answers."""
    tables = params.tables()
    channel = tables[0] if len(tables) == len(params.channel) else "truncation"
    return params.promise(params.epsilon_total, channel)


STUDY: Study[Params, None] = Study(
    EXPERIMENT,
    Params,
    chains=chains,
    link=advance,
    tables={
        "main": f"{KEY} mean_mu mean_sigma error_mu error_sigma sigma_width seconds",
        "course": f"{KEY} t sd_mu sd_sigma sigma_width error_mu error_sigma centre_sd",
        "reach": f"{KEY} people",
        "chains": f"{KEY} acceptance autocorrelation_mu autocorrelation_sigma",
    },
    says=lambda result: ERRORS["mu"].says(result)[1],
    privacy=promise,
    views={
        **{f"means-{name}": partial(boxes, name=name) for name in SYMBOL},
        **{f"error-{name}": partial(errors, name=name) for name in SYMBOL},
    },
)
COLUMNS, tasks, _, collect, figures = STUDY.contract()


def work(task: Chain[Params] | Continuation[Chain[Params]]) -> Chunk:
    """Do the next link of a task; a plain function, which workers find by its name."""
    return STUDY.work(task)  # type: ignore[return-value]

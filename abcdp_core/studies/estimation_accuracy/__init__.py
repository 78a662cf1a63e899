r"""How accurate is what is learnt from truncated answers, by each way of asking and of inferring?

Each run has its own people and noise, the same for all methods. A method is a way of asking, in an
adaptive or in a fixed interval (MATH A5, A9), and a way of inferring: online by particles, the
paper's (``smc-latent``, MATH A6), ours (``smc``, A7) or the grid (A8); or afterwards by a batch
sampler, the paper's ``mhaar`` or plain ``mh`` on the exact likelihood (A9). A batch sampler can
only follow a fixed interval, which does not wait for anybody. The error is the distance of the
posterior mean of $\mu$ or of $\sigma$ from the truth.

All ways of inferring approximate one posterior, so between them only the Monte Carlo error and the
time differ. Between ways of asking the information $F$ differs (MATH A3, A4). The dotted lines are
the mean absolute error of an estimate that uses all of it, $\sqrt{2/\pi}\;\sigma/\sqrt{N F}$: for
the best interval at the true parameters, and for the fixed one. They leave out the prior and the
cost of exploring, and mean nothing where they are above the spread of the prior.

With ``channel`` people also answer by symbols from a table, placed like an adaptive interval (MATH
A14): a *sign*, or the *optimal* symbols. The column ``interval`` then has the channel's name. A
further line shows what one trusted collector with everybody's exact value could do by adding noise
once: what trust would buy.

The table ``course`` follows the online samplers: spread and error after each part of the people,
and how far apart the intervals' centres were within it. ``reach`` counts the people needed until
the standard deviation of $\mu$ stays below $\sigma/\sqrt{10}$, the precision of ten people's exact
values; one more than there are if it never does. ``sigma_width`` is the standard deviation of
$\log\sigma$ as a share of the prior's: near 1 the answers carried no information about $\sigma$.

With the paper's start, every particle at the first answer, its sampler can stay far off when the
fixed interval is wide: each sweep moves $\mu$ by no more than about $\sigma/\sqrt{t}$.

``score`` says what answers are to be best for. Up to $\epsilon_{total} = 2$ the symbols with most
information about $\mu$ are its sign, which placed right has none about $\sigma$. ``determinant`` is
about both.

An interval of the posterior holds the truth as often as it says in the mean over truths from the
prior (simulation-based calibration); at one truth it need not.

[Y23] draws box plots of 30 runs. Its published script adds noise too small by the factor
$\sqrt{2}$ (MATH A11), so its runs cost more than they state; ours do not.
"""

from __future__ import annotations

from functools import partial

from abcdp_core.studies.estimation_accuracy.computing import Params, advance, chains
from abcdp_core.studies.estimation_accuracy.drawing import ERRORS, boxes, errors
from abcdp_core.study import BaseParams, Chain, Continuation, Study
from abcdp_core.study.estimates import SYMBOL
from abcdp_core.tasks import Chunk

__all__ = ["COLUMNS", "PRESETS", "Params", "collect", "figures", "tasks", "work"]

EXPERIMENT = "estimation-accuracy"
TITLE = "How accurate each choice of interval and of algorithm is"

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
    """Return what each answer guarantees: symbols cost as much as answers with noise, or less."""
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
    """Do the next link of a task; as a function, which workers find by its name."""
    return STUDY.work(task)  # type: ignore[return-value]

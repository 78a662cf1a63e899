r"""Infer from what somebody else released: a noisy query, its noise law, a simulator.

No private data are read, so nothing here costs privacy: what follows from a release by others is
post-processing.

Data flow like this::

    problem.toml --> Problem: a model (or a pool), the query z, the noise law, wanted size
    model        --> parameters x from a proposal, and a simulated summary s(x) of each
    noise law    --> log-density of z given s, so a log-weight of each draw
    rounds       --> a proposal fitted to the weighted draws, until the weights carry
    Posterior    --> weighted draws, their table, figure and sentence

| module | what it does |
|---|---|
| :mod:`.models` | the simulators that are shipped, one file each |
| :mod:`.noise` | the noise laws: density of a query, and noise to be added |
| :mod:`.pools` | draws and summaries that somebody simulated before, from a file |
| :mod:`.problems` | a problem, read from its file and checked |
| :mod:`.given` | a problem that a visitor gives to a server, which reads no file for it |
| :mod:`.proposals` | where to simulate: the prior, or what is fitted to weighted draws |
| :mod:`.inference` | from a problem to its posterior |
| :mod:`.posteriors` | what came out: weighted draws and their summary |
| :mod:`.report` | table, figure and sentence |
| :mod:`.reference` | the slow exact answers that the fast ones are checked against |

**Weights.** With prior $\pi$, proposals $q_r$ with $n_r$ of $n$ draws each, and noise density $f$,

$$w_i = \frac{\pi(x_i)\, f(z \mid s_i)}{\sum_r (n_r / n)\, q_r(x_i)}, \qquad
s_i \sim p(s \mid x_i) :$$

the summary is simulated once, and as a mean over it of $f(z \mid s)$ is the likelihood of the
*noisy* query, weighted draws have the posterior that takes the noise into account, without a
tolerance (the balance heuristic of Veach & Guibas 1995; proposals learnt from earlier rounds:
Cornuet, Marin, Mira & Robert, Scandinavian Journal of Statistics 39, 2012). The prior keeps a share
of every proposal, so no weight is larger than the noise density over that. As proposals are fitted
to draws that they help to weigh, a bias is left that vanishes as draws become more: over 40 seeds
of the log-linear problem, with effective sample sizes near 2500, means are off by less than 0.01
standard deviations on average and standard deviations too small by up to 1.2 %. Weights of the last
round alone have half the effective sample size, and over 12 seeds took standard deviations from
0.4 % too small, on average over the parameters, to 0.3 %: that is not worth it.

**Where weights do not carry**, a few draws have all of them: the effective sample size
$(\sum w)^2 / \sum w^2$ is small whatever is simulated. Then the simulated summaries get noise of
their own, and draws near the query are moved by a regression, as in
:mod:`abcdp_core.mechanisms.private_summary`: an approximation, and the outcome says so. Tried on
the shipped problems, with 20 000 draws from the prior, means are off by 0.1 standard deviations and
intervals up to 7 % too wide for the regression, 0.1 and 16 % for the log-linear model, but 2 and
150 % for the SIR epidemic, whose posterior is far narrower than its prior.
"""

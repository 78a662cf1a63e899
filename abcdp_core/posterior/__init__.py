r"""From noisy numbers to a posterior, whoever released them (MATH E8, E9).

Given are numbers $z = s(Y^*) + \nu$ with noise $\nu$ of a known law, a prior and a simulator of s.
Nothing private is read, so nothing here costs privacy. Data flow like this::

    Prior, Model            x on a scale without bounds -> parameters -> simulated numbers s
    Noise, z                log-density of z given s: a log-weight of each draw
    rounds                  proposals fitted to weighted draws, until the weights carry
    regression              where they do not: the nearest draws, moved to z
    fit                     replicates from the posterior beside z
    Posterior               weighted draws, which rung answered, and the fit

| module | what it does |
|---|---|
| :mod:`.priors` | laws of parameters, on the scale x |
| :mod:`.model` | what is simulated |
| :mod:`.noise` | laws of noise: density of z, and noise to be added |
| :mod:`.proposals` | where to simulate: the prior, mixed with what is fitted to weighted draws |
| :mod:`.rounds` | weights, and rounds of simulations until they carry |
| :mod:`.regression` | nearest draws, moved |
| :mod:`.pool` | the same from draws that are there, many times and fast |
| :mod:`.fit` | whether the model makes such numbers |
| :mod:`.outcome` | what came out |

**Weights.** With prior $\pi$, proposals $q_r$ with $n_r$ of n draws each, and noise density f,

$$w_i = \frac{\pi(x_i)\, f(z \mid s_i)}{\sum_r (n_r / n)\, q_r(x_i)}, \qquad
s_i \sim p(s \mid x_i) :$$

the summary is simulated once, and as a mean over it of $f(z \mid s)$ is the likelihood of the
*noisy* numbers, weighted draws have the posterior that takes the noise into account, without a
tolerance (the balance heuristic of Veach & Guibas 1995; proposals learnt from earlier rounds:
Cornuet, Marin, Mira & Robert, Scandinavian Journal of Statistics 39, 2012). $n_r$ counts what was
proposed outside the support too. The prior keeps a share of every proposal, so no weight is larger
than the noise density over that. As proposals are fitted to draws that they help to weigh, a bias
is left that vanishes as draws become more (at most 0.01 posterior standard deviations were
measured).

**Where weights do not carry**, as where noise is far narrower than the data's own spread, draws of
the last rounds are moved to z by a regression: an approximation, and the outcome says so.
"""

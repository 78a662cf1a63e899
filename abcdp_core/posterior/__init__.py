r"""Compute posteriors from noisy released numbers (MATH E8, E9).

The input is numbers $z = s(Y^*) + \nu$ with noise $\nu$ of a known distribution, a prior and a
simulator of s. It is all public, so nothing here costs privacy. Modules::

    model        prior and simulator: x -> parameters -> simulated numbers s
    noise        density of z given s, which weights each draw; noise to be added
    proposals    where to simulate: the prior mixed with a fit to weighted draws
    rounds       rounds of simulations; decides whether weights suffice, or a regression is needed
    parts        rounds that can be watched and stopped
    regression   the nearest draws, adjusted to z
    augmentation chains over parameters and records, instead of a regression
    pool         the same from an existing pool, many times and fast; decides as ``rounds`` does
    censoring    numbers that were clamped or suppressed
    guarantee    intervals with a guaranteed coverage at every parameter
    fit          posterior predictive replicates compared with z
    shape        several modes, and combinations of parameters that are known best
    outcome      draws, the method that gave them, and the fit
    published    a noisy query that others released, read from a file and answered

**Weights.** With prior $\pi$, proposals $q_r$ with $n_r$ of n draws each, and noise density f,

$$w_i = \frac{\pi(x_i)\, f(z \mid s_i)}{\sum_r (n_r / n)\, q_r(x_i)}, \qquad
s_i \sim p(s \mid x_i) :$$

each summary is simulated once. The mean of $f(z \mid s)$ over s is the likelihood of the *noisy*
numbers, so weighted draws have the exact posterior that accounts for the noise, without a tolerance
(balance heuristic: Veach & Guibas 1995; proposals from earlier rounds: Cornuet, Marin, Mira &
Robert, Scandinavian Journal of Statistics 39, 2012). $n_r$ includes proposals outside the support.
Every proposal includes a share of the prior, which bounds the weights. Proposals are fitted to
draws that they help to weight, so there is a bias, which vanishes with more draws (at most 0.01
posterior standard deviations in our measurements).

**Regression.** If the noise is far narrower than the spread of the data, few draws have weight.
Then a regression adjusts draws of the last rounds to z: an approximation, reported as such.
"""

r"""Online Bayesian estimation from truncated, private answers ([Y23]; MATH A1-A14).

People $t = 1..n$ answer one after another, each once. Person $t$ has a value $X_t$ from a
location-scale family with location $\mu$ and scale $\sigma$, and answers

$$Y_t = \mathrm{clip}(X_t, l_t, r_t) + \text{noise}, \quad
\text{Laplace of scale } (r_t - l_t)/\epsilon_{total}. \tag{A1}$$

This is $\epsilon_{total}$-differentially private for each person, whatever the interval
$[l_t, r_t]$, which may therefore depend on all earlier answers. The modules::

    families     base distributions: location 0, scale 1
    noise        noise per unit of width, for a budget
    response     density of an answer (A2)                 -> log-likelihood of particles
    information  information in an answer about (μ, σ) (A3) -> Fisher information (2, 2)
    intervals    the most informative [a, b] for location 0 and scale 1 (A4)
    channels     ways of asking: an interval [μ + σa, μ + σb], or a table of a few symbols (A14)
    best_channel the most informative table for some cells (A14), by linear programming
    prior, resampling, particles      shared by the samplers
    smc, latent, grid                 online samplers (A6-A8), one state per person
    batch        Metropolis-Hastings and MHAAR after everyone has answered (A9)
    stream       people, answers and a sampler; chooses the next person's interval (A5)
    parameters   what a person can set about a stream
    gradient, vectors                 one step per answer, no posterior; several values (A13)
    contraction, typical              how much the posterior of σ narrows; typical runs
    poll, categories, questionnaire, robust       a class that answers on its own devices (A15-A17)

A sampler's step is a pure function ``(rng, state, response) -> (state, info)``. Particles are
``(N, 2)`` arrays of $(\mu, \log\sigma)$ with weights ``(N,)`` that sum to 1. Scales are Laplace
scales $s$ (standard deviation $\sqrt{2}\,s$) or Gaussian standard deviations. The published script
confuses them: it passes a scale to a generator that takes a standard deviation, so its runs use
$\sqrt{2}$ times the budget they state (A11).
"""

r"""Online Bayesian estimation from truncated, private responses ([Y23]; MATH A1-A14).

People $t = 1..n$ come one after the other. Person $t$ has a value $X_t$ from a location-scale
family with location $\mu$ and scale $\sigma$, and answers once:

$$Y_t = \mathrm{clip}(X_t, l_t, r_t) + \text{noise}, \quad
\text{Laplace of scale } (r_t - l_t)/\epsilon_{total}. \tag{A1}$$

That is $\epsilon_{total}$-differentially private for each person, whatever the interval
$[l_t, r_t]$, which may therefore depend on all earlier responses. The data that flow::

    families     the base distribution: location 0, scale 1
    noise        scale of the noise per unit of width, for a budget
    response     density of a response (A2)                       -> log-likelihood of particles
    information  what a response tells about (μ, σ) (A3)          -> Fisher information (2, 2)
    intervals    the interval [a, b] that tells most (A4)         -> [μ + σa, μ + σb]
    channels     ways of asking: truncation, or a table of a few symbols (A14)
    best_channel the table that tells most on some cells (A14), by linear programming
    prior        of (μ, log σ)
    resampling   particles in proportion to their weights
    single       draws and noise densities for the samplers with values, in single precision
    particles    weighted particles and what they say, in common to the samplers that have them
    smc, latent, grid      online samplers (A6-A8)                -> states, one per person
    batch        Metropolis-Hastings and MHAAR, after all have answered (A9)
    stream       people, intervals, responses and a sampler, one step per person (A5)
    learnt       whether the answers have told anything about σ
    parameters   what a person can set about a stream

A step is a pure function ``(rng, state, response) -> (state, info)``. Particles are ``(N, 2)``
arrays of $(\mu, \log\sigma)$ with weights ``(N,)`` that sum to 1. Scales are Laplace scales $s$
(standard deviation $\sqrt{2}\,s$) or Gaussian standard deviations, never one for the other: the
published script passes a scale to a generator that takes a standard deviation, so its runs cost
$\sqrt{2}$ times the budget they state (A11).
"""

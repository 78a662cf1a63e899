"""A scenario in one file: the mean of normal data, clipped to a public interval."""

from __future__ import annotations

import numpy as np

from abcdp_core.base import parameters as par
from abcdp_core.base.parameters import Parameter
from abcdp_core.models.distances import maximum_mean_discrepancy

SCENARIO = "gaussian-mean"
TITLE = "Mean of normal data"
PROTECTED = "one of the N measurements"
COORDINATES = ("value",)
AXES = {"μ": (-2.0, 2.0)}
UNITS = {"μ": ""}
TRUTH = np.array([0.5])
PRIOR_MEAN = np.zeros(1)
DOMAIN = (-4.0, 4.0)
OBSERVED = None
N = Parameter(kind="integer", label="N", low=50, high=200, options=(50, 200))
N_DEFAULT = 200
EPSILON_ABC = par.EPSILON_ABC_MMD
EPSILON_ABC_DEFAULT = 0.1
C_DEFAULT = 5
POOL_SIZE = par.POOL_SIZE
POOL_SIZE_DEFAULT = 300
DISTANCES = ("mmd",)
BANDWIDTH = 1.0
DISTANCE_AXIS = 1.0


def prior(rng, size):
    return rng.uniform(-2.0, 2.0, (size, 1))


def simulate(rng, theta, size):
    return np.clip(theta[:, :, None] + rng.standard_normal((len(theta), size, 1)), *DOMAIN)


def distance(bandwidth=None, name=None):
    return maximum_mean_discrepancy(*DOMAIN, BANDWIDTH if bandwidth is None else bandwidth)

"""Read released statistics and published means from the authors' repositories.

``python -m benchmarks.referee.sources DP-PF SOMA-Sampler`` takes copies of
github.com/psanghi04/DP-PF (at ba4afe1) and github.com/Yifei-Xiong/SOMA-Sampler (at 8843ff0), and
writes ``assets/referee/releases.csv`` and ``published.csv``, with the examples of this project and
the samples published for them. It needs the package openpyxl, which
this project does not. Only numbers are taken.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from abcdp_core.base.places import EXAMPLES
from abcdp_core.posterior.published import problems, reference
from abcdp_core.posterior.published.referee import FOLDER
from benchmarks.referee.compute import SHIPPED

REGRESSION = "linear_regression/{}/{}/summary/{}_sim_summary.xlsx"
LOCATION = "location_scale/{}/summary/{}_location_scale_sim_summary.xlsx"
PRIORS = (
    ("conjugate", "conjugate_prior", "dp_pf_conj_rand_sdp", "mcmc_conj"),
    ("non-conjugate", "non_conjugate_prior", "dp_pf_nonconj_rand_sdp", "mcmc_nonconj"),
)
MCMC = "dp_data_augmentation_mcmc"
READINGS = (
    ("deviation", "sigma", "DP-PF", "dp_pf", "dp_pf"),
    ("variance", "variance", "rejection", "rejection_abc", "rejection_abc"),
)
"""How the second parameter of the location-scale model enters in the script of each method."""

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
PEOPLE = {"male": 3128, "female": 3528}
"""Rows of the data files for time use."""


def _means(runs: pd.DataFrame, family: str, method: str, names: dict[str, str]) -> pd.DataFrame:
    """Return mean over runs and its standard error for each release and parameter."""
    keys = ["family", "epsilon", "n"]
    long = runs.assign(family=family, n=runs.sample_size).melt(keys, [*names], "parameter")
    by = long.groupby([*keys, "parameter"])["value"]
    found = by.agg(["mean", "std", "size"]).reset_index()
    return pd.DataFrame({
        **{key: found[key] for key in keys},
        "parameter": found.parameter.map(names),
        "method": method,
        "mean": found["mean"].round(8),
        "standard_error": (found["std"] / np.sqrt(found["size"])).round(8),
        "runs": found["size"],
    })  # fmt: skip


def _released(runs: pd.DataFrame, family: str, prefix: str) -> list[dict[str, object]]:
    """Return the one released vector of each ε and n."""
    columns = sorted(name for name in runs if name.startswith(prefix))
    rows: list[dict[str, object]] = []
    for (epsilon, n), one in runs.groupby(["epsilon", "sample_size"]):
        z = one[columns].drop_duplicates().to_numpy()
        assert len(z) == 1, "one release for all runs"
        rows.append({"family": family, "epsilon": epsilon, "n": n, "of": "", "z": _text(z[0])})
    return rows


def _text(z: np.ndarray) -> str:
    return " ".join(f"{value:.9g}" for value in z)


def _tensor(file: Path, kind: str) -> np.ndarray:
    """Return the numbers of a stored tensor, in their order."""
    with zipfile.ZipFile(file) as parts:
        name = next(each for each in parts.namelist() if each.endswith("/data/0"))
        return np.frombuffer(parts.read(name), dtype=kind).astype(float)


def main(dp_pf: Path, soma: Path) -> None:
    """Make both tables."""
    releases, published = [], []
    for prior, folder, filtered, chain in PRIORS:
        family = f"regression-{prior}"
        runs = pd.read_excel(dp_pf / REGRESSION.format("dp_pf", folder, filtered))
        names = {"post_mu_beta_1": "slope", "post_mean_tau": "tau"}
        releases += _released(runs, family, "sdp_")
        published.append(_means(runs, family, "DP-PF", names))
        runs = pd.read_excel(dp_pf / REGRESSION.format(MCMC, folder, chain))
        names = {"mean_estimate_1": "slope", "tau_chain": "tau"}
        published.append(_means(runs, family, "DP-DA-MCMC", names))
    for reading, second, method, folder, name in READINGS:
        family = f"location-scale-{reading}"
        runs = pd.read_excel(dp_pf / LOCATION.format(folder, name))
        names = {"post_mean_mu": "mu", "post_mean_sigma": second}
        releases += _released(runs, family, "sdp")
        published.append(_means(runs, family, method, names))
    for n in (20, 100):
        stored = _tensor(soma / f"reference_theta/sdp_obs_ckpt_n+{n}.pt", "<f4").reshape(7, 5, 9)
        for epsilon, z in zip(EPSILONS, stored[:, 0], strict=True):
            row = {"family": "two-covariates", "epsilon": epsilon, "n": n, "of": ""}
            releases.append(row | {"z": _text(z)})
    for of, n in PEOPLE.items():
        for epsilon in (1.0, 10.0):
            z = _tensor(soma / f"reference_theta/atus_{of}_sdp_obs_eps_{epsilon}.pt", "<f8")
            row = {"family": "time-use", "epsilon": epsilon, "n": n, "of": of}
            releases.append(row | {"z": _text(z)})
    for family in SHIPPED:
        problem = problems.read(EXAMPLES / f"{family.replace('-', '_')}.toml")
        n = 1000 if family == "sir-epidemic" else 100
        releases.append(
            {"family": family, "epsilon": 1.0, "n": n, "of": "", "z": _text(problem.query)}
        )
        samples = reference.read(reference.SAMPLES)
        samples = samples[samples.problem == problem.name]
        error = samples.sd / np.sqrt(samples.draws)
        row = {"family": family, "epsilon": 1.0, "n": n, "parameter": samples.parameter}
        row |= {"method": "reference sample", "mean": samples["mean"]}
        published.append(pd.DataFrame(row | {"standard_error": error, "runs": samples.draws}))
    table = pd.DataFrame(releases)
    table.to_csv(FOLDER / "releases.csv", index=False, lineterminator="\n")
    means = pd.concat(published, ignore_index=True)
    means.to_csv(FOLDER / "published.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))

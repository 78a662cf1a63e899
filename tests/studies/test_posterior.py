"""The posterior study: what it reports is what the mechanism did."""

import functools
import re

import numpy as np
import pandas as pd
import pytest

from abcdp_core import demonstration, pool
from abcdp_core.sentences import amount
from abcdp_core.simulators import uniform_mixture
from abcdp_core.studies import posterior
from abcdp_core.theory import flip
from tests import results

SMALL = posterior.Params(n=300, pool_size=1000, epsilon_total=50.0, c=20, epsilon_abc=0.2)

run = functools.partial(results.changed, posterior, SMALL)


def test_errors_are_those_of_the_weighted_means_of_the_samples() -> None:
    main, errors = (run().tables[name].set_index("release") for name in ("main", "errors"))
    for release in ("private", "non-private"):
        part = main.loc[release]
        products = (part.value * part.weight).groupby(part.parameter).sum()
        difference = products.loc[list(uniform_mixture.AXES)].to_numpy() - uniform_mixture.TRUTH
        assert errors.mse[release] == pytest.approx(np.mean(difference**2), rel=1e-12)
        assert errors.mae[release] == pytest.approx(np.mean(np.abs(difference)), rel=1e-12)


def test_a_pool_that_ends_first_is_said() -> None:
    nothing = run(epsilon_abc=0.001, epsilon_total=1000.0, n=5000, c=1)
    errors = nothing.tables["errors"].set_index("release")
    assert errors.mae["private"] == errors.mae["prior"]
    assert nothing.summary.endswith(
        "With and without noise, the run kept 0 draws; the maximum is 1."
    )
    assert posterior.headline(nothing)[0] == "0 kept"
    assert "With noise, none passed the threshold" in posterior.headline(nothing)[1]
    some = run(epsilon_abc=0.1, epsilon_total=1000.0, n=5000, c=500)
    kept = some.tables["errors"].set_index("release").accepted["private"]
    assert 0 < kept < 500
    assert f"the run kept {kept} draws" in some.summary
    assert "the maximum is 500." in some.summary
    assert "kept" not in run().summary


def test_decisions_end_at_the_stop_and_flips_are_disagreements() -> None:
    decisions = run().tables["decisions"]
    assert decisions.private.iloc[-1]
    assert int(decisions.private.sum()) == 20
    assert ((decisions.non_private != decisions.private) == decisions.flipped).all()
    assert (decisions.non_private == (decisions.rho <= 0.2)).all()
    scale = demonstration.event_of(SMALL).threshold_scale
    expected = flip.flip_probability(decisions.rho, 0.2, scale)
    np.testing.assert_allclose(decisions.flip_probability, expected, rtol=1e-15)


def test_new_noise_leaves_everything_public_unchanged() -> None:
    first, second = (
        run(noise_draw=noise, epsilon_total=5.0).tables["main"].set_index(["release", "parameter"])
        for noise in (0, 1)
    )
    for release in ("prior", "non-private"):
        pd.testing.assert_frame_equal(first.loc[release], second.loc[release])
    assert first.loc["private", "sample"].tolist() != second.loc["private", "sample"].tolist()


def test_the_event_depends_on_nothing_private(monkeypatch: pytest.MonkeyPatch) -> None:
    results.without_private_data(monkeypatch)
    pool.forget()
    assert demonstration.event_of(SMALL).c == 20
    assert "ε_total = 50" in demonstration.privacy_of(SMALL)


def test_the_label_says_how_neighboring_data_differ() -> None:
    for scenario, words in {
        "uniform-mixture": "one person: .* replaced by any other",
        "covid": "not a person: .* replaced by any other",
        "tuberculosis-patients": "one patient: .* added or removed",
        "covid-people": "one person: .* added or removed",
    }.items():
        params = posterior.Params.from_text({"scenario": scenario})
        assert re.search(words, demonstration.privacy_of(params))


@pytest.mark.parametrize("epsilon_total", [0.001, 1.0, 1000.0])
def test_the_headline_says_what_the_table_says(epsilon_total: float) -> None:
    result = run(epsilon_total=epsilon_total)
    number, words = posterior.headline(result)
    decisions, errors = result.tables["decisions"], result.tables["errors"].set_index("release")
    false = int((decisions.private & ~decisions.non_private).sum())
    assert number == f"{false} of {int(decisions.private.sum())}"
    private, plain, prior = np.sqrt(errors.mse[["private", "non-private", "prior"]])
    assert (f"is {amount(private / plain, 2)} times the error" in words) == (private > 1.1 * plain)
    assert ("smaller than without noise" in words) == (private < plain / 1.1)
    assert f": {amount(private)} instead of {amount(plain)}." in words
    assert ("no better than knowing nothing" in words) == (private >= posterior.USELESS * prior)
    assert f"is {amount(private)} with noise" in result.summary

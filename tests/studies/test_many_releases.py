"""Several releases of the same data: each at its mean, and what they spend together."""

import functools

import numpy as np
import pytest

from abcdp_core.studies import many_releases, posterior
from tests import results

SMALL = many_releases.Params(n=300, pool_size=300, c=3, epsilon_total=5.0, releases=4)

result_of = functools.partial(results.changed, many_releases, SMALL)


def test_each_release_is_a_dot_at_its_mean_beside_the_references() -> None:
    found = result_of()
    means, references = many_releases.means(found), found.tables["references"]
    one = found.tables["main"].query("release_number == 2 and parameter == 'θ4'")
    assert means[2, 3] == pytest.approx(np.average(one.value, weights=one.weight))
    same = {name: vars(SMALL)[name] for name in ("n", "pool_size", "c", "epsilon_total")}
    main = results.changed(posterior, posterior.Params(**same)).tables["main"]
    plain = main[main.release == "non-private"].groupby("parameter").value.mean()
    assert references.non_private.tolist() == pytest.approx(plain[references.parameter].tolist())
    more = many_releases.means(result_of(releases=5))
    np.testing.assert_array_equal(more[:4], means)


@pytest.mark.parametrize("epsilon_total", [0.1, 5.0, 1000.0])
def test_the_title_compares_the_typical_error_with_that_without_noise(epsilon_total: float) -> None:
    found = result_of(epsilon_total=epsilon_total)
    references = found.tables["references"]
    plain = np.sqrt(((references.non_private - references.truth) ** 2).mean())
    ratio = np.sqrt(found.tables["errors"].mse).median() / plain
    said = many_releases.finding(found)
    assert (f" is {ratio:.2g} times the error" in said) == (ratio > 1.1)
    assert ("smaller than without noise" in said) == (ratio < 1 / 1.1)


def test_several_releases_state_what_they_spend_together() -> None:
    assert result_of().privacy.endswith(" All 4 together would spend ε_total = 20.")
    assert "together" not in result_of(releases=1).privacy

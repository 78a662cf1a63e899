"""Simulate outbreaks of tuberculosis: hosts, strains and the cases in a register.

The model is a birth-death process in continuous time (Lintusaari et al., Wellcome Open Research
4:14, 2019). A host carries one strain and is either compliant with therapy or not. Per year,

- new strains arrive at the rate β, each in one new host;
- a host infects others at the rate a and ceases to be infectious at the rate d of its kind;
- a new host has its infector's strain and is compliant with probability 0.95.

There are no hosts at the start. The search for balance ends after the first year by which each kind
has reached its balance value at the end of some year, or after 150 years. The warm-up lasts twice
as long as the search, and at least 15 years. The next two years are observed: the register sees
four in five hosts that cease to be infectious, with strain and time. A *cluster* is all observed
cases of one strain.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array

Counts = NDArray[np.int64]

COMPLIANCE = 0.95
"""Probability that a new host is compliant."""

OBSERVATION = 0.8
"""Probability that a host that ceases to be infectious in the window is observed."""

WINDOW = 2
"""Years of observation."""

MONTHS = 12 * WINDOW

LONGEST_SEARCH = 150
"""Longest search for balance, in years."""

SHORTEST_WARM_UP = 15
"""Shortest time before the window, in years."""

LARGEST_COUNTED = 80
"""Larger clusters are left out of the differences between successive sizes."""


@numba.njit(cache=True, nogil=True)
def simulate(rng: np.random.Generator, rates: Array, balance: Array, size: int) -> Array:
    """Simulate summaries ``(k, size, 8)`` of ``size`` outbreaks for each of k parameters.

    Outbreaks are simulated in turn, so a longer series begins with a shorter one.

    Args:
        rng: random generator.
        rates: rates per year ``(k, 5)``: β, then a and d of non-compliant and compliant hosts.
        balance: hosts of each kind ``(k, 2)`` at which births and deaths are equal on average.
        size: outbreaks per parameter.
    """
    summaries = np.empty((len(rates), size, 8))
    for k in range(len(rates)):
        for i in range(size):
            sizes, months, _ = observe(rng, rates[k], balance[k])
            summaries[k, i] = summarise(sizes, months)
    return summaries


@numba.njit(cache=True, nogil=True)
def observe(rng: np.random.Generator, rates: Array, balance: Array) -> tuple[Counts, Counts, int]:
    """Simulate the register of one outbreak.

    Returns:
        Observations ``(s,)`` of each strain, oldest first; the months with any ``(s,)``, bit i for
        month i; and the number of events, observed or not.
    """
    # Lists are growing arrays in compiled code. A host is the number of its strain.
    hosts = ([0 for _ in range(0)], [0 for _ in range(0)])
    sizes = [0 for _ in range(0)]
    months = [0 for _ in range(0)]
    years, events, reached, reached_too = 0, 0, False, False
    while years < LONGEST_SEARCH and not (reached and reached_too):
        events += _advance(rng, hosts, sizes, months, rates, 1.0, False)
        years += 1
        reached = reached or len(hosts[0]) >= balance[0]
        reached_too = reached_too or len(hosts[1]) >= balance[1]
    rest = max(years, SHORTEST_WARM_UP - years)
    events += _advance(rng, hosts, sizes, months, rates, rest, False)
    events += _advance(rng, hosts, sizes, months, rates, WINDOW, True)
    return np.array(sizes), np.array(months), events


@numba.njit(cache=True, nogil=True)
def _advance(
    rng: np.random.Generator,
    hosts: tuple[list[int], list[int]],
    sizes: list[int],
    months: list[int],
    rates: Array,
    duration: float,
    recording: bool,
) -> int:
    """Simulate ``duration`` years in place and return the number of events.

    Waiting times have no memory, so one that crosses the end is discarded. Rates change with each
    event, so each needs a new waiting time. One uniform number, placed among the cumulative rates,
    chooses the kind of event, the kind of host and the host.
    """
    burden = rates[0]
    events, clock = 0, 0.0
    while True:
        non_compliant = len(hosts[0]) * (rates[1] + rates[2])
        total = burden + non_compliant + len(hosts[1]) * (rates[3] + rates[4])
        clock += rng.standard_exponential() / total
        if clock >= duration:
            return events
        events += 1
        place = rng.random() * total - burden
        if place < 0.0:
            sizes.append(0)
            months.append(0)
            hosts[int(rng.random() < COMPLIANCE)].append(len(sizes) - 1)
            continue
        kind = int(place >= non_compliant)
        place -= kind * non_compliant
        infecting, ceasing = rates[1 + 2 * kind], rates[2 + 2 * kind]
        # Rounding could go past the last host.
        host = min(int(place / (infecting + ceasing)), len(hosts[kind]) - 1)
        strain = hosts[kind][host]
        if place - host * (infecting + ceasing) < infecting:
            hosts[int(rng.random() < COMPLIANCE)].append(strain)
            continue
        # The order of hosts does not matter, so the last one replaces the one that leaves.
        hosts[kind][host] = hosts[kind][-1]
        hosts[kind].pop()
        if recording and rng.random() < OBSERVATION:
            sizes[strain] += 1
            months[strain] |= 1 << int(12.0 * clock)


@numba.njit(cache=True, nogil=True)
def summarise(sizes: Counts, months: Counts) -> Array:
    """Summarise the results of :func:`observe` by eight numbers ``(8,)``.

    They are the observations; the clusters; the largest size; the mean difference between
    successive sizes of the four largest, without those above 80 and with 0 for missing ones;
    clusters of size 1 and of size 2, each divided by the observations (0 without any); and for the
    largest cluster (the oldest strain in a tie) the months from its first to its last observation,
    inclusive, and the months with any.
    """
    total, clusters, ones, twos, largest = 0, 0, 0, 0, 0
    for strain, size in enumerate(sizes):
        total += size
        clusters += size > 0
        ones += size == 1
        twos += size == 2
        if size > sizes[largest]:
            largest = strain
    summaries = np.zeros(8)
    if total > 0:
        summaries[0] = total
        summaries[1] = clusters
        summaries[2] = sizes[largest]
        summaries[3] = _difference(sizes)
        summaries[4] = ones / total
        summaries[5] = twos / total
        summaries[6], summaries[7] = _duration(months[largest])
    return summaries


@numba.njit(cache=True, nogil=True)
def _difference(sizes: Counts) -> float:
    """Return the mean difference between successive sizes of the four largest counted clusters."""
    four = np.zeros(4)
    for size in sizes:
        if four[3] < size <= LARGEST_COUNTED:
            place = 3
            while place > 0 and four[place - 1] < size:
                four[place] = four[place - 1]
                place -= 1
            four[place] = size
    # All but the first and the last size cancel in the three differences.
    return (four[0] - four[3]) / 3.0


@numba.njit(cache=True, nogil=True)
def _duration(months: int) -> tuple[int, int]:
    """Count months from the first to the last observation, and months with any."""
    first, last, active = MONTHS, 0, 0
    for month in range(MONTHS):
        if months >> month & 1:
            first, last, active = min(first, month), month, active + 1
    return last - first + 1, active


@numba.njit(cache=True, nogil=True)
def clusters(rng: np.random.Generator, rates: Array, balance: Array, room: int) -> Array:
    """Simulate the cluster sizes ``(k, room)`` of one outbreak for each of k parameters.

    Sizes are in descending order and rows end with zeros. The smallest clusters are dropped where
    there are more than ``room``.

    Args:
        rng: random generator.
        rates: rates per year ``(k, 5)``, as in :func:`simulate`.
        balance: hosts of each kind ``(k, 2)``, as in :func:`simulate`.
        room: largest number of clusters per outbreak.
    """
    sizes_of = np.zeros((len(rates), room))
    for k in range(len(rates)):
        sizes = np.sort(observe(rng, rates[k], balance[k])[0])[::-1]
        kept = min(room, len(sizes))
        sizes_of[k, :kept] = sizes[:kept]
    return sizes_of

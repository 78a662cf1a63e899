"""One outbreak of tuberculosis after another: hosts, strains, and what a register sees of them.

A birth-death process in continuous time (Lintusaari et al., Wellcome Open Research 4:14, 2019). A
host carries one strain and is compliant with therapy or not. Per year,

- new strains come into the population, each in one new host, at the rate β;
- a host infects others at the rate a and ceases to be infectious at the rate d of its kind;
- a new host is compliant with probability 0.95, whoever infected it, and has its infector's strain.

Nobody is there at the beginning. Year by year it is noted whether each kind has been at or above
its balance value at the end of some year, not necessarily the same one. After that many years, or
after 150, it goes on to twice as many years, at least 15. The two years that follow are observed:
of the hosts that cease to be infectious, the register sees four in five, with strain and time. A
*cluster* is all that it sees of one strain.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

COMPLIANCE = 0.95
"""Probability that a new host is compliant."""

OBSERVATION = 0.8
"""Probability that the end of an infection in the window is observed."""

WINDOW = 2
"""Years of observation."""

MONTHS = 12 * WINDOW

LONGEST_SEARCH = 150
"""Years after which the balance is no longer waited for."""

SHORTEST_WARM_UP = 15
"""Years before the window, at least."""

LARGEST_COUNTED = 80
"""Clusters above this size are left out of the differences between successive sizes."""


@numba.njit(cache=True, nogil=True)
def simulate(rng: np.random.Generator, rates: Array, balance: Array, size: int) -> Array:
    """Summaries ``(k, size, 8)`` of ``size`` outbreaks for each of k parameters.

    They come from the generator one after the other, so a longer series begins with a shorter one.

    Args:
        rng: source of all chance.
        rates: per year ``(k, 5)``: β, then a and d of non-compliant and of compliant hosts.
        balance: hosts of each kind ``(k, 2)`` where births and deaths are equal on average.
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
    """What the register sees of one outbreak.

    Returns:
        Observations ``(s,)`` of each strain there ever was, oldest first; the months in which there
        were any, ``(s,)``, bit i for month i; and the number of events, seen or not.
    """
    # Lists inside compiled code are arrays that grow; a host is the number of its strain.
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
    """Go on for ``duration`` years, in place; the number of events.

    Waiting times have no memory, so the one that crosses the end is thrown away and a new one is
    drawn from there. It is needed for every event: the rates change with each.

    One uniform number chooses the event: the rates lie side by side on a line, those of a host
    within its own stretch, so where the number falls tells kind, host and what it does.
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
        # Rounding must not lead past the last host.
        host = min(int(place / (infecting + ceasing)), len(hosts[kind]) - 1)
        strain = hosts[kind][host]
        if place - host * (infecting + ceasing) < infecting:
            hosts[int(rng.random() < COMPLIANCE)].append(strain)
            continue
        # Order means nothing, so the last host takes the place of the one that leaves.
        hosts[kind][host] = hosts[kind][-1]
        hosts[kind].pop()
        if recording and rng.random() < OBSERVATION:
            sizes[strain] += 1
            months[strain] |= 1 << int(12.0 * clock)


@numba.njit(cache=True, nogil=True)
def summarise(sizes: Counts, months: Counts) -> Array:
    """The eight summaries ``(8,)`` of what :func:`observe` returns.

    Observations; clusters; size of the largest; mean difference between successive sizes of the
    four largest, those above 80 left out and missing ones of size 0; clusters of size 1 and of size
    2, each divided by the number of observations (0 if there is none); and for the largest cluster,
    of several the one whose strain is oldest, the months from its first to its last observation,
    both included, and the months with any.
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
    """Mean difference between successive sizes of the four largest clusters that are counted."""
    four = np.zeros(4)
    for size in sizes:
        if four[3] < size <= LARGEST_COUNTED:
            # To its place among the four largest so far, in descending order.
            place = 3
            while place > 0 and four[place - 1] < size:
                four[place] = four[place - 1]
                place -= 1
            four[place] = size
    # Of the three differences, all but the first and the last size cancel.
    return (four[0] - four[3]) / 3.0


@numba.njit(cache=True, nogil=True)
def _duration(months: int) -> tuple[int, int]:
    """Months from the first to the last one with an observation, and months with any."""
    first, last, active = MONTHS, 0, 0
    for month in range(MONTHS):
        if months >> month & 1:
            first, last, active = min(first, month), month, active + 1
    return last - first + 1, active


@numba.njit(cache=True, nogil=True)
def clusters(rng: np.random.Generator, rates: Array, balance: Array, room: int) -> Array:
    """Sizes ``(k, room)`` of all clusters of one outbreak for each of k parameters.

    The largest come first, and rows end with zeros. An outbreak with more clusters than there is
    room for loses its smallest.

    Args:
        rng: source of all chance.
        rates: per year ``(k, 5)``, as in :func:`simulate`.
        balance: hosts of each kind ``(k, 2)``, as in :func:`simulate`.
        room: clusters per outbreak, at most.
    """
    found = np.zeros((len(rates), room))
    for k in range(len(rates)):
        sizes = np.sort(observe(rng, rates[k], balance[k])[0])[::-1]
        kept = min(room, len(sizes))
        found[k, :kept] = sizes[:kept]
    return found

"""The outbreak as it is defined, in plain Python, to test the compiled one against.

One event after another, each after an exponential time; one list of strains per kind of host; a
list of all observations.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np

from abcdp_core.base.arrays import Array

Observation = tuple[int, int]
"""Strain and month."""


class Population:
    """Hosts by kind (0 non-compliant, 1 compliant), each the number of its strain."""

    def __init__(self, chance: random.Random, theta: Array, compliance: float) -> None:
        R1, t1, R2, self.burden = (float(value) for value in theta)
        d1, d2 = t1 / (R1 - 1.0), 5.95
        self.infecting, self.ceasing = (R1 * d1, R2 * d2), (d1, d2)
        self.chance, self.compliance = chance, compliance
        self.hosts: tuple[list[int], list[int]] = ([], [])
        self.strains = 0
        self.ends: list[tuple[float, int]] = []
        self.next = self.wait()

    def wait(self) -> float:
        """Time to the next event, by the current rates."""
        non_compliant, compliant = (len(hosts) for hosts in self.hosts)
        self.rates = (
            self.burden,
            non_compliant * self.infecting[0],
            non_compliant * self.ceasing[0],
            compliant * self.infecting[1],
            compliant * self.ceasing[1],
        )
        self.total = sum(self.rates)
        return self.chance.expovariate(self.total)

    def live_until(self, year: float) -> None:
        while self.next < year:
            self.happen(self.choose())
            self.next += self.wait()

    def choose(self) -> int:
        """The next event: 0 a new strain, else one of :meth:`wait`'s rates."""
        place = self.chance.random() * self.total
        for event, rate in enumerate(self.rates):
            place -= rate
            if place < 0.0:
                return event
        return 0

    def happen(self, event: int) -> None:
        if event == 0:
            self.strains += 1
            self.add(self.strains)
            return
        hosts = self.hosts[(event - 1) // 2]
        host = int(self.chance.random() * len(hosts))
        if event in (1, 3):
            self.add(hosts[host])
        else:
            self.ends.append((self.next, hosts.pop(host)))

    def add(self, strain: int) -> None:
        self.hosts[self.chance.random() < self.compliance].append(strain)


def outbreak(
    chance: random.Random,
    theta: Array,
    *,
    compliance: float = 0.95,
    observation: float = 0.8,
    window: float = 2.0,
) -> Array:
    """Summaries ``(8,)`` of one outbreak, with the correct balance of the model."""
    non_compliant, compliant, _ = balance(theta)
    population = Population(chance, theta, compliance)
    years, reached = 0, [False, False]
    while years < 150 and not all(reached):
        years += 1
        population.live_until(years)
        reached[0] |= len(population.hosts[0]) >= non_compliant
        reached[1] |= len(population.hosts[1]) >= compliant
    start = max(2 * years, 15)
    population.live_until(start + window)
    seen = [
        (strain, math.floor(12.0 * (time - start)))
        for time, strain in population.ends
        if time >= start and chance.random() < observation
    ]
    return summaries(seen)


def balance(theta: Array) -> tuple[float, float, float]:
    """Hosts of both kinds at balance, and observations per year, as Lintusaari et al. solve it."""
    R1, t1, R2, burden = (float(value) for value in theta)
    d1, d2 = t1 / (R1 - 1.0), 5.95
    a1, a2 = t1 + d1, R2 * d2
    n1 = burden * d2 * 0.05 / (d2 * d1 - 0.95 * a2 * d1 - 0.05 * a1 * d2)
    n2 = (n1 * (d1 - 0.05 * a1) - 0.05 * burden) / (0.05 * a2)
    return n1, n2, 0.8 * (n2 * d2 + n1 * d1)


def summaries(seen: list[Observation]) -> Array:
    """The eight summaries ``(8,)`` of strains, numbered by age, and months."""
    if not seen:
        return np.zeros(8)
    sizes = Counter(strain for strain, _ in seen)
    largest = max(sorted(sizes), key=lambda strain: sizes[strain])
    counted = sorted((size for size in sizes.values() if size <= 80), reverse=True)
    four = [*counted, 0, 0, 0, 0][:4]
    gaps = [four[0] - four[1], four[1] - four[2], four[2] - four[3]]
    months = {month for strain, month in seen if strain == largest}
    how_many = Counter(sizes.values())
    singles, pairs = (how_many[size] / len(seen) for size in (1, 2))
    span = max(months) - min(months) + 1
    largest_and_gaps = (sizes[largest], np.mean(gaps))
    return np.array(
        [len(seen), len(sizes), *largest_and_gaps, singles, pairs, span, len(months)], dtype=float
    )

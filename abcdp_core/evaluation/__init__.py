"""What to expect of a release: cases with known truth, their errors, and what decides them.

A mechanism and a public side go in, errors come out. Begin with :mod:`.cases`.
"""

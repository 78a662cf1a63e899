"""What to expect of a release: cases with known truth, their errors, and what decides them.

A mechanism and a public side go in, errors come out. Begin with :mod:`.cases`; :mod:`.theory`
has closed forms, :mod:`.planning` predicts the error of every mechanism, and :mod:`.held_out`
measures that of a pool in a file.
"""

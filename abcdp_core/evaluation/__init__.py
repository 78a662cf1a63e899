"""What to expect of a release: cases with known truth, their errors, and what decides them.

A mechanism and a public side go in, errors come out. Begin with :mod:`.cases`; :mod:`.theory`
has closed forms, and :mod:`.planning` predicts the error of every mechanism without private data.
Its module :mod:`.planning.tuning` chooses the settings with the least error, such as the threshold
of ABC, from those in :mod:`abcdp_core.mechanisms.thresholds`; ``best`` in :mod:`.cases` chooses for
studies. :mod:`.held_out` measures the error of a pool in a file. :mod:`.one_release` and
:mod:`.error_curve` have one data set, at one budget or at several; :mod:`.flips` what studies of
flipped decisions share; :mod:`.predictive` distances between simulated data sets; and
:mod:`.error_gaps` tests simulated releases against the computed error.
"""

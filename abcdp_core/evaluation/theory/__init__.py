"""Theory of the sparse vector: closed forms and exact recursions, with source and scope.

Distances and noise scales go in, probabilities and moments come out; nothing is simulated. Begin
with :mod:`.flip` (one decision); :mod:`.sparse_vector_run` has whole runs,
:mod:`.false_acceptance_rate` their average over data sets, :mod:`.error_bound` a bound on the
posterior mean, and :mod:`.flip_agreement` tests simulated decisions against the formula.
"""

"""Posteriors of published cells, each computed twice and compared with what was published.

From the authors' repositories, :mod:`.sources` reads what they released, ``releases.csv``, and the
means that they report, ``published.csv``. :mod:`.models` has their models, and :mod:`.compute`
gives the posterior of a cell by importance weights and by chains over parameters and records, and
what ``abcdp infer`` answers. ``python -m benchmarks.referee [FAMILY ...]`` writes all of these to
``posteriors.csv``, also in ``assets/referee``, from which the study ``refereed-posteriors`` judges.
"""

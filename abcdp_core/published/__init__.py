r"""Infer from what somebody else released: a noisy query, its noise law, a simulator.

No private data are read, so nothing here costs privacy: what follows from a release by others is
post-processing.

Data flow like this::

    problem.toml --> Problem: a model (or a pool), the query z, the noise law, wanted size
    inference    --> its posterior (:mod:`abcdp_core.posterior`)
    report       --> weighted draws, their table, figure and sentence

| module | what it does |
|---|---|
| :mod:`.models` | the simulators that are shipped, one file each |
| :mod:`.pools` | draws and summaries that somebody simulated before, from a file |
| :mod:`.problems` | a problem, read from its file and checked |
| :mod:`.given` | a problem that a visitor gives to a server, which reads no file for it |
| :mod:`.inference` | from a problem to its posterior |
| :mod:`.report` | table, figure and sentence |
| :mod:`.reference` | the slow exact answers that the fast ones are checked against |
"""

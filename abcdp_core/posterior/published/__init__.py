r"""Learn from a noisy query that others released, with its noise and a simulator.

No private data are read, so nothing here spends a budget: a posterior from a release is
post-processing. The flow::

    problem.toml --> Problem: a model (or a pool), the query z, its noise, wanted size
    inference    --> its posterior (:mod:`abcdp_core.posterior`)
    report       --> weighted draws, their table, figure and sentence

| module | what it does |
|---|---|
| :mod:`.models` | the shipped simulators, one file each |
| :mod:`.pools` | a user's draws and summaries, from a file |
| :mod:`.problems`, :mod:`.stated_noise` | a problem, read from its file and checked |
| :mod:`.uploaded_problem` | a problem that a visitor uploads to a server |
| :mod:`.inference` | from a problem to its posterior |
| :mod:`.report` | table, figure and sentence |
| :mod:`.reference` | slow exact answers for checks of the fast ones |
"""

"""The public step: what may be simulated before anybody's data are read.

A scenario goes in, draws from its prior and the distances of a data set from them come out. Begin
with :mod:`.simulators`, where the contract of a scenario is.

| package or module | what it does |
|---|---|
| :mod:`.priors`, :mod:`.normalizing`, :mod:`.mixtures` | distributions of parameters |
| :mod:`.distances` | distances between data sets, each with its sensitivity |
| :mod:`.simulators` | a scenario in each file: prior, simulator, statistics, distances |
| :mod:`.pool` | draws and their statistics, made once and kept; distances from them |
| :mod:`.own_model` | a model or a pool in a file of your own, as a scenario |
| :mod:`.own_model.statistics` | proof of how far a record moves a count, histogram or mean |
"""

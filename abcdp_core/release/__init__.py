"""Private releases from a person's own data.

    file --columns--> values ┐
    settings --> request ----┴--measure--> numbers --draw--> record --infer--> posterior, report

Begin with :mod:`.procedure`: it keeps the order, in which the budget is reserved before data are
read, and kept before noise is drawn. In a mechanism's file, ``measure`` alone reads private data,
and ``draw`` alone adds noise, which :mod:`.exact_noise` draws.

| module | what it does |
|---|---|
| :mod:`.request` | public settings, their checks, the text that a person confirms |
| :mod:`.columns`, :mod:`.people` | values from a file; at most K rows of each person |
| :mod:`.releasable` | which mechanisms serve a scenario, the recommended one first |
| :mod:`.noisy_counts`, :mod:`.private_summary`, :mod:`.sparse_vector` | one mechanism each |
| :mod:`.exact_noise` | the noise that every ``draw`` adds, in whole numbers, with the proof |
| :mod:`.budget` | whether several releases fit into a budget |
| :mod:`.budget_file` | where a budget is reserved, before data are read |
| :mod:`.document`, :mod:`.summary_document` | the record of a release |
| :mod:`.verification` | a record against what follows from it |
| :mod:`.report`, :mod:`.picture` | a page for people |
| :mod:`.simulated`, :mod:`.expectation` | public simulations and formulas: the error to expect |
"""

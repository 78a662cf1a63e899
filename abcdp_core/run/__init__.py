"""Execute, stop and repeat tasks: executors and kept results, without knowing any study.

Tasks go in, tables come out. Begin with :mod:`.tasks` (one task, and its continuation), then
:mod:`.runner`; :mod:`.workers` has processes of this machine, :mod:`.cluster` sends tasks to a Dask
cluster, and :mod:`.store` keeps what is finished. :mod:`.experiment` is what a study must offer,
:mod:`.results` what comes out.
"""
